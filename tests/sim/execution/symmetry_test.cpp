// Equals simulated once for all end when they would have ended one by one.

#include "sim/execution/symmetry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "sim/plan/schedule_builder.h"
#include "tests/support/engines.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// An all-reduce of 1,000 bytes a rank on ports of 50 GB/s, 1 us apart.
class Call {
 public:
  explicit Call(Plan plan, std::int64_t size = 0)
      : plan_(std::move(plan)),
        wiring_(test::switch_wiring(plan_, gigabytes_per_second(50), microseconds(1))),
        partition_(plan_, Bytes{size > 0 ? size : std::int64_t{4000} * plan_.ranks()}, Bytes{4},
                   {}) {
    ProtocolConstants& simple = cost_.protocols[static_cast<std::size_t>(Protocol::simple)];
    simple.step = microseconds(0.5);
    simple.read = gigabytes_per_second(80);
    simple.write = gigabytes_per_second(120);
  }

  Wiring& wiring() { return wiring_; }
  /// Network threads carry all messages.
  void use_proxies() {
    for (std::vector<Wire>& channel : wiring_.wires) {
      for (Wire& wire : channel) std::swap(wire.resources, wire.network);
    }
    cost_.proxy.send = microseconds(0.7);
    cost_.proxy.receive = microseconds(0.4);
    cost_.proxy.copy = gigabytes_per_second(9);
  }
  Calibration& cost() { return cost_; }
  MachineEvents& events() { return events_; }

  ExecutionResult run(bool fold) const {
    NativeFabric fabric;
    Execution execution{plan_, partition_, wiring_, cost_};
    execution.events = &events_;
    execution.fold = fold;
    return execute(execution, fabric);
  }
  /// Classes of ranks, after a look at whether folding changes anything.
  std::uint32_t classes() const {
    const ExecutionResult folded = run(true);
    const ExecutionResult whole = run(false);
    EXPECT_NEAR(folded.time.value / whole.time.value, 1, 1e-9);
    EXPECT_NEAR(folded.mean_over_ranks.value / whole.mean_over_ranks.value, 1, 1e-9);
    EXPECT_EQ(folded.transfers, whole.transfers);
    EXPECT_EQ(whole.rank_classes, plan_.ranks());
    return folded.rank_classes;
  }

 private:
  Plan plan_;
  Wiring wiring_;
  DataPartition partition_;
  Calibration cost_;
  MachineEvents events_;
};

Plan all_reduce(const std::string& algorithm, Rank ranks, std::uint32_t channels = 1) {
  return make_plan(Collective::all_reduce, algorithm, uniform_placement(ranks, 2), channels);
}

TEST(symmetry, all_ranks_of_a_ring_are_one_class) {
  for (const Rank ranks : {2U, 3U, 16U, 64U})
    EXPECT_EQ(Call(all_reduce("ring", ranks)).classes(), 1U);
}

// Of 4 ranks in a parameter server one serves.
TEST(symmetry, a_server_is_another_class_than_those_it_serves) {
  EXPECT_EQ(Call(all_reduce("parameter_server", 4)).classes(), 2U);
}

// Leaves, and inner ranks by their height: 0 -> 4 -> {2, 6} -> {1, 3, 5, 7} are 4 classes.
TEST(symmetry, a_binary_tree_has_a_class_for_each_height) {
  EXPECT_EQ(Call(all_reduce("tree", 8)).classes(), 4U);
}

TEST(symmetry, uneven_chunks_are_not_folded) {
  // 1,001 elements on 8 chunks: one has one more.
  EXPECT_EQ(Call(all_reduce("ring", 8), 4004).classes(), 8U);
}

/// Every even rank sends its chunk to the next.
Plan pairs(Rank ranks) {
  ScheduleBuilder builder(ranks, ranks);
  builder.step();
  for (Rank rank = 0; rank < ranks; rank += 2) builder.copy(rank, rank + 1, {rank, 1});
  Plan plan;
  plan.schedules.push_back(std::move(builder).build());
  plan.schedule_of_channel.assign(1, 0);
  return plan;
}

// Senders and receivers. Of 16 chunks of 250 elements and 4 more, chunks 0 to 3 have one more: the
// first two pairs are unlike the others, but like each other.
TEST(symmetry, uneven_chunks_tell_apart_only_who_moves_them) {
  EXPECT_EQ(Call(pairs(16), std::int64_t{4} * 16 * 250).classes(), 2U);
  EXPECT_EQ(Call(pairs(16), std::int64_t{4} * (16 * 250 + 4)).classes(), 4U);
}

// Jitter tells channels apart, not ranks.
TEST(symmetry, jitter_is_folded) {
  Call call(all_reduce("ring", 8));
  call.cost().jitter = 0.01;
  EXPECT_EQ(call.classes(), 1U);
}

// The ranks after a late one differ by how far behind it they are: each is a class of its own.
TEST(symmetry, a_late_rank_tells_all_ranks_of_a_ring_apart) {
  Call call(all_reduce("ring", 8));
  call.events().late = {microseconds(0), microseconds(7)};
  EXPECT_EQ(call.classes(), 8U);
}

// Every fourth one is slow: what counts is how far behind one a rank is.
TEST(symmetry, regular_slow_ranks_leave_a_class_for_each_distance) {
  Call call(all_reduce("ring", 32));
  for (Rank rank = 0; rank < 32; ++rank) {
    call.events().speed.push_back(rank % 4 == 0 ? 0.5 : 1);
  }
  EXPECT_EQ(call.classes(), 4U);
}

TEST(symmetry, a_capacity_that_changes_belongs_to_its_resource) {
  Call call(all_reduce("ring", 32));
  MachineChange change{microseconds(3)};
  for (ResourceId port = 2; port < 32; port += 4) {
    change.capacities.push_back({port, gigabytes_per_second(10)});
  }
  call.events().changes = {change};
  EXPECT_EQ(call.classes(), 4U);
}

