#pragma once

#include <type_traits>

namespace collsim {

/// The quotient of two integers, rounded up. `dividend` is not negative, `divisor` above 0.
template <typename Dividend, typename Divisor>
constexpr auto divide_up(Dividend dividend, Divisor divisor) {
  using Integer = std::common_type_t<Dividend, Divisor>;
  const auto by = static_cast<Integer>(divisor);
  return (static_cast<Integer>(dividend) + by - 1) / by;
}

}  // namespace collsim
