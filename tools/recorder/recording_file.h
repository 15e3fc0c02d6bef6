#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/recorder/nccl_choice.h"
#include "tools/recorder/run_list.h"
#include "tools/recorder/statistics.h"

namespace collsim::recorder {

/// One line of results: a case and what it took.
struct Row {
  Case measured;
  std::optional<NcclChoice> choice;
  int iterations = 0;
  int repeats = 0;
  Statistics seconds;               ///< over repeats, each the mean over ranks of time per call
  double slowest_rank_seconds = 0;  ///< median over repeats of the slowest rank's time per call
  std::optional<double> estimate_seconds;  ///< NCCL's own, of ncclGroupSimulateEnd
  std::uint64_t wrong = 0;                 ///< elements of the result that were not as expected
};

/// Where and with what a file was recorded.
struct Machine {
  std::map<std::string, std::string> facts;  ///< gpu, gpus, driver, cuda, nccl, cpu ...
  std::string topology;                      ///< NCCL's dump, XML; may be empty
};

/// The file that the recorder writes: `collsim: recording/1` (docs/formats.md). Every row is on
/// disk before the next is measured, so a killed recorder loses none; a file that is there already
/// is continued after its last whole row.
class RecordingFile {
 public:
  /// Throws InputError: cannot be written, or holds rows of another machine.
  RecordingFile(std::filesystem::path path, const Machine& machine);

  bool has(const std::string& run, const Case& c) const;
  /// `environment`: all NCCL_* variables that the processes of the run saw.
  void begin_run(const Run& run, const std::map<std::string, std::string>& environment);
  void add(const Row& row);
  /// Ends the run begun last; `how` is "done", "interrupted" or what failed.
  void end_run(const std::string& how);

 private:
  void resume(const std::string& text, const std::string& facts);
  void append(const std::string& text);

  std::filesystem::path path_;
  std::set<std::pair<std::string, Case>> recorded_;
  std::string run_name_;
  std::string run_head_;  ///< not written before there is a row or an end
};

/// `text` as YAML in double quotes, on one line.
std::string yaml_quoted(std::string_view text);

}  // namespace collsim::recorder
