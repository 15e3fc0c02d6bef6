#pragma once

#include <compare>

namespace collsim {

/// A release of NCCL. A few rules changed within a series: at a patch.
struct NcclVersion {
  int major_number = 2;
  int minor_number = 30;
  int patch = 0;

  auto operator<=>(const NcclVersion&) const = default;
};

/// The patch of a version that names none: the last of its series.
inline constexpr int last_patch = 999;

/// The releases whose rules are known.
inline constexpr NcclVersion oldest_nccl_version{2, 18, 0};
inline constexpr NcclVersion newest_nccl_version{2, 32, last_patch};
/// The release whose rules hold where none is named: the last that recordings and published runs
/// check.
inline constexpr NcclVersion default_nccl_version{2, 30, last_patch};

}  // namespace collsim
