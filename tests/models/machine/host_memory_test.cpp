// What host memory carries: for one GPU both ways, for all of them together, in and out of the
// cache.

#include "models/machine/host_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/small_calibration.h"

namespace collsim {
namespace {

constexpr std::int64_t mebi = 1 << 20;

MemoryConstants some_memory() {
  MemoryConstants memory;
  memory.used = true;
  memory.cached = gigabytes_per_second(140);
  memory.rate = gigabytes_per_second(90);
  memory.cache = Bytes{40 * mebi};
  memory.at_once = 0.75;
  memory.in_turn = 0.6;
  return memory;
}

TEST(MemoryRate, of_buffers_that_fit_is_the_caches) {
  EXPECT_EQ(memory_rate(some_memory(), Bytes{0}), gigabytes_per_second(140));
  EXPECT_EQ(memory_rate(some_memory(), Bytes{40 * mebi}), gigabytes_per_second(140));
}

// Twice the cache: 0.20319 of the bytes at 140 GB/s (cached_share()), the rest at 90:
// 1 / (0.20319/140 + 0.79681/90). Ten times: next to all at 90.
TEST(MemoryRate, falls_as_less_is_in_the_cache) {
  EXPECT_NEAR(in_gigabytes_per_second(memory_rate(some_memory(), Bytes{80 * mebi})), 97.0421, 1e-3);
  EXPECT_NEAR(in_gigabytes_per_second(memory_rate(some_memory(), Bytes{400 * mebi})), 90.0015,
              1e-3);
}

// Half of the time per byte at 0.6, half at 0.75: 2 / (1/0.6 + 1/0.75) = 2/3.
TEST(BothWaysShare, lies_between_in_turn_and_at_once) {
  EXPECT_NEAR(both_ways_share(some_memory(), 1), 0.6, 1e-9);
  EXPECT_NEAR(both_ways_share(some_memory(), 0), 0.75, 1e-9);
  EXPECT_NEAR(both_ways_share(some_memory(), 0.5), 2.0 / 3, 1e-9);
  MemoryConstants one_share = some_memory();
  one_share.in_turn = 1;
  EXPECT_NEAR(both_ways_share(one_share, 1), 0.75, 1e-9) << "never more than at once";
}

/// Calls on H200 servers by Ring or Tree with Simple, through host memory unless told otherwise.
class HostMemory : public testing::Test {
 protected:
  struct Asked {
    std::string_view machine = "hgx-h200-4";
    Collective collective = Collective::all_reduce;
    std::string algorithm = "ring";
    Rank ranks = 4;
    std::string channels = "4";
    std::string no_peer_to_peer = "1";
  };

  /// The compiler lives as long as the test.
  const CallCompiler& compiler(const Asked& asked, bool measured = true) {
    topology_ = load_topology(find_data_file(asked.machine, "topologies"));
    Calibration cost = calibration_for(topology_);
    cost.memory = measured ? some_memory() : MemoryConstants{};
    cost.wants_host_transport = false;
    RunSpec run;
    run.algorithm = asked.algorithm;
    run.variables = {{"NCCL_P2P_DISABLE", asked.no_peer_to_peer},
                     {"NCCL_PROTO", "Simple"},
                     {"NCCL_MIN_NCHANNELS", asked.channels},
                     {"NCCL_MAX_NCHANNELS", asked.channels}};
    compiler_ = std::make_unique<CallCompiler>(
        CallSpec{&topology_, cost, asked.collective, run, first_gpus(topology_, asked.ranks)});
    return *compiler_;
  }

  double in_turn(const Asked& asked, Rank rank = 0) {
    const CompiledCall call = compiler(asked).plan(Bytes{64 * mebi});
    return share_in_turn(call.plan(), call.partition, rank);
  }

  /// What the one memory that the call loads carries, in GB/s.
  static double memory_of(const CompiledCall& call) {
    double capacity = 0;
    const Wiring& wiring = call.wiring();
    for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
      if (wiring.origins[id].host != HostShare::memory) continue;
      EXPECT_EQ(capacity, 0) << "a second memory";
      capacity = in_gigabytes_per_second(wiring.capacities[id]);
    }
    return capacity;
  }

