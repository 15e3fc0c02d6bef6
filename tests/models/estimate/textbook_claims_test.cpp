// What an estimate of a textbook's algorithm claims holds: where it says `exact` it is the
// simulation, on random calls; no call of any collective breaks a bound; and every algorithm of the
// registry is known to everything that shows one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/algorithms/registry.h"
#include "sim/plan/steps.h"
#include "tools/collsim/trace/view_data.h"

namespace collsim {
namespace {

/// Nodes of `per_node` GPUs, each GPU with a port of its own on one switch.
Topology ports(Rank nodes, Rank per_node, Seconds alpha, BytesPerSecond bandwidth) {
  TopologyBuilder builder("ports", "ideal");
  Graph node;
  for (Rank gpu = 0; gpu < per_node; ++gpu) {
    node.devices.push_back({"gpu" + std::to_string(gpu), DeviceKind::gpu});
  }
  builder.add_nodes(node, nodes);
  const DeviceId hub = builder.add_device({"switch0", DeviceKind::network_switch});
  for (Rank n = 0; n < nodes; ++n) {
    for (Rank gpu = 0; gpu < per_node; ++gpu) {
      builder.add_link(builder.node(n).first_device + gpu, hub, LinkKind::network, bandwidth,
                       0.5 * alpha);
    }
  }
  return std::move(builder).build();
}

struct Asked {
  Collective collective = Collective::all_reduce;
  std::string algorithm;
  Rank nodes = 1;
  Rank per_node = 1;
  Rank root = 0;
  Bytes size;
  Seconds alpha = microseconds(2);
  BytesPerSecond bandwidth = gigabytes_per_second(20);
  std::uint32_t channels = 1;
  Bytes chunk{};

  Rank ranks() const { return nodes * per_node; }
  std::string words() const {
    return std::string(to_string(collective)) + " " + algorithm + ", " + std::to_string(nodes) +
           " nodes of " + std::to_string(per_node) + ", root " + std::to_string(root) + ", " +
           std::to_string(size.count) + " B, alpha " + to_string(alpha) + ", " +
           to_string(bandwidth) + ", " + std::to_string(channels) + " channels, chunks of " +
           std::to_string(chunk.count);
  }
  CallSpec spec(const Topology& topology) const {
    CallSpec spec;
    spec.topology = &topology;
    spec.collective = collective;
    spec.root = root;
    spec.gpus = first_gpus(topology, ranks());
    spec.run.schedule = ScheduleKind::textbook;
    spec.run.algorithm = algorithm;
    spec.run.channels = channels;
    spec.run.chunking = Chunking{.largest_chunk = chunk};
    return spec;
  }
};

struct Both {
  Prediction simulated;
  Prediction estimated;
};

/// Those that a machine of ports can run: it has no switch that adds up.
std::vector<std::string> algorithms_of_ports(Collective collective) {
  auto names = algorithm_names(collective);
  std::erase_if(names,
                [&](const std::string& name) { return needs_adding_switch(collective, name); });
  return names;
}

Both both(const Asked& asked) {
  const Topology topology = ports(asked.nodes, asked.per_node, asked.alpha, asked.bandwidth);
  const CallCompiler compiler(asked.spec(topology));
  Estimator estimator(compiler);
  return {simulate(compiler.plan(asked.size)), estimator.estimate(asked.size)};
}

class RandomCalls {
 public:
  Asked next() {
    Asked asked;
    asked.collective = pick(std::vector(all_collectives().begin(), all_collectives().end()));
    asked.algorithm = pick(algorithms_of_ports(asked.collective));
    asked.per_node = pick(std::vector<Rank>{1, 1, 1, 2, 3, 4, 8});
    asked.nodes = number(1, 64 / asked.per_node);
    asked.root = has_root(asked.collective) ? number(0, asked.ranks() - 1) : 0;
    const auto largest = pick(std::vector<std::uint32_t>{4, 100, 5000, 2'000'000});
    asked.size = number(1, largest) * Bytes{4};
    if (number(0, 2) == 0) asked.size = asked.ranks() * (asked.ranks() * asked.size);  // divides
    asked.alpha = microseconds(std::pow(10, fraction(-3, 2)));
    asked.bandwidth = gigabytes_per_second(std::pow(10, fraction(-1, 2.5)));
    if (number(0, 3) == 0) asked.channels = number(2, 4);
    if (number(0, 3) == 0) asked.chunk = {std::max<std::int64_t>(asked.size.count / 8, 64)};
    return asked;
  }

