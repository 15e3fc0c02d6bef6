// Calls under NCCL's rules whose ranks lie unequally on nodes: more of them on one node than on
// another, or on other GPUs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/base/data_directory.h"
#include "sim/plan/checker.h"
#include "sim/topologies/loader.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

struct Parts {
  std::string name;
  std::vector<std::vector<std::uint32_t>> places;  // of each node's GPUs
};

std::vector<std::uint32_t> from_to(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = first; place <= last; ++place) places.push_back(place);
  return places;
}

const std::vector<Parts>& unlike_parts() {
  static const std::vector<Parts> parts{
      {"8 and 4", {from_to(0, 7), from_to(0, 3)}},
      {"8 and 1", {from_to(0, 7), {5}}},
      {"1 and 8", {{5}, from_to(0, 7)}},
      {"4, 4 and 2", {from_to(0, 3), from_to(0, 3), from_to(6, 7)}},
      {"8, 7, 8 and 8", {from_to(0, 7), from_to(1, 7), from_to(0, 7), from_to(0, 7)}},
      {"other places", {from_to(0, 3), from_to(4, 7)}}};
  return parts;
}

const Topology& machine() {
  static const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  return topology;
}

std::vector<DeviceId> gpus_of(const Parts& parts) {
  std::vector<DeviceId> gpus;
  for (std::uint32_t node = 0; node < parts.places.size(); ++node) {
    const NodePart part = machine().node(node);
    for (const std::uint32_t place : parts.places[node]) {
      gpus.push_back(part.first_device + part.graph->gpus()[place]);
    }
  }
  return gpus;
}

CallCompiler compiler_of(const Parts& parts, Collective collective, Rank root = 0,
                         const Nccl::Variables& variables = {}) {
  RunSpec run;
  run.variables = variables;
  return CallCompiler(
      {&machine(), calibration_for(machine()), collective, run, gpus_of(parts), root});
}

/// All that NCCL may run for a call.
std::vector<Candidate> candidates(const CallCompiler& compiler, Bytes size) {
  return compiler.nccl()->choose(*compiler.nccl_function(), size).candidates;
}

void expect_right_plan(const CompiledCall& call) {
  const std::uint32_t credits = std::max(2U, call.plan().min_credits);
  const CheckReport report = check(call.plan(), {.credits = {credits}, .orders = 1, .loops = 1});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.violations.front().text);
}

void expect_sound(const Prediction& prediction) {
  EXPECT_GE(prediction.time.value, prediction.bounds.largest().value * (1 - 1e-9));
  EXPECT_GE(prediction.time.value, prediction.floor.busiest_link.value * (1 - 1e-9));
}

TEST(UnlikeNodes, RunWhateverNcclMayChoose) {
  for (const Parts& parts : unlike_parts()) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
          Collective::broadcast, Collective::reduce}) {
      const auto ranks = static_cast<Rank>(gpus_of(parts).size());
      const CallCompiler compiler = compiler_of(parts, collective, ranks - 1);
      for (const Candidate& candidate : candidates(compiler, Bytes{1 << 20})) {
        SCOPED_TRACE(fmt::format("{} {} {}", parts.name, to_string(collective),
                                 nccl_name(candidate.algorithm)));
        expect_right_plan(compiler.plan(Bytes{1 << 20}, candidate));
        for (const std::int64_t size : {0, 8, 1 << 20, 64 << 20}) {
          expect_sound(simulate(compiler.plan(Bytes{size}, candidate)));
        }
      }
    }
  }
}

TEST(UnlikeNodes, ExchangeMessages) {
  for (const Parts& parts : unlike_parts()) {
    for (const Collective collective :
         {Collective::all_to_all, Collective::send_recv, Collective::gather, Collective::scatter}) {
      SCOPED_TRACE(fmt::format("{} {}", parts.name, to_string(collective)));
      const CallCompiler compiler = compiler_of(parts, collective, 3);
      const CompiledCall call = compiler.plan(Bytes{12 << 20});
      expect_right_plan(call);
      expect_sound(simulate(call));
    }
  }
}

// The formulas are those of equal nodes, whose places are counted node by node: within the third
// by which the estimate of any call over several nodes may miss the simulation.
TEST(UnlikeNodes, AreEstimatedAsTheyAreSimulated) {
  for (const Parts& parts : unlike_parts()) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::broadcast}) {
      const CallCompiler compiler = compiler_of(parts, collective);
      Estimator estimator(compiler);
      for (const std::int64_t size : {4096, 1 << 20, 256 << 20}) {
        const double simulated = simulate(compiler.plan(Bytes{size})).time.value;
        const double estimated = estimator.estimate(Bytes{size}).time.value;
        EXPECT_GT(estimated, simulated * 2 / 3)
            << parts.name << " " << to_string(collective) << " " << size;
        EXPECT_LT(estimated, simulated * 4 / 3)
            << parts.name << " " << to_string(collective) << " " << size;
      }
    }
  }
}