 private:
  Topology topology_;
  std::unique_ptr<CallCompiler> compiler_;
};

// Four hops on four channels, each with a buffer of 4 MiB, make 64 MiB. From 32 MiB on a chunk is
// 2 MiB, as large as half the buffer; of 16 MiB it is 1 MiB, and only half of each slot is touched.
TEST_F(HostMemory, of_calls_that_fill_the_buffers_is_slower) {
  const CallCompiler& four = compiler({});
  // Of 64 MiB a cache of 40 still holds 0.358019: exp(-(1 - 0.358019) 64 / 40).
  const double full = 1 / (0.358019 / 140 + 0.641981 / 90);
  EXPECT_NEAR(memory_of(four.plan(Bytes{256 * mebi})), full, 1e-3);
  EXPECT_NEAR(memory_of(four.plan(Bytes{32 * mebi})), full, 1e-3);
  EXPECT_NEAR(memory_of(four.plan(Bytes{16 * mebi})), 140, 1e-9);
}

// Two hops on two channels: 16 MiB.
TEST_F(HostMemory, of_few_channels_stays_in_the_cache) {
  Asked asked;
  asked.ranks = 2;
  asked.channels = "2";
  EXPECT_NEAR(memory_of(compiler(asked).plan(Bytes{256 * mebi})), 140, 1e-9);
}

// Two CPUs, one memory: 14/8 of the size over each of 8 hops, 128 MiB of buffers.
TEST_F(HostMemory, is_shared_by_eight_gpus) {
  Asked asked;
  asked.machine = "hgx-h200";
  asked.ranks = 8;
  const CallCompiler& eight = compiler(asked);
  const Bytes size{128 * mebi};
  const double rate = memory_of(eight.plan(size));
  const double share = 0.047445;  // exp(-(1 - 0.047445) 128 / 40)
  EXPECT_NEAR(rate, 1 / (share / 140 + (1 - share) / 90), 1e-3);
  const double least = 14.0 * static_cast<double>(size.count) / (1e9 * rate);
  const Prediction prediction = simulate(eight.plan(size));
  EXPECT_GE(prediction.time.value, (1 - 1e-9) * least) << "memory carries all, however unevenly";
  EXPECT_LE(prediction.time.value, 1.1 * least);
  EXPECT_GE(prediction.floor.busiest_resource().value, least);
}

/// Of each share of the call beyond memory its capacity in GB/s, by what it stands for.
std::map<std::string, double> link_shares_of(const CompiledCall& call, const Topology& topology) {
  std::map<std::string, double> shares;
  const Wiring& wiring = call.wiring();
  for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
    const ResourceOrigin& origin = wiring.origins[id];
    if (!origin.host || origin.host == HostShare::memory) continue;
    const std::string name = origin.host == HostShare::gpu ? topology.device_name(origin.id)
                                                           : topology.link_name(origin.id);
    shares[name] = in_gigabytes_per_second(wiring.capacities[id]);
  }
  return shares;
}

// A GPU's gen5 link has 63 GB/s each way. Five sixths of what a ring of four sends goes at once:
// 1 / (1/6 / 0.6 + 5/6 / 0.75) = 0.72 of 126.
TEST_F(HostMemory, gives_a_gpus_link_a_share_of_both_ways) {
  const CompiledCall call = compiler({}).plan(Bytes{64 * mebi});
  const auto shares = link_shares_of(call, call.compiler->topology());
  ASSERT_EQ(shares.size(), 4U);
  for (const auto& [name, capacity] : shares) EXPECT_NEAR(capacity, 0.72 * 126, 1e-9) << name;
}

