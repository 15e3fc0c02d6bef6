#include "models/nccl/settings/path_type.h"

#include <array>

namespace collsim {

namespace {
constexpr std::array<std::string_view, 12> names{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                 "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
}  // namespace

std::string_view to_string(PathType type) {
  return names[static_cast<std::size_t>(type)];
}

std::optional<PathType> find_path_type(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<PathType>(i);
  }
  return std::nullopt;
}

}  // namespace collsim
