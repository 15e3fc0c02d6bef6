#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/collsim/core/packed_file.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim {

/// What a call of c10d says of itself, on the CPU or beside its kernel.
struct CallWords {
  std::string operation{};
  std::string communicator{};
  std::string type{};
  std::string members{};  ///< its ranks, as in "[0, 1]"
  double ranks = 0;
  double in_elements = 0;
  double out_elements = 0;
  std::optional<double> source{};       ///< of a receive: the sender's rank in the communicator
  std::optional<double> destination{};  ///< of a send: the receiver's rank
};

/// One event of a Kineto trace, as far as it is of interest.
struct KinetoEvent {
  std::string phase{};
  std::string category{};
  std::string name{};
  double begin_us = 0;
  double duration_us = 0;
  double thread = 0;
  double stream = 0;
  double blocks = 0;
  std::optional<double> external{};
  std::optional<double> correlation{};
  CallWords words{};
};

/// Puts events, which come in any order, together to what a rank did.
class KinetoCollector {
 public:
  explicit KinetoCollector(RankTrace& trace) : trace_(trace) {}

  /// Takes what it needs of an event. Throws InputError where too much is kept.
  void take(KinetoEvent& event);
  /// Fills the trace, after the last event. Throws likewise.
  void finish();

 private:
  struct PendingWork {
    KinetoEvent event{};
    JobSpan span{};
    bool is_call = false;
  };
  /// What the host did that work on the GPU depends on.
  struct HostEvent {
    enum class Kind : std::uint8_t { launch, record, wait, words };
    Kind kind = Kind::launch;
    double thread = 0;
    double begin_us = 0;
    double end_us = 0;
    std::size_t index = 0;  ///< of the work that is launched, or of a call's words
  };
  /// What a thread of the host has done.
  struct HostThread {
    bool recorded = false;             ///< an event, and nothing since
    std::vector<std::size_t> words{};  ///< since it last launched a call
  };

  void take_host(const KinetoEvent& event, const JobSpan& span);
  void add_launches();
  void follow_host();
  void launch(std::size_t work, HostThread& thread);
  const CallWords& words_of(const KinetoEvent& kernel) const;
  TracedCall call_of(const PendingWork& pending, const std::vector<std::size_t>& words);
  void add_communicator(const CallWords& words);
  void keep(const KinetoEvent& event);

  RankTrace& trace_;
  KeptBytes kept_{};
  std::vector<PendingWork> work_{};
  std::vector<TracedWork> traced_{};
  /// Streams were told to wait since the last launch: PyTorch waits for gradients on one thread,
  /// and goes on to the optimizer on another.
  bool after_latest_ = false;
  bool after_earlier_ = false;
  std::vector<JobSpan> other_steps_{};
  std::vector<HostEvent> host_{};
  std::vector<CallWords> all_words_{};
  std::unordered_map<double, std::size_t> words_{};  ///< by external id
  struct Launch {
    double thread = 0;
    JobSpan span{};
    std::optional<double> external{};
  };
  std::unordered_map<double, Launch> launches_{};  ///< by correlation
};

}  // namespace collsim