/// How often a ring goes from one node to another.
std::size_t crossings(const std::vector<Rank>& ring, const RankNodes& nodes) {
  std::size_t crossings = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Rank next = ring[(i + 1) % ring.size()];
    if (nodes.node_of(ring[i]) != nodes.node_of(next)) ++crossings;
  }
  return crossings;
}

// A ring goes through every rank once, and through a node in one piece: it leaves each node once. A
// tree has one edge less than nodes between them.
TEST(UnlikeNodes, AreCrossedOnce) {
  for (const Parts& parts : unlike_parts()) {
    SCOPED_TRACE(parts.name);
    const CallCompiler compiler = compiler_of(parts, Collective::all_reduce);
    const Nccl& nccl = *compiler.nccl();
    EXPECT_EQ(nccl.nodes(), parts.places.size());
    EXPECT_EQ(nccl.ranks(), gpus_of(parts).size());
    const RankNodes nodes = nccl.rank_nodes();
    for (const NcclChannel& channel : nccl.channels().channels) {
      EXPECT_EQ(std::set<Rank>(channel.ring.begin(), channel.ring.end()).size(), nccl.ranks());
      EXPECT_EQ(channel.ring.size(), nccl.ranks());
      EXPECT_EQ(crossings(channel.ring, nodes), nccl.nodes());
      std::size_t edges = 0;
      for (Rank rank = 0; rank < nccl.ranks(); ++rank) {
        const auto parent = channel.tree.parent[rank];
        if (parent && nodes.node_of(*parent) != nodes.node_of(rank)) ++edges;
      }
      EXPECT_EQ(edges, nccl.nodes() - 1);
    }
  }
}

// Joining two kinds that are one and the same must change nothing.
TEST(UnlikeNodes, AreJoinedByARuleThatHoldsForEqualNodes) {
  const Nccl equal(machine(), {}, default_nccl_version, 4, from_to(0, 7));
  const Nccl joined({equal, equal}, {0, 1, 0, 1});
  ASSERT_EQ(joined.ranks(), equal.ranks());
  ASSERT_EQ(joined.channel_count(), equal.channel_count());
  EXPECT_EQ(joined.nvls_channels(), equal.nvls_channels());
  EXPECT_EQ(joined.point_to_point().per_peer, equal.point_to_point().per_peer);
  for (std::uint32_t c = 0; c < equal.channel_count(); ++c) {
    EXPECT_EQ(joined.channels().channels[c].ring, equal.channels().channels[c].ring);
    EXPECT_EQ(joined.channels().channels[c].tree.parent, equal.channels().channels[c].tree.parent);
  }
  for (std::int64_t size = 8; size <= std::int64_t{1} << 33; size *= 2) {
    const Choice one = joined.choose(NcclFunction::all_reduce, Bytes{size});
    const Choice other = equal.choose(NcclFunction::all_reduce, Bytes{size});
    EXPECT_EQ(one.algorithm, other.algorithm);
    EXPECT_EQ(one.protocol, other.protocol);
    EXPECT_EQ(one.time, other.time);
  }
}

// The least of what the searches of 8 and of 4 GPUs find: 4 GPUs reach 4 of the 8 NICs.
TEST(UnlikeNodes, HaveTheFewestChannelsOfAny) {
  const Nccl whole(machine(), {}, default_nccl_version, 2, from_to(0, 7));
  const Nccl half(machine(), {}, default_nccl_version, 2, from_to(0, 3));
  const CallCompiler compiler = compiler_of(unlike_parts().front(), Collective::all_reduce);
  const NcclGraphs& agreed = compiler.nccl()->graphs();
  EXPECT_EQ(agreed.ring.channel_count(),
            std::min(whole.graphs().ring.channel_count(), half.graphs().ring.channel_count()));
  EXPECT_EQ(agreed.ring.inter_bandwidth,
            std::min(whole.graphs().ring.inter_bandwidth, half.graphs().ring.inter_bandwidth));
}

TEST(UnlikeNodes, HaveNoStripes) {
  const Parts& parts = unlike_parts().front();
  const std::string error = test::error_of([&] {
    compiler_of(parts, Collective::all_reduce, 0, {{"NCCL_ALGO", "NVLSTree"}});
  });
  EXPECT_NE(error.find("NVLSTree needs equally many ranks on every node"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace collsim
