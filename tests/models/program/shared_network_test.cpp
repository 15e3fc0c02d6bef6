// What calls of several groups share of a network.

#include "models/program/shared_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "models/call/rank_gpus.h"
#include "models/program/call_costs.h"
#include "models/program/call_program_yaml.h"
#include "models/program/program_schedule.h"
#include "tools/collsim/request/change.h"

namespace collsim {
namespace {

Topology thinned(std::uint32_t nodes, int ratio) {
  return compose(
      changed(load_parts("dgx-h100", "ndr-fat-tree"), fmt::format("oversubscription={}", ratio)),
      nodes);
}

/// A node of a leaf of four sends to one of another, each node as much.
TEST(SharedNetwork, has_cables_upwards_that_fill_before_nics) {
  for (const int ratio : {1, 2, 4}) {
    const Topology topology = thinned(8, ratio);
    const FabricLeaves leaves(topology);
    SharedNetwork network(topology, leaves, 1);
    NodeTraffic far;
    NodeTraffic near;
    for (std::uint32_t node = 0; node < 8; ++node) {
      far[{node, (node + 4) % 8}] = 400e9;  // a second of eight NICs of 50 GB/s
      near[{node, node ^ 1U}] = 400e9;
    }
    EXPECT_NEAR(network.busy_time(far).value, ratio, 1e-6);
    EXPECT_NEAR(network.busy_time(near).value, 1, 1e-6);
  }
}

/// The time of a call of groups of ranks, of which so many are on a node at once.
Seconds time_of(const Topology& topology, ProgramCallKind kind, const std::vector<Rank>& ranks,
                std::uint32_t alike, Bytes bytes) {
  const auto gpus = topology.gpus();
  MachineCallCosts costs({&topology, {gpus.begin(), gpus.end()}, {}, false, {}});
  ProgramCommunicator communicator;
  communicator.ranks = ranks;
  communicator.alike = alike;
  return costs.cost_of(communicator, {0, kind, bytes}).alone;
}

/// One GPU of each node, or two, or all.
std::vector<Rank> group_of(Rank per_node, Rank nodes) {
  std::vector<Rank> ranks;
  for (Rank node = 0; node < nodes; ++node) {
    for (Rank place = 0; place < per_node; ++place) ranks.push_back(8 * node + place);
  }
  return ranks;
}

/// Groups that exchange at once fill the cables upwards as one call of as much does: on thinner
/// fabrics they take longer, those of all-to-all more than rings, which cross leaves once.
TEST(MachineCallCosts, of_groups_at_once_feel_thin_fabrics) {
  for (const Rank per_node : {1U, 2U, 4U, 8U}) {
    std::vector<double> times;
    for (const int ratio : {1, 2, 4}) {
      times.push_back(time_of(thinned(8, ratio), ProgramCallKind::all_to_all, group_of(per_node, 8),
                              8 / per_node, Bytes{256 << 20})
                          .value);
    }
    EXPECT_GT(times[1], 1.05 * times[0]) << per_node << " GPUs of a node";
    EXPECT_GT(times[2], 1.6 * times[1]) << per_node << " GPUs of a node";
  }
}

/// Inside one leaf no fabric is thin.
TEST(MachineCallCosts, of_groups_on_one_leaf_feel_no_fabric) {
  for (const Rank per_node : {1U, 4U, 8U}) {
    for (const auto kind : {ProgramCallKind::all_to_all, ProgramCallKind::all_reduce}) {
      const auto time = [&](int ratio) {
        return time_of(thinned(8, ratio), kind, group_of(per_node, 4), 8 / per_node,
                       Bytes{256 << 20})
            .value;
      };
      EXPECT_NEAR(time(4), time(1), 0.01 * time(1)) << per_node << " GPUs of a node";
    }
  }
}

enum class Beside { nothing, same_way, other_way };

/// How long a message of 256 MiB from a machine's first GPU to another one takes, beside one as
/// large between the same two.
double time_of_message(const Topology& topology, Rank other, Beside beside) {
  const bool back = beside == Beside::other_way;
  const auto op = [&](std::string_view first, std::string_view second) {
    return fmt::format("[ {{ calls: [ {}{} ] }} ]", first,
                       beside == Beside::nothing ? "" : fmt::format(", {}", second));
  };
  const std::string text = fmt::format(
      "collsim: program/1\nranks: 2\ncommunicators: {{ one: [0, 1], two: [0, 1] }}\ngroups:\n"
      "  a: {{ ranks: 0, ops: {} }}\n  b: {{ ranks: 1, ops: {} }}\n",
      op("{ send: 256 MiB, on: one, to: b }",
         back ? "{ receive: 256 MiB, on: two, from: b }" : "{ send: 256 MiB, on: two, to: b }"),
      op("{ receive: 256 MiB, on: one, from: a }",
         back ? "{ send: 256 MiB, on: two, to: a }" : "{ receive: 256 MiB, on: two, from: a }"));
  const auto gpus = topology.gpus();
  MachineCallCosts costs({&topology, {gpus[0], gpus[other]}, {}, false, {}});
  return schedule_program(read_call_program(read_yaml({"program.yaml", text}, "program")), costs)
      .time.value;
}

// Measured on two H200: a message of 512 MiB takes 1465 us, one each way at once 1526 us
// (recordings/steps/roots-h200x2.tsv). Links carry as much each way, inside nodes and between them;
// two messages that go the same way share one.
TEST(MachineCallCosts, of_messages_both_ways_are_those_of_one) {
  struct Pair {
    const char* machine;
    std::uint32_t nodes;
    Rank other;
  };
  for (const Pair& pair :
       {Pair{"hgx-h200-2", 1, 1}, Pair{"hgx-h200", 1, 5}, Pair{"dgx-a100", 1, 3},
        Pair{"dgx-b200", 1, 7}, Pair{"dgx-1-v100", 1, 1}, Pair{"a100-mesh-4", 1, 2},
        Pair{"gb200-nvl72", 1, 40}, Pair{"dgx-h100", 2, 8}, Pair{"dgx-a100", 4, 27},
        Pair{"gh200-4", 2, 4}}) {
    const Topology topology = compose(load_parts(pair.machine), pair.nodes);
    const double alone = time_of_message(topology, pair.other, Beside::nothing);
    EXPECT_NEAR(time_of_message(topology, pair.other, Beside::other_way), alone, 0.1 * alone)
        << pair.machine << ", GPU " << pair.other;
    if (pair.nodes > 1) continue;  // there a call takes of all NICs of its node what it fills
    // A message alone does not quite fill a port of Blackwell.
    EXPECT_NEAR(time_of_message(topology, pair.other, Beside::same_way), 1.9 * alone, 0.15 * alone)
        << pair.machine << ", GPU " << pair.other;
  }
}

// Four ranks of one group each send to the next: as long as one message, not one to itself.
TEST(MachineCallCosts, of_messages_within_a_group_go_to_the_next_rank) {
  const Topology topology = compose(load_parts("hgx-h200-4"), 1);
  const auto gpus = topology.gpus();
  MachineCallCosts costs({&topology, {gpus.begin(), gpus.end()}, {}, false, {}});
  const std::string text =
      "collsim: program/1\nranks: 4\ncommunicators: { all: \"0..3\" }\ngroups:\n"
      "  a: { ranks: \"0..3\", ops: [ { calls: [ { send: 256 MiB, on: all, to: a }, "
      "{ receive: 256 MiB, on: all, from: a } ] } ] }\n";
  const double time =
      schedule_program(read_call_program(read_yaml({"program.yaml", text}, "program")), costs)
          .time.value;
  const double alone = time_of_message(topology, 1, Beside::nothing);
  EXPECT_NEAR(time, alone, 0.1 * alone);
}

}  // namespace
}  // namespace collsim
