#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {

/// The numbers of a release, the first counts most: {0, 19, 0}.
using ReleaseNumbers = std::vector<int>;

/// Reads "0.19.0"; what follows the numbers ("1.3.0rc20", "0.5.6.post2") does not count. Empty for
/// a text that does not begin with a number.
ReleaseNumbers parse_release(std::string_view text);

/// An inference engine, or a framework, and which release of it.
struct EngineRelease {
  std::string engine;      ///< "vllm"
  ReleaseNumbers release;  ///< empty: the newest that is known
};

/// Reads "vllm" or "vllm:0.19.0".  Throws InputError for a release that is no number. Whether there
/// is such an engine, the table of peer kernels says.
EngineRelease parse_engine_release(std::string_view text);

/// Names a release, "vllm 0.19.0"; the newest one is "vllm" alone.
std::string to_string(const EngineRelease& engine);

}  // namespace collsim
