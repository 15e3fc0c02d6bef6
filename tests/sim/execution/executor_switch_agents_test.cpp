// Switches that add up and copy: what they cost and load.

#include <gtest/gtest.h>

#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "sim/nccl/nccl_plan.h"
#include "tests/support/machines.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

constexpr double rate = 16.384;  // GB/s, so that 16 KiB take 1 us
constexpr std::int64_t chunk = 16 << 10;

struct Machine {
  Plan plan;
  NcclCall call;
  Calibration cost{};

  ExecutionResult run(Seconds latency = {}) const {
    const Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(rate), latency);
    const DataPartition partition = DataPartition::nccl(plan, call);
    NativeFabric fabric;
    return execute({plan, partition, wiring, cost}, fabric);
  }
};

/// On one node of 4, one chunk of 16 KiB for each stripe: the least that NVLS makes.
Machine nvls_machine(Collective collective) {
  NcclCall call;
  call.size.count = 4 * chunk;
  call.algorithm = NcclAlgorithm::nvls;
  call.stripes = 4;
  return {make_nccl_plan(collective, NcclAlgorithm::nvls, test::node_channels(1, 4, 1), 1), call};
}

// Up: a port carries all 4 stripes, 4 us. The sum of one to its head: 1 us. Back up: 1 us. The
// copies: a port gets all 4 stripes, 4 us. So 2 S (1 + 1/p) / B where nothing overlaps, and four
// times the latency.
TEST(ExecutorSwitchAgents, one_loop_of_nvls_all_reduce) {
  const ExecutionResult result = nvls_machine(Collective::all_reduce).run(microseconds(0.5));
  EXPECT_NEAR(in_microseconds(result.time), 4 + 1 + 1 + 4 + 4 * 0.5, 1e-9);
  // 4 x 4 handed in, 4 sums, 4 handed back, 4 x 4 copies.
  EXPECT_EQ(result.transfers, 40U);
}

// A rank sends its block once, 1 us, and gets four: 4 us. The reverse adds up.
TEST(ExecutorSwitchAgents, one_loop_of_nvls_all_gather_and_reduce_scatter) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    const ExecutionResult result = nvls_machine(collective).run(microseconds(0.5));
    EXPECT_NEAR(in_microseconds(result.time), 1 + 4 + 2 * 0.5, 1e-9) << to_string(collective);
  }
}

// Many loops: the ports never rest but at the ends. 16 MiB are 4,096 us of chunks; a port carries
// S (1 + 1/p) each way.
TEST(ExecutorSwitchAgents, loops_of_nvls_overlap) {
  Machine machine = nvls_machine(Collective::all_reduce);
  machine.call.size.count = 16 << 20;
  const double bytes = static_cast<double>(machine.call.size.count);
  const double least = bytes * (1 + 1.0 / 4) / (rate * 1e3);
  const double time = in_microseconds(machine.run().time);
  EXPECT_GE(time, least * (1 - 1e-9));
  EXPECT_LE(time, least * 1.1);
}

// A thread block of 16.384 GB/s is 4 us busy handing in 4 chunks and 1 us passing one back, at the
// same time as the ports; to take 4 chunks out takes 4 us more. The switch has
// neither thread block nor serial cost: with 3 us per slice, handing in, passing back and taking
// out cost 3 us each, adding up and copying nothing. The alpha of NVLink is paid where a GPU waits:
// by the head and by those who take out.
TEST(ExecutorSwitchAgents, a_switch_costs_nothing_of_its_own) {
  Machine machine = nvls_machine(Collective::all_reduce);
  ProtocolConstants& simple = machine.cost.protocols[static_cast<std::size_t>(Protocol::simple)];
  simple.write = gigabytes_per_second(rate);
  EXPECT_NEAR(in_microseconds(machine.run().time), 14, 1e-9);
  simple.step = microseconds(3);
  EXPECT_NEAR(in_microseconds(machine.run().time), 14 + 3 * 3, 1e-9);
  simple.alpha[static_cast<std::size_t>(LinkKind::network)] = microseconds(7);
  EXPECT_NEAR(in_microseconds(machine.run().time), 14 + 3 * 3 + 2 * 7, 1e-9);
}

