#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/collsim/watch/call_stream.h"
#include "tools/collsim/watch/expected_calls.h"
#include "tools/collsim/watch/slowdown.h"

namespace collsim::command {

/// What has become slow of a communicator.
enum class Symptom : std::uint8_t {
  small_calls,  ///< calls whose time hardly depends on their bytes
  large_calls,
  late_rank,  ///< the others wait for one rank
};
std::string_view to_string(Symptom symptom);

/// Calls of a communicator have left what is normal for them.
struct Alarm {
  std::string communicator;
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  Symptom symptom = Symptom::large_calls;
  Slowdown slowdown;
  StreamedCall example;  ///< the call that made it certain
  std::optional<ExpectedTime> expected{};
  std::vector<std::string> hosts{};  ///< of this communicator, in no other that is as it was
  std::string cause{};               ///< the likeliest, in words
};

/// Follows calls of any number of communicators, and says when calls take longer than they should
/// for longer than noise explains. Its memory is bounded.
class Watcher {
 public:
  explicit Watcher(ExpectedCalls expected) : expected_(std::move(expected)) {}

  /// Takes a call; the alarms that it makes certain, each of which is told once.
  std::vector<Alarm> add(const StreamedCall& call);
  /// Judges what is left, when nothing more comes.
  std::vector<Alarm> finish();

  /// Calls that could be held against an expectation.
  [[nodiscard]] std::int64_t judged() const { return judged_; }
  [[nodiscard]] std::size_t communicators() const { return watched_.size(); }

 private:
  struct Watched {
    std::map<Symptom, SlowdownDetector> detectors;
    std::deque<std::int64_t> last_ranks;  ///< of the last calls
    StreamedCall latest;
    std::set<std::string> hosts;
    std::uint64_t heard = 0;
  };

  void consider(Watched& watched, Symptom symptom, const Sample& sample, const StreamedCall& call,
                std::vector<Alarm>& alarms);
  Alarm alarm_of(Watched& watched, Symptom symptom, const Slowdown& slowdown,
                 const StreamedCall& call);
  std::string cause_of(Watched& watched, Symptom symptom) const;
  std::vector<std::string> suspects(const Watched& watched) const;

  ExpectedCalls expected_;
  std::map<std::string, Watched> watched_;
  std::int64_t judged_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace collsim::command
