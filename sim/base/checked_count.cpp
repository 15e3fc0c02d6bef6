#include "sim/base/checked_count.h"

#include <fmt/format.h>

#include <limits>

#include "sim/base/input_error.h"

namespace collsim {

std::uint32_t checked_count(std::uint64_t count, std::string_view what,
                            const std::string& accepted) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (count <= most) return static_cast<std::uint32_t>(count);
  throw InputError(fmt::format("{} {}", count, what),
                   fmt::format("at most {}: {}", most, accepted));
}

}  // namespace collsim
