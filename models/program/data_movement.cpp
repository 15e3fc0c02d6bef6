#include "models/program/data_movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace collsim {

namespace {

/// So many faults are told.
constexpr std::size_t max_told = 5;
/// No op, before all: what a rank holds from the beginning. After all: what it wants in the end.
constexpr std::uint32_t no_op = std::numeric_limits<std::uint32_t>::max();

/// Which ops of a group have ended when another begins: on each stream the first so many.
class OpOrder {
 public:
  explicit OpOrder(const RankGroup& group);

  bool has_ended(std::uint32_t op, std::uint32_t before) const {
    return op == no_op || before == no_op || ended_[before * streams_ + stream_[op]] > place_[op];
  }

 private:
  using Ended = std::vector<std::uint32_t>;
  void add_end_of(std::uint32_t op, Ended& to) const {
    for (std::size_t i = 0; i < streams_; ++i) to[i] = std::max(to[i], ended_[op * streams_ + i]);
    to[stream_[op]] = std::max(to[stream_[op]], place_[op] + 1);
  }

  std::size_t streams_;
  std::vector<std::uint32_t> stream_{};
  std::vector<std::uint32_t> place_{};  ///< on its stream
  Ended ended_{};                       ///< by op and stream
};

OpOrder::OpOrder(const RankGroup& group) : streams_(group.streams.size()) {
  Ended host(streams_, 0);
  std::vector<std::optional<std::uint32_t>> last(streams_);
  for (std::uint32_t i = 0; i < group.ops.size(); ++i) {
    const ProgramOp& op = group.ops[i];
    for (const std::uint32_t before : op.host_after) add_end_of(before, host);
    Ended ended = host;
    for (const std::uint32_t before : op.after) add_end_of(before, ended);
    std::optional<std::uint32_t>& before = last[op.stream];
    if (before) add_end_of(*before, ended);
    ended_.insert(ended_.end(), ended.begin(), ended.end());
    stream_.push_back(op.stream);
    place_.push_back(before ? place_[*before] + 1 : 0);
    before = i;
  }
}

/// A slice that an op passes on, or brings.
struct OpSlice {
  TensorSlice slice{};
  std::uint32_t op = no_op;

  auto operator<=>(const OpSlice&) const = default;
};

/// What one rank does with slices.
struct RankData {
  const RankGroup* group = nullptr;
  std::size_t place = 0;  ///< in the group
  std::vector<OpSlice> held{};
  std::vector<OpSlice> passed{};
};

/// A group's call and its op.
struct IssuedCall {
  std::uint32_t op = 0;
  ProgramCall call{};
};

/// Calls that meet, by their group, in the order in which they are issued: those of a communicator,
/// or the sends of one group to another and what receives them.
using MeetingCalls = std::map<const RankGroup*, std::vector<IssuedCall>>;

/// Follows slices through a program.
class DataCheck {
 public:
  explicit DataCheck(const CallProgram& program);
  DataVerdict run() &&;

 private:
  void meet(const std::vector<Rank>& ranks, const MeetingCalls& calls, std::size_t number);
  std::optional<std::string> lack_of(const RankData& data, const OpSlice& wanted,
                                     const OpOrder& order) const;
  void check_passed(Rank rank, const OpOrder& order);
  void check_wanted(Rank rank, const OpOrder& order);
  void tell(std::string text);

