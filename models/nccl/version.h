#pragma once

#include <string>
#include <string_view>

namespace collsim {

/// A release of NCCL. Only major and minor change what NCCL decides.
struct NcclVersion {
  int major_number = 2;
  int minor_number = 30;

  constexpr int order() const { return 1000 * major_number + minor_number; }
  constexpr bool operator==(const NcclVersion& other) const { return order() == other.order(); }
  constexpr bool operator<(const NcclVersion& other) const { return order() < other.order(); }
  constexpr bool operator>(const NcclVersion& other) const { return other < *this; }
  constexpr bool operator>=(const NcclVersion& other) const { return !(*this < other); }
};

/// The releases whose rules are known.
inline constexpr NcclVersion oldest_nccl_version{2, 18};
inline constexpr NcclVersion newest_nccl_version{2, 30};

/// Reads "2.28" or "2.28.9". Throws InputError for anything else or a release that is not known.
NcclVersion parse_nccl_version(std::string_view text);

std::string to_string(NcclVersion version);

}  // namespace collsim
