#include "tools/collsim/core/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/base/data_directory.h"

namespace collsim::command {

const char* release() {
  return COLLSIM_VERSION;
}

std::string version_text(bool verbose) {
  std::string text = fmt::format("collsim {}\n", COLLSIM_VERSION);
  if (!verbose) return text;
  constexpr std::string_view separator = ", ";
  std::string_view libraries = COLLSIM_LIBRARIES;  // "Boost 1.74.0, Eigen 3.4.0", by CMake
  while (!libraries.empty()) {
    const std::string_view library = libraries.substr(0, libraries.find(separator));
    text += fmt::format("  {}\n", library);
    libraries.remove_prefix(std::min(library.size() + separator.size(), libraries.size()));
  }
  return text +
         fmt::format("  compiler {}\n  data in {}\n", COLLSIM_COMPILER, data_directory().string());
}

}  // namespace collsim::command
