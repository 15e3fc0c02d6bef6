#pragma once

#include <string>
#include <vector>

#include "models/hang/flight_record.h"

namespace collsim {

/// What was found at some paths.
struct DumpFiles {
  std::vector<FlightRecord> records;
  std::vector<std::string> empty;    ///< files without content: their ranks count as not dumped
  std::vector<std::string> skipped;  ///< files of folders that do not begin as a dump does
};

/// Reads dumps. A path is a dump, or a folder of which all files are read that begin as a dump
/// does. Throws InputError for what cannot be read, for a file of more than 64 MiB, and where there
/// is no dump at all.
DumpFiles load_dumps(const std::vector<std::string>& paths);

}  // namespace collsim
