#pragma once

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/units.h"

namespace collsim::command {

/// The value of an integer option, from `least` to `most`. Throws InputError that names the option.
/// The option is declared as a std::int64_t, because an unsigned one would silently wrap "-1".
std::uint32_t bounded_option(const boost::program_options::variables_map& values,
                             const std::string& option, std::uint32_t least, std::uint32_t most);

/// "1..17,32,64": numbers and ranges from `least` to `most`, in the written order. Throws
/// InputError that names the option.
std::vector<std::uint32_t> parse_numbers(std::string_view option, std::string_view text,
                                         std::uint32_t least, std::uint32_t most);

/// The value of an option that is a quantity with a unit, above 0, read by `parse` (parse_time,
/// parse_rate). Throws InputError that names the option.
template <typename Quantity>
Quantity quantity_option(const boost::program_options::variables_map& values,
                         const std::string& option, Quantity (*parse)(std::string_view text)) {
  const auto& text = values[option].template as<std::string>();
  try {
    const Quantity quantity = parse(text);
    if (quantity.value > 0) return quantity;
  } catch (const QuantityError& error) {
    throw InputError(fmt::format("--{}: {}", option, error.wrong()), error.accepted());
  }
  throw InputError(fmt::format("--{}: {}", option, text), "more than 0");
}

}  // namespace collsim::command
