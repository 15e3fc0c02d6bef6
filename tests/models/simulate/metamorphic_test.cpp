// What must hold between predictions, whatever the constants: a larger call and a slower link are
// never faster, ranks of a symmetric machine may change places, and a machine that does everything
// twice as fast takes half the time. By the simulation and by the estimate.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/base/data_directory.h"
#include "sim/cost/constants.h"

namespace collsim {
namespace {

/// Algorithm and protocol are given: NCCL's own choice is made by its estimates, and with it a
/// larger call may well be faster.
struct Case {
  ScheduleKind schedule;
  Collective collective;
  const char* algorithm;
  Protocol protocol = Protocol::simple;
};

constexpr Rank ranks = 8;

/// All GPUs on one NVSwitch, everything `speed` times as fast.
Topology machine(double speed) {
  TopologyBuilder builder("one node");
  Graph node;
  node.devices = {{"nvswitch0", DeviceKind::nvswitch}};
  node.devices.front().reduces = true;
  for (Rank rank = 0; rank < ranks; ++rank) {
    node.devices.push_back({"gpu" + std::to_string(rank), DeviceKind::gpu, "H200"});
    node.links.push_back({rank + 1, 0, LinkKind::nvlink, 18, speed * gigabytes_per_second(478),
                          (1 / speed) * microseconds(0.1)});
  }
  builder.add_nodes(node, 1);
  return std::move(builder).build();
}

template <typename Constants, typename Owner>
void speed_up(const Constants& constants, Owner& owner, double speed) {
  for (const auto& constant : constants) {
    if (constant.quantity == Quantity::time) constant.in(owner) /= speed;
    if (constant.quantity == Quantity::rate) constant.in(owner) *= speed;
  }
}

Calibration costs(double speed) {
  Calibration cost = load_calibration(find_data_file("hgx-h200", "models/data/calibrations"));
  cost.over = {};  // of links that the machine does not have
  speed_up(machine_constants, cost, speed);
  speed_up(correction_constants, cost, speed);
  for (ProtocolConstants& protocol : cost.protocols) {
    speed_up(protocol_constants, protocol, speed);
    speed_up(thread_block_constants, protocol, speed);
  }
  return cost;
}

class Metamorphic : public testing::TestWithParam<Case> {
 protected:
  CallSpec spec(const Topology& topology, double speed = 1) const {
    CallSpec call{&topology, costs(speed), GetParam().collective, {}, first_gpus(topology, ranks)};
    call.run.schedule = GetParam().schedule;
    call.run.algorithm = GetParam().algorithm;
    call.run.protocol = GetParam().protocol;
    if (call.run.schedule == ScheduleKind::textbook) {
      call.run.channels = 4;
      call.run.chunking = Chunking{.largest_chunk = {1 << 18}, .slices = 2};
    }
    return call;
  }
};

/// By the simulation and by the estimate.
std::vector<double> times(const CallCompiler& compiler, std::int64_t size) {
  return {simulate(compiler.plan(Bytes{size})).time.value,
          Estimator(compiler).estimate(Bytes{size}).time.value};
}

constexpr std::array<std::int64_t, 3> sizes{64, 1 << 18, 1 << 22};

TEST_P(Metamorphic, twice_as_fast_a_machine_takes_half_the_time) {
  const Topology topology = machine(1);
  const Topology fast_topology = machine(2);
  const CallCompiler compiler(spec(topology));
  const CallCompiler fast(spec(fast_topology, 2));
  for (const std::int64_t size : sizes) {
    const std::vector<double> before = times(compiler, size);
    const std::vector<double> after = times(fast, size);
    EXPECT_NEAR(after[0] / before[0], 0.5, 1e-9) << size;
    EXPECT_NEAR(after[1] / before[1], 0.5, 1e-9) << size << ", estimated";
  }
}

// But where a larger call gets larger thread blocks, which do without this correction.
TEST_P(Metamorphic, a_larger_call_is_never_faster) {
  const Topology topology = machine(1);
  CallSpec call = spec(topology);
  call.cost.corrections.half_block = {};
  const CallCompiler compiler(call);
  std::vector<double> last{0, 0};
  for (std::int64_t size = 8; size <= 1 << 24; size *= 2) {
    const std::vector<double> now = times(compiler, size);
    EXPECT_GE(now[0], last[0]) << size;
    EXPECT_GE(now[1], last[1]) << size << ", estimated";
    last = now;
  }
}

// But for chance and for what senders lose to each other at one moment: a slow link moves them
// apart, and the whole call can gain 3 %. Lanes of a thread block may also take turns in another
// order, which can gain less than 1 % (R. Graham, "Bounds on multiprocessing timing anomalies",
// 1969).
TEST_P(Metamorphic, a_slower_link_is_never_faster) {
  const Topology topology = machine(1);
  for (const std::int64_t size : sizes) {
    std::vector<double> last{0, 0};
    for (const double share : {1.0, 0.9, 0.6, 0.3, 0.05}) {
      CallSpec call = spec(topology);
      call.cost.jitter = 0;
      call.cost.corrections.link_contention = 0;
      const DeviceId gpu = topology.gpus()[3];
      const LinkId link = topology.links_from(gpu)[0];
      if (share < 1) {
        call.faults.links.push_back({.links = {link, topology.link(link).reverse}, .share = share});
      }
      const std::vector<double> now = times(CallCompiler(call), size);
      EXPECT_GE(now[0], 0.99 * last[0]) << size << ", share " << share;
      EXPECT_GE(now[1], last[1] * (1 - 1e-12)) << size << ", share " << share << ", estimated";
      last = now;
    }
  }
}

TEST_P(Metamorphic, renamed_ranks_take_as_long_on_a_symmetric_machine) {
  const Topology topology = machine(1);
  CallSpec call = spec(topology);
  const CallCompiler compiler(call);
  std::reverse(call.gpus.begin(), call.gpus.end());
  std::swap(call.gpus[2], call.gpus[5]);
  const CallCompiler renamed(call);
  for (const std::int64_t size : sizes) {
    const std::vector<double> before = times(compiler, size);
    const std::vector<double> after = times(renamed, size);
    EXPECT_NEAR(after[0] / before[0], 1, 1e-9) << size;
    EXPECT_NEAR(after[1] / before[1], 1, 1e-9) << size << ", estimated";
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    for (const char* algorithm :
         {"ring", "tree", "double_binary_tree", "recursive_halving_doubling"}) {
      all.push_back({ScheduleKind::textbook, Collective::all_reduce, algorithm, protocol});
    }
    all.push_back({ScheduleKind::textbook, Collective::broadcast, "tree", protocol});
    all.push_back({ScheduleKind::textbook, Collective::all_to_all, "direct", protocol});
    all.push_back({ScheduleKind::nccl, Collective::all_reduce, "ring", protocol});
    all.push_back({ScheduleKind::nccl, Collective::all_reduce, "tree", protocol});
    all.push_back({ScheduleKind::nccl, Collective::all_gather, "ring", protocol});
    all.push_back({ScheduleKind::nccl, Collective::broadcast, "ring", protocol});
  }
  all.push_back({ScheduleKind::nccl, Collective::all_reduce, "nvls"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Calls, Metamorphic, testing::ValuesIn(cases()), [](const auto& each) {
  return std::string(to_string(each.param.schedule)) + "_" +
         std::string(to_string(each.param.collective)) + "_" + each.param.algorithm + "_" +
         std::string(to_string(each.param.protocol));
});

}  // namespace
}  // namespace collsim
