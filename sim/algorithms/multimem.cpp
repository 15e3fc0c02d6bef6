#include "sim/algorithms/multimem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

namespace {

/// Every owner of a sum or of a part has two lanes, so that nothing of it waits for another's.
constexpr std::uint32_t lanes_of_owner = 2;
/// A rank has no more lanes than a byte counts.
constexpr Rank max_ranks = 120;

/// Writes what an NVSwitch and its ranks do for one owner of a sum or of a part.
class SwitchWriter {
 public:
  SwitchWriter(Rank ranks, std::uint32_t chunks)
      : ranks_(ranks), writer_(ranks, lanes_of_owner * ranks, chunks, {SwitchReducer::nvswitch}) {}

  /// Every rank's chunk goes to the switch, which sends the sum to the owner.
  void load_sum(std::uint32_t chunk, Rank owner) { load(chunk, sum_of(owner)); }
  /// The same of a buffer of one chunk, where all owners share a lane.
  void load_whole_sum(Rank owner) { load(0, whole_sum_of(owner)); }
  void keep_whole_sum(Rank owner) {
    writer_.append(owner, 0, PrimitiveKind::recv, {0, 1}, writer_.group(whole_sum_of(owner)), 0);
  }
  void keep_sum(std::uint32_t chunk, Rank owner) {
    writer_.append(owner, owner, PrimitiveKind::recv, {chunk, 1}, writer_.group(sum_of(owner)), 0);
  }
  void pass_sum_on(std::uint32_t chunk, Rank owner) {
    writer_.phase("store to all");
    writer_.append(owner, owner, PrimitiveKind::recv_send, {chunk, 1}, writer_.group(sum_of(owner)),
                   writer_.group(store_of(owner)));
  }
  void store_own(std::uint32_t chunk, Rank owner) {
    writer_.phase("store to all");
    writer_.append(owner, owner, PrimitiveKind::send, {chunk, 1}, 0,
                   writer_.group(store_of(owner)));
  }
  /// The switch sends what the owner stores to all, which is one message on its way in.
  void copy_to_all(std::uint32_t chunk, Rank owner) {
    writer_.phase("store to all");
    const std::uint32_t lane = copies_of(owner);
    std::vector<Connection> handed_out;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const Connection& connection = handed_out.emplace_back(Connection{ranks_, rank, lane});
      writer_.append(rank, lane, PrimitiveKind::recv, {chunk, 1}, writer_.group(connection), 0);
    }
    writer_.append(ranks_, lane, PrimitiveKind::recv_send, {chunk, 1},
                   writer_.group(store_of(owner)), writer_.group(handed_out));
  }
  Schedule build() && { return std::move(writer_).build(); }

 private:
  void load(std::uint32_t chunk, const Connection& sum) {
    writer_.phase("load the sum");
    std::vector<Connection> handed_in;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const Connection& connection = handed_in.emplace_back(Connection{rank, ranks_, sum.lane});
      writer_.append(rank, sum.lane, PrimitiveKind::send, {chunk, 1}, 0, writer_.group(connection));
    }
    writer_.append(ranks_, sum.lane, PrimitiveKind::recv_send, {chunk, 1}, writer_.group(handed_in),
                   writer_.group(sum));
  }
  Connection whole_sum_of(Rank owner) const { return {ranks_, owner, 0}; }
  std::uint32_t copies_of(Rank owner) const { return ranks_ + owner; }
  Connection sum_of(Rank owner) const { return {ranks_, owner, owner}; }
  Connection store_of(Rank owner) const { return {owner, ranks_, copies_of(owner)}; }

  Rank ranks_;
  ScheduleWriter writer_;
};

struct SwitchAlgorithm {
  const Algorithm* algorithm;
  SwitchSchedule schedule;
};

constexpr std::array switch_algorithms{
    SwitchAlgorithm{&all_reduce_multimem_one_shot, multimem_one_shot_schedule},
    SwitchAlgorithm{&all_reduce_multimem_two_shot, multimem_two_shot_schedule},
    SwitchAlgorithm{&all_gather_multimem, multimem_all_gather_schedule},
    SwitchAlgorithm{&reduce_scatter_multimem, multimem_reduce_scatter_schedule},
};

}  // namespace

SwitchSchedule switch_schedule_of(const Algorithm& algorithm) {
  const auto* const found = std::find_if(
      switch_algorithms.begin(), switch_algorithms.end(), [&](const SwitchAlgorithm& each) {
        return each.algorithm->name == algorithm.name &&
               each.algorithm->collective == algorithm.collective;
      });
  return found == switch_algorithms.end() ? nullptr : found->schedule;
}

std::optional<std::string> unsupported_by_switch(const Placement& placement,
                                                 const Algorithm* /*inter*/) {
  if (placement.ranks() > max_ranks) {
    return fmt::format("multimem: {} ranks; at most {}", placement.ranks(), max_ranks);
  }
  const Rank nodes = placement.nodes();
  if (nodes <= 1) return std::nullopt;
  return fmt::format(
      "multimem: ranks in {} nodes, which no NVSwitch joins; ranks of one node (--ranks-per-node)",
      nodes);
}

/// All have handed in before anybody keeps the sum in place of what he has: one lane.
Schedule multimem_one_shot_schedule(Rank ranks) {
  SwitchWriter writer(ranks, 1);
  for (Rank rank = 0; ranks > 1 && rank < ranks; ++rank) writer.load_whole_sum(rank);
  for (Rank rank = 0; ranks > 1 && rank < ranks; ++rank) writer.keep_whole_sum(rank);
  return std::move(writer).build();
}

Schedule multimem_two_shot_schedule(Rank ranks) {
  SwitchWriter writer(ranks, ranks);
  for (Rank owner = 0; ranks > 1 && owner < ranks; ++owner) {
    writer.load_sum(owner, owner);
    writer.pass_sum_on(owner, owner);
    writer.copy_to_all(owner, owner);
  }
  return std::move(writer).build();
}

Schedule multimem_all_gather_schedule(Rank ranks) {
  SwitchWriter writer(ranks, ranks);
  for (Rank owner = 0; ranks > 1 && owner < ranks; ++owner) {
    writer.store_own(owner, owner);
    writer.copy_to_all(owner, owner);
  }
  return std::move(writer).build();
}

Schedule multimem_reduce_scatter_schedule(Rank ranks) {
  SwitchWriter writer(ranks, ranks);
  for (Rank owner = 0; ranks > 1 && owner < ranks; ++owner) {
    writer.load_sum(owner, owner);
    writer.keep_sum(owner, owner);
  }
  return std::move(writer).build();
}

}  // namespace collsim