 private:
  std::uint32_t number(std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random_);
  }
  double fraction(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  template <typename Item>
  Item pick(const std::vector<Item>& items) {
    return items[number(0, static_cast<std::uint32_t>(items.size()) - 1)];
  }
  std::mt19937 random_{20261125};
};

// Bounds and floors are checked by both: one that is broken throws.
TEST(TextbookClaims, what_says_exact_is_the_simulation) {
  RandomCalls calls;
  std::map<std::string, int> exact;
  for (int i = 0; i < 6000; ++i) {
    const Asked asked = calls.next();
    SCOPED_TRACE(asked.words());
    const auto [simulated, estimated] = both(asked);
    if (estimated.trust != Trust::exact) continue;
    ++exact[asked.algorithm];
    EXPECT_NEAR(estimated.time.value, simulated.time.value, 1e-9 * simulated.time.value);
  }
  for (const char* name : {"ring", "tree", "double_binary_tree", "parameter_server"}) {
    EXPECT_GE(exact[name], 3) << name;
  }
}

// Ranks that are no power of two are folded while others begin to exchange, and messages of both
// meet at a port. On 3 ranks, P = 2: rank 1 hands S to rank 0 while rank 2 sends its half. Both
// share rank 0's port, so that the half has come after S/B, and the fold after 1.5 S/B. Then rank 0
// sends half to rank 2, each sends the other its half of the sum (rank 0 begins both when the fold
// is there, one after the other; rank 2 sends its sum when rank 0's half is there), and rank 0
// hands S to rank 1: 1.5 + 0.5 + 0.5 + 1 = 3.5 S/B and 4 alpha.
TEST(TextbookClaims, folding_behind_one_port_by_hand) {
  Asked asked;
  asked.algorithm = "recursive_halving_doubling";
  asked.nodes = 3;
  asked.size = {1 << 20};
  const auto [simulated, estimated] = both(asked);
  const double whole = (1 << 20) / 20e3;  // us
  EXPECT_NEAR(in_microseconds(simulated.time), 3.5 * whole + 4 * 2, 1e-6);
  EXPECT_NEAR(in_microseconds(estimated.time), 3.5 * whole + 4 * 2, 1e-6);
  EXPECT_EQ(estimated.trust, Trust::exact);
}

TEST(TextbookClaims, folding_is_exact_on_any_number_of_ranks) {
  for (Rank ranks = 2; ranks <= 40; ++ranks) {
    Asked asked;
    asked.algorithm = "recursive_halving_doubling";
    asked.nodes = ranks;
    for (const std::int64_t unit : {4, 40'000}) {
      asked.size = {64 * unit};
      const auto [simulated, estimated] = both(asked);
      EXPECT_EQ(estimated.trust, Trust::exact);
      EXPECT_NEAR(estimated.time.value / simulated.time.value, 1, 1e-9) << ranks << " " << unit;
    }
  }
}

// In several channels or loops the form does not know how messages meet: they are simulated.
TEST(TextbookClaims, folding_in_loops_is_not_exact) {
  Asked asked;
  asked.algorithm = "recursive_halving_doubling";
  asked.nodes = 5;
  asked.size = {1 << 20};
  asked.channels = 2;
  EXPECT_EQ(both(asked).estimated.trust, Trust::derived);
}

// A ring waits for its largest chunk: 2 * 6 hops of 2 us and 4 bytes at 20 GB/s, though only three
// of seven chunks have an element.
TEST(TextbookClaims, a_ring_of_few_elements_takes_whole_ones) {
  Asked asked;
  asked.algorithm = "ring";
  asked.nodes = 7;
  asked.size = {12};
  const auto [simulated, estimated] = both(asked);
  EXPECT_EQ(estimated.trust, Trust::exact);
  EXPECT_NEAR(in_microseconds(estimated.time), 12 * (2 + 4 / 20e3), 1e-9);
  EXPECT_NEAR(in_microseconds(simulated.time), 12 * (2 + 4 / 20e3), 1e-9);
}

// 5 ranks with 10 elements each have 50, two for each of the 25 pairs; with 13 each they have 65,
// and the first 15 pairs have one more. Rank 0's own part is the first of all: where one element is
// over, it stays where it is, and less than 4/5 of the size moves.
TEST(TextbookClaims, what_an_exchange_keeps_does_not_have_to_move) {
  for (const std::int64_t elements : {1, 10, 13, 16, 28, 1'000'003}) {
    for (const Rank ranks : {2U, 3U, 5U}) {
      for (const std::uint32_t channels : {1U, 3U}) {
        Asked asked;
        asked.collective = Collective::all_to_all;
        asked.algorithm = "direct";
        asked.nodes = ranks;
        asked.size = elements * Bytes{4};
        asked.alpha = microseconds(0.001);
        asked.channels = channels;
        EXPECT_NO_THROW(both(asked)) << asked.words();
      }
    }
  }
}

// One element of 58 parts is the root's own, and nothing has to move; of 7 elements for 3 ranks the
// root may keep 3.
TEST(TextbookClaims, what_a_root_keeps_does_not_have_to_move) {
  for (const Collective each : {Collective::gather, Collective::scatter}) {
    Asked asked;
    asked.collective = each;
    asked.algorithm = "direct";
    asked.nodes = 58;
    asked.size = {4};
    asked.alpha = microseconds(0.001);
    EXPECT_NO_THROW(both(asked));
    asked.nodes = 3;
    asked.size = {28};
    EXPECT_NO_THROW(both(asked));
    // On 4 channels of 7, 7, 7 and 6 elements it keeps 3, 3, 3 and 2.
    asked.size = {108};  // 27 elements of 4 bytes
    asked.channels = 4;
    EXPECT_NO_THROW(both(asked));
  }
}

struct Row {
  Collective collective;
  std::string algorithm;
};

std::vector<Row> registry_rows() {
  std::vector<Row> rows;
  for (const Collective each : all_collectives()) {
    for (std::string& name : algorithms_of_ports(each)) rows.push_back({each, std::move(name)});
  }
  return rows;
}

// An algorithm whose row does not say how it grows is simulated whole, whatever the machine.
TEST(Registry, every_row_says_how_it_grows) {
  for (const Row& row : registry_rows()) {
    EXPECT_NE(growth_of(row.collective, row.algorithm), Growth::none)
        << to_string(row.collective) << " " << row.algorithm;
  }
  EXPECT_EQ(growth_of(Collective::all_reduce, "hierarchical:tree"), Growth::all_per_doubling);
}

// 48 nodes are seen as 12 and 6, 21 as 11 and 6 (a tree of 21 has a level more than one of 11). An
// algorithm that grew as another one would be off by whole steps.
TEST(Registry, every_row_is_estimated_as_it_runs) {
  for (const Row& row : registry_rows()) {
    for (const Rank nodes : {21U, 48U}) {
      Asked asked;
      asked.collective = row.collective;
      asked.algorithm = row.algorithm;
      asked.nodes = nodes;
      asked.per_node = 4;
      asked.size = Bytes{std::int64_t{1024} * asked.ranks() * asked.ranks()};
      SCOPED_TRACE(asked.words());
      const auto [simulated, estimated] = both(asked);
      EXPECT_NEAR(estimated.time.value / simulated.time.value, 1, 0.15);
    }
  }
}

TEST(Registry, every_row_is_shown_step_by_step_and_on_a_page) {
  for (const Row& row : registry_rows()) {
    for (const Rank nodes : {2U, 3U, 4U}) {
      Asked asked;
      asked.collective = row.collective;
      asked.algorithm = row.algorithm;
      asked.nodes = nodes;
      asked.per_node = 2;
      asked.size = Bytes{4096};
      SCOPED_TRACE(asked.words());
      const Topology topology = ports(asked.nodes, asked.per_node, asked.alpha, asked.bandwidth);
      const CallCompiler compiler(asked.spec(topology));
      const CompiledCall call = compiler.plan(asked.size);
      const auto steps = replay_steps(call.plan());
      ASSERT_FALSE(steps.empty());
      if (sizes_held(row.collective, asked.ranks()) > 0) {
        EXPECT_EQ(wrong_value(call.plan(), 0, steps.back().values), std::nullopt);
      }
      const std::vector<ViewedCall> shown{{row.algorithm, trace_call(call, 1e6)}};
      EXPECT_FALSE(view_data("title", "command", shown).empty());
    }
  }
}

}  // namespace
}  // namespace collsim
