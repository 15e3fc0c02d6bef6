#include "sim/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "sim/base/lines.h"

namespace collsim {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 7> time_units{{{"ps", 1e-12},
                                          {"ns", 1e-9},
                                          {"us", 1e-6},
                                          {"\u00b5s", 1e-6},  // micro sign
                                          {"\u03bcs", 1e-6},  // Greek mu
                                          {"ms", 1e-3},
                                          {"s", 1}}};
constexpr std::array<Unit, 13> prefixes{{{"", 1},
                                         {"k", 1e3},
                                         {"K", 1e3},
                                         {"M", 1e6},
                                         {"G", 1e9},
                                         {"T", 1e12},
                                         {"P", 1e15},
                                         {"Ki", 0x1p10},
                                         {"Mi", 0x1p20},
                                         {"Gi", 0x1p30},
                                         {"Ti", 0x1p40},
                                         {"Pi", 0x1p50},
                                         {"Ei", 0x1p60}}};

/// What a quantity is called and how it is written, for messages.
struct Quantity {
  std::string_view name;
  std::string_view accepted;
};
constexpr Quantity byte_quantity{"size", "a size is like 4 MiB, 64 KiB, 1 GB or 512 B"};
constexpr Quantity rate_quantity{"rate", "a rate is like 25 GB/s, 400 Gb/s or 500 MB/s"};
constexpr Quantity time_quantity{"time", "a time is like 1.3 us, 600 ns, 2 ms or 1 s"};

[[noreturn]] void reject(const Quantity& quantity, const std::string& wrong) {
  throw QuantityError(wrong, std::string(quantity.accepted));
}

struct NumberAndUnit {
  double number;
  std::string_view unit;
};

NumberAndUnit split(std::string_view text, const Quantity& quantity) {
  const std::string_view body = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (error == std::errc::result_out_of_range) {
    reject(quantity, fmt::format("'{}' is beyond what a number can hold", text));
  }
  if (error != std::errc{}) reject(quantity, fmt::format("'{}' is not a {}", text, quantity.name));
  if (!std::isfinite(number)) reject(quantity, fmt::format("'{}' is not finite", text));
  if (std::signbit(number)) reject(quantity, fmt::format("'{}' is negative", text));
  const auto rest = body.substr(static_cast<std::size_t>(end - body.data()));
  const std::string_view unit = trimmed(rest);
  if (unit.empty()) reject(quantity, fmt::format("'{}' has no unit", text));
  return {number, unit};
}

std::optional<double> factor_of(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

/// Bytes in one of a unit like "MiB" or "Gb".
std::optional<double> data_factor(std::string_view unit) {
  if (unit.empty() || (unit.back() != 'B' && unit.back() != 'b')) return std::nullopt;
  const auto prefix = factor_of(prefixes, unit.substr(0, unit.size() - 1));
  if (!prefix) return std::nullopt;
  return unit.back() == 'B' ? *prefix : *prefix / 8;
}

[[noreturn]] void reject_unit(std::string_view text, std::string_view unit,
                              const Quantity& quantity) {
  reject(quantity, fmt::format("'{}': '{}' is not a unit of {}", text, unit, quantity.name));
}

/// The number with up to six digits and the largest unit that leaves it at 1 or more. `units`
/// ascend.
std::string with_unit(double value, std::span<const Unit> units) {
  const Unit* chosen = &units.front();
  for (const Unit& unit : units) {
    // Compared as it will be printed, so that 999.9999999 us reads "1 ms".
    if (std::stod(fmt::format("{:.6g}", value / unit.factor)) >= 1) chosen = &unit;
  }
  return fmt::format("{:.6g} {}", value / chosen->factor, chosen->name);
}

}  // namespace

QuantityError::QuantityError(std::string wrong, std::string accepted)
    : std::invalid_argument(wrong + "; " + accepted),
      wrong_(std::move(wrong)),
      accepted_(std::move(accepted)) {}

Bytes parse_bytes(std::string_view text) {
  const auto [number, unit] = split(text, byte_quantity);
  const auto factor = data_factor(unit);
  if (!factor) reject_unit(text, unit, byte_quantity);
  const double bytes = number * *factor;
  if (bytes >= 0x1p63) reject(byte_quantity, fmt::format("'{}' is larger than 8 EiB", text));
  if (bytes != std::floor(bytes)) {
    reject(byte_quantity, fmt::format("'{}' is not a whole number of bytes", text));
  }
  return {static_cast<std::int64_t>(bytes)};
}

BytesPerSecond parse_rate(std::string_view text) {
  const auto [number, unit] = split(text, rate_quantity);
  const auto factor =
      unit.ends_with("/s") ? data_factor(unit.substr(0, unit.size() - 2)) : std::optional<double>();
  if (!factor) reject_unit(text, unit, rate_quantity);
  const double rate = number * *factor;
  if (!std::isfinite(rate)) reject(rate_quantity, fmt::format("'{}' is not finite", text));
  return {rate};
}

Seconds parse_time(std::string_view text) {
  const auto [number, unit] = split(text, time_quantity);
  const auto factor = factor_of(time_units, unit);
  if (!factor) reject_unit(text, unit, time_quantity);
  return {number * *factor};
}

std::string to_string(Bytes bytes) {
  constexpr std::array<Unit, 7> binary{{{"B", 1},
                                        {"KiB", 0x1p10},
                                        {"MiB", 0x1p20},
                                        {"GiB", 0x1p30},
                                        {"TiB", 0x1p40},
                                        {"PiB", 0x1p50},
                                        {"EiB", 0x1p60}}};
  constexpr std::array<Unit, 6> decimal{
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}};
  // Round decimal sizes read best as they were meant: 1000000 is "1 MB", not "976.562 KiB".
  const bool decimal_is_exact = bytes.count % 1000 == 0 && bytes.count % 1024 != 0;
  const auto value = static_cast<double>(bytes.count);
  return decimal_is_exact ? with_unit(value, decimal) : with_unit(value, binary);
}

std::string to_string(BytesPerSecond rate) {
  if (rate == unlimited) return "unlimited";
  constexpr std::array<Unit, 5> units{
      {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};
  return with_unit(rate.value, units);
}

std::string to_string(Seconds time) {
  constexpr std::array<Unit, 4> units{{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  return time.value == 0 ? "0 s" : with_unit(time.value, units);
}

std::string rounded_size(double bytes) {
  constexpr double kibi = 1024;
  constexpr std::string_view letters = "KMGT";
  if (bytes < kibi) return fmt::format("{:.0f} B", bytes);
  std::size_t prefix = 0;
  for (bytes /= kibi; bytes >= kibi && prefix + 1 < letters.size(); bytes /= kibi) ++prefix;
  return fmt::format("{:.3g} {}iB", bytes, letters[prefix]);
}

}  // namespace collsim
