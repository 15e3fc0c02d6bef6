// The examples that docs/cost-model.md computes by hand: from the shipped calibrations, beside the
// page's numbers and beside what is simulated.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

/// Parts of a call in the order of the page, and how long each takes.
using Parts = std::vector<std::pair<std::string, Seconds>>;

std::string page() {
  std::ifstream file(std::filesystem::path(COLLSIM_SOURCE_DIR) / "docs/cost-model.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

Seconds total(const Parts& parts) {
  Seconds sum;
  for (const auto& [name, time] : parts) sum += time;
  return sum;
}

/// The page has each part's row, one after the other, and their sum.
void expect_on_page(const Parts& parts) {
  const std::string text = page();
  std::size_t at = text.find(fmt::format("| {} | ", parts.front().first));
  const auto expect_row = [&](const std::string& begin, Seconds time) {
    at = text.find(begin, at);
    ASSERT_NE(at, std::string::npos) << begin;
    const std::string row = text.substr(at, text.find('\n', at) - at);
    EXPECT_TRUE(row.ends_with(fmt::format("| {:.2f} |", in_microseconds(time))))
        << row << time.value;
    at += row.size();
  };
  // Examples that begin alike follow each other: the first that has all the numbers counts.
  const std::string first = fmt::format("{:.2f} |", in_microseconds(parts.front().second));
  while (at != std::string::npos &&
         text.substr(at, text.find('\n', at) - at).find(first) == std::string::npos) {
    at = text.find(fmt::format("| {} | ", parts.front().first), at + 1);
  }
  ASSERT_NE(at, std::string::npos) << "no example begins with " << first;
  for (const auto& [name, time] : parts) expect_row(fmt::format("| {} | ", name), time);
  expect_row("| total | ", total(parts));
}

/// An all_reduce of two ranks on one channel, in a CUDA graph.
struct Example {
  Topology topology;
  Calibration calibration;
  RunSpec run;
  std::vector<DeviceId> gpus;

  CallCompiler compiler() const {
    return CallCompiler({&topology, calibration, Collective::all_reduce, run, gpus});
  }
};

Example example_on(const char* machine, const char* protocol, bool one_rank_per_node) {
  Example example{load_topology(find_data_file(machine, "topologies")), {}, {}, {}};
  example.calibration = calibration_for(example.topology);
  example.run.algorithm = "ring";
  example.run.graph = true;
  example.run.variables = {{"NCCL_PROTO", protocol}, {"NCCL_MAX_NCHANNELS", "1"}};
  example.gpus = first_gpus(example.topology, one_rank_per_node ? 9 : 2);
  if (one_rank_per_node) example.gpus = {example.gpus.front(), example.gpus.back()};
  return example;
}

Seconds simulated(const Example& example, Bytes size) {
  const CallCompiler compiler = example.compiler();
  return simulate(compiler.plan(size)).time;
}

// 512 bytes are 1/8 of a full round of 16 warps of 256 bytes. Send; receive, add, store and send;
// receive and store. Jitter moves what is sent, by up to 7 % of 0.3 us.
TEST(CostModel, is_the_example_of_ll) {
  const ShippedData shipped;
  const Example example = example_on("hgx-h200", "LL", false);
  const ProtocolConstants ll = example.calibration.of(Protocol::ll);
  ASSERT_LT(ll.alpha[static_cast<std::size_t>(LinkKind::nvlink)].value, ll.step.value)
      << "else ranks wait for messages";
  const Parts parts{
      {"launch and setup", *example.calibration.graph_launch + ll.setup},
      {"send", 1.0 / 8 * ll.work + ll.step},
      {"receive, add, send", 2 * ll.wait + 1.0 / 8 * ll.work + ll.step},
      {"receive", 2 * ll.wait + ll.step},
  };
  expect_on_page(parts);
  EXPECT_NEAR(in_microseconds(simulated(example, Bytes{1024})), in_microseconds(total(parts)),
              0.03);
}

// A full round has 20 warps of 1920 bytes; 320 threads are half of the largest block, and one piece
// holds a warp's 1920 bytes. Own data are asked for when the message is there already, so that no
// load is hidden.
TEST(CostModel, is_the_example_of_ll128) {
  const ShippedData shipped;
  const Example example = example_on("hgx-h200", "LL128", false);
  const ProtocolConstants ll128 = example.calibration.of(Protocol::ll128);
  ASSERT_EQ(ll128.alpha[static_cast<std::size_t>(LinkKind::nvlink)].value, 0);
  const Seconds step = ll128.step + ll128.corrections.half_block;
  const Seconds work = 1.0 / 75 * ll128.work;
  const Parts parts{
      {"launch and setup",
       *example.calibration.graph_launch + ll128.setup + 10 * ll128.setup_per_warp},
      {"send", 2 * work + 2 * ll128.first + step},
      {"receive, add, store, send", 4 * work + 3 * ll128.first + step},
      {"receive", 2 * work + ll128.first + step},
  };
  expect_on_page(parts);
  EXPECT_NEAR(in_microseconds(simulated(example, Bytes{1024})), in_microseconds(total(parts)),
              0.05);
}

// A rank's thread sends and receives at once: 1.6 us, in which the NIC carries 32 KiB. The second
// slice of each chunk is empty. The last one is there when the rank has stored the first
// and costs half a step more.
TEST(CostModel, is_the_example_of_simple_over_a_network) {
  const ShippedData shipped;
  const Example example = example_on("dgx-h100-x4", "Simple", true);
  const CallCompiler compiler = example.compiler();
  const CompiledCall call = compiler.plan(Bytes{64 << 10});
  const ProtocolConstants simple = compiler.cost().of(Protocol::simple, LinkKind::network);
  const Calibration& all = compiler.cost();
  const Seconds hop = simple.alpha[static_cast<std::size_t>(LinkKind::network)] +
                      call.wiring().wires[0][0].latency + all.proxy.send + all.proxy.receive;
  constexpr double bytes = 32 << 10;
  const Seconds once{bytes / simple.read.value + bytes / simple.write.value};
  const Parts parts{
      {"launch and setup", *all.graph_launch + simple.setup + 17 * simple.setup_per_warp +
                               all.corrections.direct_setup},
      {"send", simple.step + once},
      {"hop", hop},
      {"receive, add, store, send", simple.step + 2 * once},
      {"hop", hop},
      {"receive", 1.5 * simple.step + once},
  };
  expect_on_page(parts);
  EXPECT_NEAR(in_microseconds(simulate(call).time), in_microseconds(total(parts)), 0.03);
}

}  // namespace
}  // namespace collsim