// Ports of 500 GB/s cannot be filled by thread blocks of 48: one of 600 is like the others. One of
// 5 is not.
TEST(symmetry, what_nothing_can_fill_breaks_none) {
  Call call(all_reduce("ring", 8));
  for (BytesPerSecond& capacity : call.wiring().capacities) capacity = gigabytes_per_second(500);
  call.wiring().capacities[3] = gigabytes_per_second(600);
  EXPECT_EQ(call.classes(), 1U);
  call.wiring().capacities[3] = gigabytes_per_second(5);
  EXPECT_EQ(call.classes(), 8U);
}

// Channels share ports: of two equal channels on a port each gets half, by a flow that counts
// twice.
TEST(symmetry, equal_channels_load_a_port_together) {
  for (const std::uint32_t channels : {2U, 3U, 5U}) {
    EXPECT_EQ(
        Call(all_reduce("ring", 6, channels), std::int64_t{6} * 4 * 1000 * channels).classes(), 1U);
  }
}

TEST(symmetry, a_thread_belongs_to_its_rank) {
  for (const std::uint32_t channels : {1U, 3U}) {
    Call call(all_reduce("ring", 6, channels), std::int64_t{6} * 4 * 1000 * channels);
    call.use_proxies();
    EXPECT_EQ(call.classes(), 1U);
  }
}

// A thread copies into one socket after the other.
TEST(symmetry, sockets_are_not_folded) {
  Call call(all_reduce("ring", 6));
  call.use_proxies();
  call.cost().proxy.socket = {1000};
  EXPECT_EQ(call.classes(), 6U);
}

TEST(symmetry, every_algorithm_ends_as_if_nothing_were_folded) {
  for (const std::string& algorithm : algorithm_names(Collective::all_reduce)) {
    for (const Rank ranks : {2U, 4U, 6U, 8U, 12U, 16U}) {
      SCOPED_TRACE(algorithm + " on " + std::to_string(ranks));
      const Placement placement = uniform_placement(ranks, 2);
      if (why_unsupported(Collective::all_reduce, algorithm, placement)) continue;
      for (const std::uint32_t channels : {1U, 3U}) {
        Call call(all_reduce(algorithm, ranks, channels), std::int64_t{960} * ranks * channels);
        call.classes();
        call.events().speed = {0.7};
        call.classes();
        call.events() = {};
        call.events().changes = {{microseconds(2), {{1, gigabytes_per_second(7)}}}};
        call.classes();
        call.use_proxies();
        call.classes();
        call.events() = {};
        call.classes();
      }
    }
  }
}

/// Steps in which every rank sends to those at some distances from it, the chunk at a distance from
/// its own; all ranks alike.
Plan random_round(std::mt19937& random) {
  const auto draw = [&](std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random);
  };
  const Rank ranks = draw(3, 12);
  ScheduleBuilder builder(ranks, ranks);
  for (std::uint32_t step = draw(1, 8); step > 0; --step) {
    builder.step();
    for (std::uint32_t transfer = draw(1, 3); transfer > 0; --transfer) {
      const Rank to = draw(1, ranks - 1);
      const std::uint32_t chunk = draw(0, ranks - 1);
      const bool reduce = draw(0, 1) == 0;
      for (Rank rank = 0; rank < ranks; ++rank) {
        const ChunkRange chunks{(rank + chunk) % ranks, 1};
        if (reduce) {
          builder.reduce(rank, (rank + to) % ranks, chunks);
        } else {
          builder.copy(rank, (rank + to) % ranks, chunks);
        }
      }
    }
  }
  Plan plan;
  plan.schedules.push_back(std::move(builder).build());
  plan.schedule_of_channel.assign(draw(1, 3), 0);
  return plan;
}

// They differ in what no rank can see: their numbers. Programs whose transfers of one step overlap
// may be lowered in another order at the ends of the round, so that there need not be one class.
TEST(symmetry, random_round_plans_end_as_if_nothing_were_folded) {
  std::mt19937 random(7);
  std::uint32_t folded = 0;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    Plan plan = random_round(random);
    const Rank ranks = plan.ranks();
    const std::uint32_t channels = plan.channels();
    Call call(std::move(plan), std::int64_t{4} * 60 * ranks * channels);
    if (call.classes() < ranks) ++folded;
    call.use_proxies();
    call.classes();
    call.events().late = {microseconds(1), microseconds(0), microseconds(1)};
    call.classes();
  }
  EXPECT_GT(folded, 100U);
}

// A call that hangs is told of as if nothing were folded.
TEST(symmetry, a_folded_call_hangs_like_a_whole_one) {
  Call call(all_reduce("ring", 8));
  MachineChange change{microseconds(5)};
  for (ResourceId port = 0; port < 16; ++port) change.capacities.push_back({port, {0}});
  call.events().changes = {change};
  const auto text = [&](bool fold) {
    try {
      call.run(fold);
    } catch (const HangError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(text(false), "");
  EXPECT_EQ(text(true), text(false));
}

TEST(symmetry, other_engines_fold_nothing) {
  const Plan plan = all_reduce("ring", 4);
  const Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(50), microseconds(1));
  const DataPartition partition(plan, Bytes{16000}, Bytes{4}, {});
  const Calibration ideal;
  for (const Engine engine : test::fair_engines()) {
    const auto fabric = make_fabric(engine);
    EXPECT_EQ(execute({plan, partition, wiring, ideal}, *fabric).rank_classes,
              fabric->folds() ? 1U : 4U);
  }
}

}  // namespace
}  // namespace collsim
