// All-reduces of inference engines, as they were recorded (recordings/inference), and what a
// machine changes of them.

#include "models/peer_kernels/peer_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/calibration_file.h"
#include "models/call/rank_gpus.h"
#include "models/faults/machine_faults.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

constexpr Bytes kib{1 << 10};
constexpr Bytes mib{1 << 20};

/// A machine, and calls of some of its GPUs.
class Machine {
 public:
  explicit Machine(const std::string& name)
      : topology_(load_topology(find_data_file(name, "topologies"))) {}

  PeerCalls calls(Rank ranks, const std::string& engine, bool graph = true,
                  const std::vector<std::string>& faults = {},
                  std::optional<Seconds> small_call = std::nullopt) const {
    CallSpec spec;
    spec.topology = &topology_;
    spec.run.schedule = ScheduleKind::nccl;
    spec.run.algorithm = "auto";
    spec.run.graph = graph;
    spec.gpus = first_gpus(topology_, ranks, std::nullopt);
    std::vector<Fault> parsed;
    parsed.reserve(faults.size());
    for (const std::string& fault : faults) parsed.push_back(parse_fault(fault));
    spec.faults = find_faults(parsed, topology_, ranks, 0);
    return {spec, parse_engine_release(engine), false, small_call};
  }

 private:
  Topology topology_;
};

struct RecordedCall {
  std::string engine;
  bool graph = true;
  Rank ranks = 0;
  Bytes size;
  double us = 0;
};

std::vector<RecordedCall> recorded_calls(const std::string& machine) {
  std::ifstream file(data_directory() / "recordings/inference/custom-all-reduce.tsv");
  std::vector<RecordedCall> calls;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, '\t');) fields.push_back(field);
    if (fields.size() < 9 || fields[0] != machine || fields[1] == "trtllm") continue;
    if (fields[3].find("TRTLLM") != std::string::npos) continue;
    calls.push_back({fields[1] + ":" + fields[2],
                     fields[3].find("_eager") == std::string::npos,
                     static_cast<Rank>(std::stoul(fields[5])),
                     {std::stoll(fields[7])},
                     std::stod(fields[8])});
  }
  return calls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

/// The median error of the recorded calls of peer kernels up to 8 MiB.
double median_error(const std::string& recorded, const std::string& machine, bool graph) {
  const Machine on(machine);
  std::vector<double> errors;
  for (const RecordedCall& call : recorded_calls(recorded)) {
    if (call.graph != graph || call.size > 8 * mib) continue;
    PeerCalls calls = on.calls(call.ranks, call.engine, graph);
    if (calls.choose(call.size).kernels.empty()) continue;
    const double us = calls.predict(call.size).time.value * 1e6;
    errors.push_back(std::abs(us / call.us - 1));
  }
  EXPECT_GT(errors.size(), 30U) << recorded;
  return median(errors);
}

TEST(PeerCalls, take_what_was_recorded_in_graphs) {
  EXPECT_LT(median_error("a100_sxm", "dgx-a100", true), 0.06);
  EXPECT_LT(median_error("h100_sxm", "dgx-h100", true), 0.06);
  EXPECT_LT(median_error("b200_sxm", "dgx-b200", true), 0.06);
  EXPECT_LT(median_error("l40s", "l40s-8", true), 0.12);
}

TEST(PeerCalls, take_what_was_recorded_call_by_call) {
  EXPECT_LT(median_error("a100_sxm", "dgx-a100", false), 0.12);
  EXPECT_LT(median_error("h100_sxm", "dgx-h100", false), 0.12);
  EXPECT_LT(median_error("b200_sxm", "dgx-b200", false), 0.12);
  EXPECT_LT(median_error("gb200", "gb200-nvl72", false), 0.15);
}

// Two shot of vLLM's symmetric memory on four B200 takes 67.8 us for 16 MiB (recorded).
TEST(PeerCalls, of_four_gpus_reach_more_than_of_two) {
  const Machine machine("dgx-b200");
  PeerCalls calls = machine.calls(4, "vllm:0.19.0");
  EXPECT_EQ(calls.choose(16 * mib).kernel, "two_shot");
  EXPECT_NEAR(calls.predict(16 * mib).time.value * 1e6, 67.8, 3);
}