// Two cards under one switch: each of their links of 15.75 GB/s has two thirds of both ways, and
// the switch's link two thirds each way, since what one sends the other goes up and down.
TEST_F(HostMemory, gives_a_switchs_link_the_share_each_way) {
  Asked asked;
  asked.machine = "rtx2080ti-2-switch";
  asked.ranks = 2;
  const CompiledCall call = compiler(asked).plan(Bytes{64 * mebi});
  const auto shares = link_shares_of(call, call.compiler->topology());
  ASSERT_EQ(shares.size(), 4U);
  EXPECT_NEAR(shares.at("node0/gpu0"), 2.0 / 3 * 31.5, 1e-9);
  EXPECT_NEAR(shares.at("node0/pcie0 -> node0/cpu0"), 2.0 / 3 * 15.75, 1e-9);
  EXPECT_NEAR(shares.at("node0/cpu0 -> node0/pcie0"), 2.0 / 3 * 15.75, 1e-9);
}

// Peers on one socket whose driver lets them talk directly load no memory, though they go by the
// host bridge.
TEST_F(HostMemory, is_loaded_by_no_peers) {
  Asked asked;
  asked.machine = "rtx3090-2";
  asked.ranks = 2;
  asked.no_peer_to_peer = "0";
  EXPECT_FALSE(loads_host_memory(compiler(asked).plan(Bytes{mebi}).wiring()));
}

// A ring of two only sends, then only receives; one of four receives one chunk of three (or, with
// the reduction before it, of six) without sending.
TEST_F(HostMemory, rings_send_in_turn_what_begins_them) {
  const auto ring = [](Collective collective, Rank ranks) {
    Asked asked;
    asked.collective = collective;
    asked.ranks = ranks;
    return asked;
  };
  EXPECT_DOUBLE_EQ(in_turn(ring(Collective::all_gather, 2)), 1);
  EXPECT_DOUBLE_EQ(in_turn(ring(Collective::all_gather, 4)), 1.0 / 3);
  EXPECT_DOUBLE_EQ(in_turn(ring(Collective::reduce_scatter, 4)), 1.0 / 3);
  EXPECT_DOUBLE_EQ(in_turn(ring(Collective::all_reduce, 2)), 1.0 / 2);
  EXPECT_DOUBLE_EQ(in_turn(ring(Collective::all_reduce, 4)), 1.0 / 6);
}

// A broadcast's root only sends, a tree's lanes go up and down at once.
TEST_F(HostMemory, broadcasts_and_trees_do_all_at_once) {
  Asked broadcast;
  broadcast.collective = Collective::broadcast;
  Asked tree;
  tree.algorithm = "tree";
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(in_turn(broadcast, rank), 0) << rank;
    EXPECT_EQ(in_turn(tree, rank), 0) << rank;
  }
}

TEST_F(HostMemory, is_loaded_by_no_hop_over_nvlink) {
  Asked asked;
  asked.no_peer_to_peer = "0";
  EXPECT_FALSE(loads_host_memory(compiler(asked).plan(Bytes{mebi}).wiring()));
}

TEST_F(HostMemory, that_was_not_measured_changes_nothing) {
  const CompiledCall call = compiler({}, false).plan(Bytes{mebi});
  EXPECT_FALSE(loads_host_memory(call.wiring()));
  EXPECT_EQ(call.own_wiring, nullptr);
}

// Around a dead link the way leads over NVLink to another GPU's, and into the same memory.
TEST_F(HostMemory, is_loaded_around_dead_links_too) {
  const Topology topology = load_topology(find_data_file("hgx-h200-4", "topologies"));
  Calibration cost = calibration_for(topology);
  cost.memory = some_memory();
  RunSpec run;
  run.variables = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_ALGO", "Ring"}};
  const Fault dead = parse_fault("link: node0/gpu3 - node0/cpu0, dead: true");
  const std::vector<Fault> faults{dead};
  const CallCompiler compiler({&topology, cost, Collective::all_reduce, run,
                               first_gpus(topology, 4), 0, find_faults(faults, topology, 4)});
  const CompiledCall call = compiler.plan(Bytes{mebi});
  for (const auto& wires : call.wiring().wires) {
    for (const Wire& wire : wires) {
      EXPECT_EQ(std::count_if(wire.resources.begin(), wire.resources.end(),
                              [&](ResourceId id) {
                                return call.wiring().origins[id].host == HostShare::memory;
                              }),
                1);
    }
  }
}

