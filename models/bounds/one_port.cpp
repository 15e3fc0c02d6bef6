#include "models/bounds/one_port.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>

namespace collsim {

namespace {

/// Messages that come to one rank, each at an equal part of the port's rate.
class InPort {
 public:
  void add(Rank from, double seconds, double now) {
    pass(now);
    coming_.push_back({from, seconds});
  }
  /// When the next one has come; what is added later may put it off.
  double next() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Coming& each : coming_) least = std::min(least, each.left);
    return last_ + least * static_cast<double>(coming_.size());
  }
  /// Whose messages have come by now, which is next().
  std::vector<Rank> take(double now) {
    constexpr double rounding = 1e-13;
    pass(now);
    std::vector<Rank> from;
    std::erase_if(coming_, [&](const Coming& each) {
      if (each.left > rounding * now) return false;
      from.push_back(each.from);
      return true;
    });
    return from;
  }

 private:
  struct Coming {
    Rank from = 0;
    double left = 0;  // seconds, alone
  };
  void pass(double now) {
    for (Coming& each : coming_) each.left -= (now - last_) / static_cast<double>(coming_.size());
    last_ = now;
  }
  std::vector<Coming> coming_;
  double last_ = 0;
};

class Ports {
 public:
  Ports(const std::vector<std::vector<PortStep>>& programs, double alpha)
      : programs_(programs), alpha_(alpha), ranks_(programs.size()) {}

  double run() {
    for (Rank rank = 0; rank < ranks_.size(); ++rank) events_.push({0, rank, go_on});
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.change == go_on) {
        proceed(event.rank, event.at);
      } else if (event.change == ranks_[event.rank].changes) {
        arrive(event.rank, event.at);
      }
    }
    double last = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      assert(ranks_[rank].step == programs_[rank].size() && "it waits for what nobody sends");
      last = std::max(last, ranks_[rank].at);
    }
    return last;
  }

 private:
  static constexpr std::uint64_t go_on = ~std::uint64_t{0};
  /// A rank goes on, or something has come to its port unless that has changed since.
  struct Event {
    double at = 0;
    Rank rank = 0;
    std::uint64_t change = go_on;
    bool operator>(const Event& other) const { return at > other.at; }
  };
  struct RankState {
    std::size_t step = 0;
    double at = 0;
    bool waits = false;  // for its step's message
    InPort port;
    std::uint64_t changes = 0;                  // of the port
    std::map<Rank, std::deque<double>> seen{};  // by sender: when its messages are seen
  };

  void watch(Rank rank) {
    RankState& state = ranks_[rank];
    events_.push({state.port.next(), rank, ++state.changes});
  }

  void proceed(Rank rank, double now) {
    RankState& state = ranks_[rank];
    state.at = now;
    while (state.step < programs_[rank].size()) {
      const PortStep& step = programs_[rank][state.step];
      if (step.sends) {
        ranks_[step.peer].port.add(rank, step.seconds, now);
        watch(step.peer);
        return;
      }
      std::deque<double>& seen = state.seen[step.peer];
      state.waits = seen.empty();
      if (state.waits) return;
      if (seen.front() > now) {
        events_.push({seen.front(), rank, go_on});
        return;
      }
      seen.pop_front();
      ++state.step;
    }
  }

  void arrive(Rank rank, double now) {
    RankState& state = ranks_[rank];
    for (const Rank from : state.port.take(now)) {
      ++ranks_[from].step;
      events_.push({now, from, go_on});
      state.seen[from].push_back(now + alpha_);
      if (!state.waits || programs_[rank][state.step].peer != from) continue;
      state.waits = false;
      events_.push({now + alpha_, rank, go_on});
    }
    if (state.port.next() < std::numeric_limits<double>::infinity()) watch(rank);
  }

  const std::vector<std::vector<PortStep>>& programs_;
  double alpha_;
  std::vector<RankState> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

double one_port_time(const std::vector<std::vector<PortStep>>& programs, double alpha) {
  return Ports(programs, alpha).run();
}

}  // namespace collsim
