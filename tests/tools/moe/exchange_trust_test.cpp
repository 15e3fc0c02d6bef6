// How far off exchanges are on machines that nothing was recorded on.

#include "tools/collsim/moe/exchange_trust.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

struct Case {
  const char* machine;
  KernelFamily family;
  bool recorded;
};

TEST(ExchangeTrust, is_wider_on_machines_that_were_not_recorded) {
  const ShippedData shipped;
  const ExchangeErrors errors;
  for (const Case& each : {Case{"dgx-h100-x2", KernelFamily::deepep, true},
                           Case{"dgx-h100-x4", KernelFamily::deepep_low_latency, true},
                           Case{"dgx-h100", KernelFamily::deepep, true},
                           Case{"dgx-h100-x64", KernelFamily::deepep, false},
                           Case{"aws-p5-x4", KernelFamily::deepep, false},
                           Case{"oci-h100-x4", KernelFamily::deepep, false},
                           Case{"aws-p6-b300-x2", KernelFamily::deepep, false},
                           Case{"dgx-a100-x4", KernelFamily::deepep, false},
                           Case{"dgx-b200", KernelFamily::deepep_low_latency, true},
                           Case{"dgx-b200-x8", KernelFamily::deepep, false},
                           Case{"gb200-nvl4", KernelFamily::deepep, false},
                           Case{"hgx-h200", KernelFamily::deepep, false},
                           Case{"gb200-nvl72", KernelFamily::nvlink_one_sided, false},
                           Case{"dgx-h100", KernelFamily::nvlink_one_sided, false}}) {
    const Topology topology = load_machine(each.machine).topology;
    const auto all = topology.gpus();
    const ExchangeKernel kernel =
        exchange_kernel(each.family, ExpertOperation::dispatch, gpu_name(topology, all.front()));
    const ExchangeTrust trust =
        errors.of(kernel, topology, std::vector<DeviceId>(all.begin(), all.end()), 1e8);
    EXPECT_EQ(trust.note.empty(), each.recorded) << each.machine << ": " << trust.note;
    EXPECT_EQ(trust.trust == Trust::measured, each.recorded) << each.machine;
    if (each.recorded) {
      EXPECT_EQ(trust.error, kernel.measured.error) << each.machine;
      EXPECT_EQ(trust.range.high, kernel.measured.range.high) << each.machine;
    } else {
      EXPECT_GT(trust.range.high / trust.range.low,
                kernel.measured.range.high / kernel.measured.range.low)
          << each.machine;
      EXPECT_GT(trust.error, 2 * kernel.measured.error) << each.machine;
    }
  }
}

/// The counts of ranks that a recording has of a GPU and a kernel.
std::set<std::uint32_t> recorded_ranks(const std::string& gpu, KernelFamily family) {
  const bool deepep = gpu != "GB200";
  const bool late = family == KernelFamily::deepep || family == KernelFamily::nvlink_one_sided;
  const std::string kernel =
      deepep ? (late ? "normal" : "low-latency") : (late ? "NVLinkOneSided" : "NVLinkTwoSided");
  std::ifstream file(std::string(COLLSIM_SOURCE_DIR "/recordings/inference/") +
                     (deepep ? "deepep.tsv" : "trtllm-all-to-all.tsv"));
  std::set<std::uint32_t> ranks;
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(text, field, '\t');) fields.push_back(field);
    if (fields.size() < 10 || fields[1] != kernel) continue;
    constexpr std::uint32_t of_host = 8;
    if (!deepep) {
      ranks.insert(static_cast<std::uint32_t>(std::stoul(fields[7])));
    } else if (fields[0] == (gpu == "H100" ? "h100_sxm" : "b200_sxm")) {
      ranks.insert(of_host * static_cast<std::uint32_t>(std::stoul(fields[2])));
    }
  }
  return ranks;
}

TEST(ExchangeTrust, is_measured_where_gpu_kernel_and_count_were_recorded) {
  const ShippedData shipped;
  using enum KernelFamily;
  for (const auto& [family, gpu] : {std::pair{deepep, "H100"},
                                    {deepep, "B200"},
                                    {deepep_low_latency, "H100"},
                                    {deepep_low_latency, "B200"},
                                    {nvlink_one_sided, "GB200"},
                                    {nvlink_two_sided, "GB200"}}) {
    const KernelRuns runs = exchange_kernel(family, ExpertOperation::combine, gpu).measured;
    EXPECT_EQ(runs.gpu, gpu);
    const std::set<std::uint32_t> recorded = recorded_ranks(gpu, family);
    EXPECT_EQ(std::set<std::uint32_t>(runs.ranks.begin(), runs.ranks.end()), recorded) << gpu;
  }
  // Kin, and strangers: the first is Hopper's.
  const auto constants_of = [](const char* name) {
    return exchange_kernel(deepep, ExpertOperation::dispatch, name).measured.gpu;
  };
  EXPECT_EQ(constants_of("GB300"), "B200");
  EXPECT_EQ(constants_of("H200"), "H100");
  EXPECT_EQ(constants_of("A100"), "H100");
}

}  // namespace
}  // namespace collsim