// A small call is what the host takes to issue it: of the same GPUs longer on a Grace than on a
// Xeon, and what a user has measured where that is given. SGLang 0.5.14's kernels take 1.42 times
// vLLM's; given 30 us, larger steps of the same engine keep their ratio to that.
TEST(PeerCalls, issued_one_by_one_cost_what_the_host_does) {
  const auto small = [](const char* machine, const char* engine) {
    return Machine(machine).calls(2, engine, false).predict(kib).time.value * 1e6;
  };
  EXPECT_NEAR(small("dgx-b200", "vllm:0.14"), 20.9, 0.01);
  EXPECT_NEAR(small("gb200-nvl72", "vllm:0.14"), 49.5, 0.01);
  EXPECT_NEAR(small("gb300-nvl72", "vllm:0.14"), 49.5, 0.01);
  EXPECT_NEAR(small("rtx-pro-6000-8", "vllm:0.14"), 20.9, 0.01);
  EXPECT_NEAR(small("l40s-8", "vllm:0.14"), 43, 0.01);
  EXPECT_NEAR(small("dgx-b200", "sglang:0.5.14"), 1.42 * 20.9, 0.01);
  const Machine machine("dgx-b200");
  for (const char* const engine : {"vllm:0.14", "vllm:0.24", "sglang:0.5.14"}) {
    PeerCalls given = machine.calls(2, engine, false, {}, Seconds{30e-6});
    EXPECT_NEAR(given.predict(kib).time.value * 1e6, 30, 0.01) << engine;
  }
}

// vLLM's custom_all_reduce.cuh: one shot below 512 KiB on 4 ranks and below 256 KiB on 8, up to 8
// MiB in all; since 0.19 symmetric memory takes over where NVSwitches add up.
TEST(PeerCalls, are_chosen_as_the_engine_does) {
  const Machine machine("dgx-h100");
  PeerCalls old = machine.calls(8, "vllm:0.14.0");
  EXPECT_EQ(old.choose(128 * kib).kernel, "one_shot");
  EXPECT_EQ(old.choose(256 * kib).kernel, "two_shot");
  EXPECT_EQ(old.choose(4 * mib).kernel, "two_shot");
  EXPECT_EQ(old.choose(8 * mib).kernel, "nccl");
  PeerCalls late = machine.calls(8, "vllm:0.24");
  EXPECT_EQ(late.choose(128 * kib).kernel, "one_shot");
  EXPECT_EQ(late.choose(256 * kib).kernel, "multimem_two_shot");
  EXPECT_EQ(machine.calls(4, "vllm").choose(256 * kib).kernel, "one_shot");
  EXPECT_EQ(machine.calls(4, "vllm").choose(512 * kib).kernel, "two_shot");
  // SGLang takes 8 MiB as well; nobody has kernels for 5 ranks.
  EXPECT_EQ(machine.calls(2, "sglang:0.5.9").choose(8 * mib).kernel, "one_shot");
  EXPECT_EQ(machine.calls(5, "vllm").choose(kib).kernel, "nccl");
  // PCIe cards: two of them at most.
  EXPECT_EQ(Machine("l40s-8").calls(8, "vllm").choose(kib).kernel, "nccl");
}

// The bytes of a link at a tenth of its rate take ten times as long, and all else is as before.
TEST(PeerCalls, are_slower_over_a_slow_link) {
  const Machine machine("dgx-h100");
  const PeerCallParts healthy = machine.calls(8, "vllm").parts("one_shot", mib);
  const std::vector<std::string> fault{"device: node0/gpu0, bandwidth: 10%"};
  const PeerCallParts slow = machine.calls(8, "vllm", true, fault).parts("one_shot", mib);
  EXPECT_NEAR(slow.wire.value / healthy.wire.value, 10, 0.5);
  EXPECT_EQ(slow.flags.value, healthy.flags.value);
  // 7 MiB through a port of 18 * 26.56 GB/s.
  EXPECT_NEAR(healthy.wire.value, 7.0 * (1 << 20) / (18 * 26.56e9), 1e-8);
}

// Three ranks cost between two and four, though nobody has recorded them.
TEST(PeerCalls, of_other_counts_lie_between) {
  const Machine machine("dgx-h100");
  const auto time = [&](Rank ranks) {
    return machine.calls(ranks, "pytorch").predict("one_shot", mib).time.value;
  };
  EXPECT_LT(time(2), time(3));
  EXPECT_LT(time(3), time(4));
  EXPECT_LT(time(6), time(8));
}

TEST(PeerCalls, refuse_what_they_do_not_know) {
  const Machine machine("dgx-h100-x4");
  EXPECT_THROW(machine.calls(8, "llama"), InputError);
  EXPECT_THROW(machine.calls(16, "vllm"), InputError);
  EXPECT_THROW(machine.calls(1, "vllm"), InputError);
  EXPECT_THROW(machine.calls(8, "vllm").predict("ring", mib), InputError);
  EXPECT_THROW(Machine("dgx-1-v100").calls(2, "vllm"), InputError);
  // The A100's NVSwitches do not add up.
  EXPECT_THROW(Machine("dgx-a100").calls(8, "vllm").predict("multimem", mib), InputError);
  EXPECT_THROW(parse_engine_release("vllm:new"), InputError);
}

}  // namespace
}  // namespace collsim
