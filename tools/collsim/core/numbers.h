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

/// The number of --threads; `otherwise` where it is 0 or not given. Throws InputError.
std::uint32_t thread_count(const boost::program_options::variables_map& values,
                           std::uint32_t otherwise);

/// Reads numbers and ranges from `least` to `most`, such as "1..17,32,64", in the written order.
/// Throws InputError that names the option.
std::vector<std::uint32_t> parse_numbers(std::string_view option, std::string_view text,
                                         std::uint32_t least, std::uint32_t most);

/// A quantity with a unit, above 0, which `parse` (parse_time, parse_rate) reads of an option's
/// text. Throws InputError that names the option.
template <typename Quantity>
Quantity quantity_above_0(const std::string& option, const std::string& text,
                          Quantity (*parse)(std::string_view text)) {
  try {
    const Quantity quantity = parse(text);
    if (quantity.value > 0) return quantity;
  } catch (const QuantityError& error) {
    throw InputError(fmt::format("--{}: {}", option, error.wrong()), error.accepted());
  }
  throw InputError(fmt::format("--{}: {}", option, text), "more than 0");
}

/// The quantity of a given option.
template <typename Quantity>
Quantity quantity_option(const boost::program_options::variables_map& values,
                         const std::string& option, Quantity (*parse)(std::string_view text)) {
  return quantity_above_0(option, values[option].template as<std::string>(), parse);
}

/// Reads a share above 0 and below 1, as "10%" or "0.1". Throws InputError that names the option.
double share_option(std::string_view option, std::string_view text);

}  // namespace collsim::command
