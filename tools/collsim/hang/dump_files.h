#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/collsim/hang/flight_record.h"

namespace collsim {

/// A file whose rank counts as not dumped.
struct UnreadDump {
  std::optional<std::uint32_t> rank;  ///< as its name says
  std::string why;                    ///< with the file's name
};

/// What was found at some paths.
struct DumpFiles {
  std::vector<FlightRecord> records;
  std::vector<UnreadDump> unread;    ///< empty, cut off, or wrong in another way
  std::vector<std::string> skipped;  ///< files of folders that do not begin as a dump does
};

/// Reads dumps. A path is a dump, or a folder of which all files are read that begin as a dump
/// does. Throws InputError for a path that is not there, and where no dump can be read.
DumpFiles load_dumps(const std::vector<std::string>& paths);

}  // namespace collsim