/// CollNetChain on two nodes of one rank, with one chunk of 16 KiB.
Machine chain_machine() {
  Machine machine{make_nccl_plan(Collective::all_reduce, NcclAlgorithm::collnet_chain,
                                 test::node_channels(2, 1, 1), 1),
                  {}};
  machine.call.size.count = chunk;
  machine.call.nodes = 2;
  machine.call.algorithm = NcclAlgorithm::collnet_chain;
  return machine;
}

// Up, the sum down: 1 us each. The switch is on the way from GPU to GPU, so that alpha, which is of
// a whole way, is paid once.
TEST(ExecutorSwitchAgents, the_way_through_the_network_pays_its_alpha_once) {
  Machine machine = chain_machine();
  EXPECT_NEAR(in_microseconds(machine.run().time), 1 + 1, 1e-9);
  machine.cost.protocols[static_cast<std::size_t>(Protocol::simple)]
      .alpha[static_cast<std::size_t>(LinkKind::network)] = microseconds(7);
  EXPECT_NEAR(in_microseconds(machine.run().time), 2 + 7, 1e-9);
}

// A rank's two slices take a step of 3 us each, and not the 20 us of messages from host to host.
TEST(ExecutorSwitchAgents, steps_of_host_to_host_messages_are_not_paid) {
  constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
  Machine machine = chain_machine();
  machine.cost.protocols[simple].step = microseconds(3);
  machine.cost.over[simple][static_cast<std::size_t>(LinkKind::network)] =
      machine.cost.protocols[simple];
  machine.cost.over[simple][static_cast<std::size_t>(LinkKind::network)]->step = microseconds(20);
  EXPECT_NEAR(in_microseconds(machine.run().time), 2 + 2 * 3, 1e-9);
}

// A chunk keeps a rank's thread block 1 us each to load, send, receive and store it; links are four
// times as fast. Of many chunks, a lane up and a lane down do a quarter more at once than in turn.
TEST(ExecutorSwitchAgents, a_chains_lanes_overlap) {
  Machine machine = chain_machine();
  ProtocolConstants& simple = machine.cost.protocols[static_cast<std::size_t>(Protocol::simple)];
  simple.read = gigabytes_per_second(rate / 4);
  simple.write = gigabytes_per_second(rate / 4);
  machine.call.size.count = 64 << 20;
  const double in_turn = machine.run().time.value;
  machine.cost.corrections.overlap = 0.25;
  EXPECT_NEAR(machine.run().time.value, in_turn / 1.25, 0.02 * in_turn);
}

// Every plan ends, whatever the size; an empty call sends nothing.
TEST(ExecutorSwitchAgents, all_end) {
  struct Kind {
    Collective collective;
    NcclAlgorithm algorithm;
    std::uint32_t nodes;
    Rank per_node;
  };
  using enum NcclAlgorithm;
  for (const Kind& kind :
       {Kind{Collective::all_reduce, nvls, 1, 8}, Kind{Collective::all_gather, nvls, 1, 3},
        Kind{Collective::reduce_scatter, nvls, 2, 3}, Kind{Collective::all_reduce, nvls_tree, 5, 4},
        Kind{Collective::all_reduce, collnet_direct, 3, 4},
        Kind{Collective::all_gather, collnet_direct, 3, 4},
        Kind{Collective::all_reduce, collnet_chain, 3, 4}, Kind{Collective::all_gather, pat, 17, 1},
        Kind{Collective::reduce_scatter, pat, 6, 1}}) {
    const NcclChannels channels = test::node_channels(kind.nodes, kind.per_node, 2);
    Machine machine{make_nccl_plan(kind.collective, kind.algorithm, channels, 2), {}};
    machine.call.algorithm = kind.algorithm;
    machine.call.nodes = kind.nodes;
    machine.call.stripes = kind.per_node;
    for (const std::int64_t size : {0LL, 1LL, 7LL, 4096LL, 1000003LL, 64LL << 20}) {
      machine.call.size.count = size;
      const bool has_elements =
          bytes_per_rank(kind.collective, machine.plan.ranks(), machine.call.size, Bytes{4}).count >
          0;
      EXPECT_EQ(machine.run().transfers > 0, has_elements)
          << to_string(kind.collective) << " " << to_string(kind.algorithm) << " of " << size;
    }
  }
}

}  // namespace
}  // namespace collsim
