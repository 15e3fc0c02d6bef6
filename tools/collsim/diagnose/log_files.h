#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "sim/base/text_file.h"

namespace collsim::command {

/// A log with a table.
struct Log {
  Recording recording;
  LogFacts facts;
  std::size_t bad_rows = 0;
};

/// What the files of a command line are, in any order.
struct LogFiles {
  std::vector<Log> logs;
  LogFacts common;                    ///< of files with lines of NCCL's and without a table
  std::string info_name;              ///< of the first such file
  std::optional<TextFile> described;  ///< a host: nvidia-smi's matrix, NCCL's topology or lstopo
};

TextFile read_log(const std::string& argument);

/// Facts of files that have no table are everybody's; what a log with a table says was set, its
/// rows have, each run its own. A description of a host may be a file of its own or stand in a log.
/// A file that is none of these is named on `err` and passed over. Throws InputError where all
/// files are, and for a file that is not there.
LogFiles read_log_files(const std::vector<std::string>& arguments, std::ostream& err);

}  // namespace collsim::command