  const CallProgram& program_;
  DataVerdict verdict_{};
  std::vector<RankData> ranks_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, MeetingCalls> calls_{};
};

DataCheck::DataCheck(const CallProgram& program) : program_(program), ranks_(ranks_of(program)) {
  for (std::uint32_t number = 0; number < program.groups.size(); ++number) {
    const RankGroup& group = program.groups[number];
    for (std::size_t place = 0; place < group.ranks.size(); ++place) {
      RankData& data = ranks_[group.ranks[place]];
      data = {&group, place};
      if (group.holds.empty()) continue;
      for (const TensorSlice& slice : group.holds[place]) data.held.push_back({slice});
    }
    for (std::uint32_t op = 0; op < group.ops.size(); ++op) {
      for (const ProgramCall& call : group.ops[op].calls) {
        std::tuple meeting{call.communicator, no_op, no_op};
        if (call.kind == ProgramCallKind::send) meeting = {call.communicator, number, call.peer};
        if (call.kind == ProgramCallKind::receive) meeting = {call.communicator, call.peer, number};
        calls_[meeting][&group].push_back({op, call});
      }
    }
  }
}

void DataCheck::tell(std::string text) {
  ++verdict_.wrong_count;
  if (verdict_.wrong.size() < max_told) verdict_.wrong.push_back(std::move(text));
}

std::string op_text(const RankGroup& group, std::uint32_t op) {
  const std::string& name = group.ops[op].name;
  return fmt::format("op {}{} of '{}'", op + 1, name.empty() ? "" : fmt::format(" '{}'", name),
                     group.name);
}

/// The calls of that number, of the ranks of one communicator.
void DataCheck::meet(const std::vector<Rank>& ranks, const MeetingCalls& calls,
                     std::size_t number) {
  static const std::vector<TensorSlice> none;
  const std::vector<TensorSlice>* first = nullptr;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankData& data = ranks_[ranks[i]];
    const auto found = calls.find(data.group);
    if (found == calls.end()) continue;
    const auto& [op, call] = found->second[number];
    const auto& slices = call.moved ? program_.moved[*call.moved][data.place] : none;
    if (first == nullptr) first = &slices;
    if (slices != *first) {
      const auto text = [&](const auto& moved) { return to_string(moved, program_.tensors); };
      tell(fmt::format("rank {} moves {} in {}, and others {}", ranks[i], text(slices),
                       op_text(*data.group, op), text(*first)));
    }
    const auto place = static_cast<std::int64_t>(i);
    const bool gathers = call.kind == ProgramCallKind::all_gather;
    const bool gives = call.kind == ProgramCallKind::send ||
                       (call.kind == ProgramCallKind::broadcast && call.root == place);
    for (const TensorSlice& slice : slices) {
      if (gives) data.passed.push_back({slice, op});
      if (gathers) data.passed.push_back({parts_of(slice, place, place, std::ssize(ranks)), op});
      if (!gives) data.held.push_back({slice, op});
    }
  }
}

/// What a rank lacks of a slice before an op, or in the end.
std::optional<std::string> DataCheck::lack_of(const RankData& data, const OpSlice& wanted,
                                              const OpOrder& order) const {
  TensorSlice missing = wanted.slice;
  std::uint32_t late = no_op;
  auto held =
      std::lower_bound(data.held.begin(), data.held.end(), OpSlice{{missing.tensor, 0, 0}, 0});
  for (; held != data.held.end() && held->slice.tensor == missing.tensor; ++held) {
    if (held->slice.end <= missing.begin) continue;
    if (held->slice.begin >= missing.end) break;
    if (!order.has_ended(held->op, wanted.op)) {
      if (held->op != wanted.op) late = held->op;
    } else if (held->slice.begin > missing.begin) {
      missing.end = held->slice.begin;
    } else {
      missing.begin = held->slice.end;
    }
  }
  if (missing.begin >= missing.end) return std::nullopt;
  std::string text = to_string(std::vector{missing}, program_.tensors);
  if (late == no_op) return text;
  return text + fmt::format("; {} need not have ended", op_text(*data.group, late));
}

void DataCheck::check_passed(Rank rank, const OpOrder& order) {
  RankData& data = ranks_[rank];
  std::sort(data.held.begin(), data.held.end());
  data.held.erase(std::unique(data.held.begin(), data.held.end()), data.held.end());
  verdict_.moves += data.passed.size();
  for (const OpSlice& passed : data.passed) {
    const auto lack = lack_of(data, passed, order);
    if (!lack) continue;
    tell(fmt::format("rank {} passes on {} in {} and lacks {}", rank,
                     to_string(std::vector{passed.slice}, program_.tensors),
                     op_text(*data.group, passed.op), *lack));
  }
}

void DataCheck::check_wanted(Rank rank, const OpOrder& order) {
  const RankData& data = ranks_[rank];
  if (data.group->wants.empty()) return;
  ++verdict_.ranks;
  for (const TensorSlice& slice : data.group->wants[data.place]) {
    const auto lack = lack_of(data, {slice}, order);
    if (!lack) continue;
    tell(fmt::format("rank {} wants {} and lacks {}", rank,
                     to_string(std::vector{slice}, program_.tensors), *lack));
  }
}

DataVerdict DataCheck::run() && {
  for (const auto& [meeting, calls] : calls_) {
    for (std::size_t i = 0; i < calls.begin()->second.size(); ++i) {
      const auto& all = program_.communicators[std::get<0>(meeting)].instances;
      for (const std::vector<Rank>& ranks : all) meet(ranks, calls, i);
    }
  }
  // Causes are told before what they cause.
  for (const auto check : {&DataCheck::check_passed, &DataCheck::check_wanted}) {
    for (const RankGroup& group : program_.groups) {
      const OpOrder order(group);
      for (const Rank rank : group.ranks) (this->*check)(rank, order);
    }
  }
  return std::move(verdict_);
}

}  // namespace

DataVerdict check_data(const CallProgram& program) {
  return DataCheck(program).run();
}

}  // namespace collsim
