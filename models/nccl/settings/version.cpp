#include "models/nccl/settings/version.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/input_error.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

/// Takes a number and the dot before it, if one is due, off the front of `text`.
bool take_part(std::string_view& text, bool dot, int& number) {
  if (dot) {
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  const auto found = take_number<int>(text);
  if (found) number = *found;
  return found && number >= 0;
}

}  // namespace

NcclVersion parse_nccl_version(std::string_view text) {
  const std::string accepted =
      fmt::format("{}.{} to {}, such as 2.28 or 2.28.9", oldest_nccl_version.major_number,
                  oldest_nccl_version.minor_number, to_string(newest_nccl_version));
  NcclVersion version;
  std::string_view rest = text;
  version.patch = last_patch;
  const bool numbers = take_part(rest, false, version.major_number) &&
                       take_part(rest, true, version.minor_number) &&
                       (rest.empty() || take_part(rest, true, version.patch)) && rest.empty();
  if (!numbers) throw InputError(fmt::format("'{}' is no NCCL version", text), accepted);
  if (version < oldest_nccl_version || version > newest_nccl_version ||
      version.patch > last_patch) {
    throw InputError(fmt::format("the rules of NCCL {} are not known", text), accepted);
  }
  return version;
}

NcclVersion nearest_nccl_version(std::string_view logged) {
  NcclVersion version;
  version.patch = last_patch;
  const bool numbers = take_part(logged, false, version.major_number) &&
                       take_part(logged, true, version.minor_number);
  if (!numbers) return default_nccl_version;
  take_part(logged, true, version.patch);
  return std::clamp(version, oldest_nccl_version, newest_nccl_version);
}

std::string to_string(NcclVersion version) {
  const std::string series = fmt::format("{}.{}", version.major_number, version.minor_number);
  return version.patch == last_patch ? series : fmt::format("{}.{}", series, version.patch);
}

}  // namespace collsim
