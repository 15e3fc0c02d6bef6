#include "tools/collsim/trace/state_chart.h"

#include <algorithm>
#include <array>
#include <map>

namespace collsim {

namespace {

constexpr std::size_t states = 5;
constexpr std::array<char, states> letters{'.', 'W', 'C', 'S', 'R'};

/// That a lane begins or ends to be in a state.
struct StateChange {
  double at = 0;
  std::size_t state = 0;
  int lanes = 0;  // 1 or -1
};

std::size_t state_of(const Schedule& schedule, const Primitive& primitive) {
  // What comes alone and leaves out the own buffer is passed on, not added.
  const bool alone = primitive.kind == PrimitiveKind::recv_send &&
                     schedule.peers(primitive.receive_group).size() == 1;
  if (reduces(primitive.kind) && !alone) return static_cast<std::size_t>(RankState::reduces);
  return static_cast<std::size_t>(sends(primitive.kind) ? RankState::sends : RankState::copies);
}

/// What a participant's lanes do; it waits from the launch until its last record is over.
std::vector<StateChange> changes_of(const std::vector<const TimelineRecord*>& records,
                                    const Schedule& schedule, Seconds launch) {
  std::vector<StateChange> changes;
  const auto add = [&](Seconds begin, Seconds end, std::size_t state) {
    if (end <= begin) return;
    changes.push_back({begin.value, state, 1});
    changes.push_back({end.value, state, -1});
  };
  Seconds last = launch;
  for (const TimelineRecord* record : records) {
    const Primitive primitive = schedule.program(record->rank, record->lane)[record->primitive];
    add(record->begin, record->over, state_of(schedule, primitive));
    last = std::max(last, record->over);
  }
  add(launch, last, static_cast<std::size_t>(RankState::waits));
  std::sort(changes.begin(), changes.end(),
            [](const StateChange& a, const StateChange& b) { return a.at < b.at; });
  return changes;
}

/// How long each column is in each state.
class ColumnTimes {
 public:
  ColumnTimes(const ChartSpan& span, std::size_t columns)
      : begin_(span.begin.value),
        width_((span.end.value - span.begin.value) / static_cast<double>(columns)),
        times_(columns) {}

  void add(double from, double to, std::size_t state) {
    from = std::max(from, begin_);
    to = std::min(to, begin_ + width_ * static_cast<double>(times_.size()));
    if (!(to > from)) return;
    auto column = static_cast<std::size_t>((from - begin_) / width_);
    for (; column < times_.size(); ++column) {
      const double edge = begin_ + width_ * static_cast<double>(column + 1);
      times_[column][state] += std::max(0.0, std::min(to, edge) - from);
      if (to <= edge) return;
      from = std::max(from, edge);
    }
  }

  std::string max() const {
    std::string row;
    for (const auto& column : times_) {
      std::size_t longest = 0;
      // Equal but for rounding is equal.
      const double rounding = 1e-9 * width_;
      for (std::size_t state = 1; state < states; ++state) {
        if (column[state] >= column[longest] - rounding) longest = state;
      }
      row += letters[longest];
    }
    return row;
  }

 private:
  double begin_;
  double width_;
  std::vector<std::array<double, states>> times_;
};

std::string row_of(const std::vector<StateChange>& changes, const ChartSpan& span,
                   std::size_t columns) {
  ColumnTimes times(span, columns);
  std::array<int, states> lanes{};
  double now = span.begin.value;
  const auto pass = [&](double until) {
    std::size_t state = states - 1;
    while (state > 0 && lanes[state] == 0) --state;
    times.add(now, until, state);
    now = std::max(now, until);
  };
  for (const StateChange& change : changes) {
    pass(change.at);
    lanes[change.state] += change.lanes;
  }
  pass(span.end.value);
  return times.max();
}

}  // namespace

char letter_of(RankState state) {
  return letters[static_cast<std::size_t>(state)];
}

std::vector<StateRow> state_chart(const Timeline& timeline, const Schedule& schedule,
                                  std::uint32_t channel, const ChartSpan& span,
                                  std::size_t columns) {
  std::map<Rank, std::vector<const TimelineRecord*>> records;
  for (const TimelineRecord& record : timeline.records) {
    if (record.channel == channel) records[record.rank].push_back(&record);
  }
  std::vector<StateRow> rows;
  rows.reserve(records.size());
  for (const auto& [participant, own] : records) {
    rows.push_back({participant, row_of(changes_of(own, schedule, span.launch), span, columns)});
  }
  return rows;
}

}  // namespace collsim
