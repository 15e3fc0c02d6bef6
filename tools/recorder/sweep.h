#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/recorder/rank_group.h"
#include "tools/recorder/recording_file.h"
#include "tools/recorder/run_list.h"

namespace collsim::recorder {

struct SweepOptions {
  std::filesystem::path output;
  std::filesystem::path logs;          ///< an existing folder
  std::filesystem::path hosts_script;  ///< tools/recorder/hosts
  std::function<bool()> interrupted;   ///< asked several times a second
};

/// What the rank processes do; rank_recorder.h has the real ones.
struct RankWork {
  using Tell = std::function<void(const std::string&)>;
  std::function<void(SharedState&, const Tell&)> tell_machine;
  std::function<void(const Run&, const std::string& label, int rank, SharedState&, const Tell&)>
      record_rank;
};

enum class SweepEnd {
  done,
  some_failed,  ///< the recording says which and why
  interrupted,
};

/// The machine as its own processes describe it. Throws InputError when they cannot.
Machine describe_machine(const SweepOptions& options, const RankWork& work, std::ostream& progress);

/// Records all runs into the output, leaving out what is in it already, one line of progress per
/// run. When a case fails, it and what would fail alike are left out and the rest of the run goes
/// on in new processes, up to a few times.
SweepEnd sweep(const std::vector<Run>& runs, const Machine& machine, const SweepOptions& options,
               const RankWork& work, std::ostream& progress);

}  // namespace collsim::recorder