TEST(MemoryKeys, are_read) {
  const MemoryConstants memory =
      test::cost_of_small_calibration("memory: { cached: 140 GB/s, rate: 90 GB/s, cache: 40 MiB }")
          .memory;
  EXPECT_TRUE(memory.used);
  EXPECT_EQ(memory.cached, gigabytes_per_second(140));
  EXPECT_EQ(memory.rate, gigabytes_per_second(90));
  EXPECT_EQ(memory.cache, Bytes{40 * mebi});
  EXPECT_EQ(memory.at_once, 1);
  EXPECT_EQ(memory.in_turn, 1);
  const MemoryConstants ways = test::cost_of_small_calibration(
                                   "memory: { cached: 140 GB/s, rate: 90 GB/s, cache: 40 MiB, "
                                   "both_ways: { at_once: 75%, in_turn: 60% } }")
                                   .memory;
  EXPECT_EQ(ways.at_once, 0.75);
  EXPECT_EQ(ways.in_turn, 0.6);
  EXPECT_FALSE(test::cost_of_small_calibration("launch: 1 us").memory.used);
}

// hgx-h200-4 says the same of memory as hgx-h200.
TEST(MemoryKeys, that_are_left_out_are_as_in_what_is_extended) {
  const Calibration base = load_calibration(find_data_file("hgx-h200", "models/data/calibrations"));
  const MemoryConstants memory =
      test::cost_of_small_calibration("extends: hgx-h200\nmemory: { rate: 1 GB/s }").memory;
  EXPECT_EQ(memory.rate, gigabytes_per_second(1));
  EXPECT_EQ(memory.cached, base.memory.cached);
  EXPECT_EQ(memory.cache, base.memory.cache);
  EXPECT_EQ(memory.at_once, base.memory.at_once);
  EXPECT_EQ(memory.in_turn, base.memory.in_turn);
}

TEST(MemoryKeys, are_refused_where_they_are_wrong) {
  EXPECT_EQ(
      test::error_in_small_calibration("memory: { cached: 90 GB/s, rate: 91 GB/s, cache: 40 MiB }"),
      "c.yaml:5:34: 'rate' is 91 GB/s and 'cached' 90 GB/s; a 'rate' of at most 'cached'");
  EXPECT_EQ(
      test::error_in_small_calibration("memory: { cached: 90 GB/s, rate: 9 GB/s, cache: 0 B }"),
      "c.yaml:5:49: the cache has 0 bytes; a size above 0, like 40 MiB");
  EXPECT_EQ(
      test::error_in_small_calibration("memory: { cached: 90 GB/s, rate: 9 us, cache: 1 MiB }")
          .rfind("c.yaml:5:34", 0),
      0U);
  EXPECT_EQ(test::error_in_small_calibration("memory: { cached: 90 GB/s, cache: 1 MiB }")
                .rfind("c.yaml:5:9", 0),
            0U);
  EXPECT_EQ(test::error_in_small_calibration(
                "memory: { cached: 9 GB/s, rate: 9 GB/s, cache: 1 MiB, size: 1 B }")
                .rfind("c.yaml:5:55", 0),
            0U);
}

// Topologies may say of PCIe what NCCL takes for usable.
TEST(MemoryKeys, efficiency_of_pcie_alone_may_exceed_all) {
  EXPECT_DOUBLE_EQ(test::cost_of_small_calibration("efficiency: { pcie: 108% }").efficiency[1],
                   1.08);
  EXPECT_NE(test::error_in_small_calibration("efficiency: { pcie: 151% }"), "");
  EXPECT_NE(test::error_in_small_calibration("efficiency: { nvlink: 101% }"), "");
}

}  // namespace
}  // namespace collsim
