#include "sim/algorithms/transfer_list.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

namespace collsim {

namespace {

/// ScheduleBuilder and its primitives number lanes and phases in 8 bits.
constexpr std::uint32_t max_lanes = 64;
constexpr std::size_t max_phases = 250;

[[noreturn]] void fail(const WrittenTransfer& transfer, const std::string& wrong,
                       const std::string& accepted) {
  throw InputError(transfer.place, wrong, accepted);
}

void require_in_range(const TransferList& list, const WrittenTransfer& transfer) {
  const auto& [first, count] = transfer.chunks;
  if (transfer.from == transfer.to) {
    fail(transfer, fmt::format("rank {} sends to itself", transfer.from), "another rank");
  }
  if (transfer.from >= list.ranks || transfer.to >= list.ranks) {
    fail(transfer,
         fmt::format("rank {} of {} ranks", std::max(transfer.from, transfer.to), list.ranks),
         fmt::format("0 to {}", list.ranks - 1));
  }
  if (count == 0 || first >= list.chunks || count > list.chunks - first) {
    fail(transfer,
         fmt::format("chunks {} to {} of {}", first, std::int64_t{first} + count - 1, list.chunks),
         fmt::format("0 to {}", list.chunks - 1));
  }
  if (transfer.lane >= max_lanes) {
    fail(transfer, fmt::format("lane {}", transfer.lane), fmt::format("0 to {}", max_lanes - 1));
  }
}

/// Follows which lane received each chunk of each rank last, as ScheduleBuilder does.
class LaneFollower {
 public:
  void send(const WrittenTransfer& transfer) {
    const std::uint32_t lane = lane_of(transfer);
    const auto [used, added] =
        lane_of_connection_.try_emplace({transfer.from, transfer.to, transfer.lane}, lane);
    if (added || used->second == lane) return;
    fail(transfer,
         fmt::format("{} -> {} in lane {} sends what lanes {} and {} received", transfer.from,
                     transfer.to, transfer.lane, used->second, lane),
         "one lane for both, or connections of their own");
  }
  void receive(const WrittenTransfer& transfer) {
    for (std::uint32_t i = 0; i < transfer.chunks.count; ++i) {
      received_[{transfer.to, transfer.chunks.first + i}] = transfer.lane;
    }
  }

 private:
  std::uint32_t lane_of(const WrittenTransfer& transfer) const {
    std::set<std::uint32_t> lanes;
    for (std::uint32_t i = 0; i < transfer.chunks.count; ++i) {
      const auto found = received_.find({transfer.from, transfer.chunks.first + i});
      if (found != received_.end()) lanes.insert(found->second);
    }
    if (lanes.size() > 1) {
      fail(transfer,
           fmt::format("a message of chunks that lanes {} and {} received", *lanes.begin(),
                       *lanes.rbegin()),
           "one lane, or a message for each chunk");
    }
    return lanes.empty() ? transfer.lane : *lanes.begin();
  }

  std::map<std::tuple<Rank, std::uint32_t>, std::uint32_t> received_;
  std::map<std::tuple<Rank, Rank, std::uint32_t>, std::uint32_t> lane_of_connection_;
};

bool uses_lanes(const TransferList& list) {
  for (const WrittenStep& step : list.steps) {
    for (const WrittenTransfer& each : step.transfers) {
      if (each.lane != 0) return true;
    }
  }
  return false;
}

}  // namespace

void require_valid(const TransferList& list) {
  std::set<std::string> phases;
  for (const WrittenStep& step : list.steps) {
    for (const WrittenTransfer& each : step.transfers) require_in_range(list, each);
    phases.insert(step.phase);
    if (phases.size() > max_phases && !step.transfers.empty()) {
      fail(step.transfers.front(), fmt::format("more than {} phases", max_phases), "fewer");
    }
  }
  if (!uses_lanes(list)) return;
  LaneFollower lanes;
  for (const WrittenStep& step : list.steps) {
    for (const WrittenTransfer& each : step.transfers) lanes.send(each);
    for (const WrittenTransfer& each : step.transfers) lanes.receive(each);
  }
}

void emit(const TransferList& list, Group& group) {
  for (const WrittenStep& step : list.steps) {
    group.step();
    group.phase(step.phase);
    for (const WrittenTransfer& each : step.transfers) {
      group.lane(each.lane);
      if (each.reduce) {
        group.reduce(each.from, each.to, each.chunks);
      } else {
        group.copy(each.from, each.to, each.chunks);
      }
    }
  }
}

TransferList transfers_of(const Plan& plan, std::uint32_t channel) {
  TransferList list{plan.collective, plan.ranks(), plan.root, plan.schedule(channel).chunks(), {}};
  for (const Step& step : replay_steps(plan, channel)) {
    WrittenStep& written = list.steps.emplace_back(WrittenStep{step.phase, {}});
    for (const StepTransfer& each : step.transfers) {
      written.transfers.push_back({each.from, each.to, each.chunks, each.reduce, each.lane});
    }
  }
  return list;
}

}  // namespace collsim
