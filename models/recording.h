#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "sim/collective.h"
#include "sim/units.h"

namespace collsim {

/// Measured times of one recorded sweep (one machine, algorithm, protocol, rank count), by size.
struct Recording {
  std::string id;
  std::map<Bytes, Seconds> times;  ///< mean over ranks, out of place
};

/// Reads the rows of one id and rank count from a recordings CSV (recordings/README.md has its
/// columns). Throws InputError: no such file, a row that cannot be read (with its line), or no row
/// of that id (naming the ids there are).
Recording load_recording(const std::filesystem::path& path, std::string_view id,
                         Collective collective, Rank ranks);

}  // namespace collsim
