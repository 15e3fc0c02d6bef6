#include "tools/collsim/core/size_option.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sim/base/input_error.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim {

namespace {

constexpr const char* accepted_sizes =
    "whole bytes, such as 8, 32K, 1.5M, 8G (powers of 1024, up to 1024T), 4 MiB or 1 MB";

/// "1.5" of "1.5M", and the "M".
std::optional<std::pair<double, std::string_view>> number_and_suffix(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  return std::pair{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

/// The factor of a size's suffix, as in nccl-tests, in either case; nothing for any other suffix.
std::optional<double> factor_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  constexpr std::string_view suffixes = "KMGT";
  const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front())));
  const auto power = suffixes.find(letter);
  if (suffix.size() != 1 || power == std::string_view::npos) return std::nullopt;
  return static_cast<double>(std::int64_t{1} << (10 * (power + 1)));
}

std::optional<Bytes> find_size(std::string_view text) {
  constexpr double largest = 0x1p50;
  if (const auto parts = number_and_suffix(text)) {
    const auto factor = factor_of(parts->second);
    const double bytes = parts->first * factor.value_or(0);
    const bool is_size = bytes >= 0 && bytes <= largest && bytes == std::floor(bytes);
    if (factor && is_size && !std::signbit(parts->first)) {
      return Bytes{static_cast<std::int64_t>(bytes)};
    }
  }
  try {
    return parse_bytes(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace

namespace command {

Bytes parse_size(std::string_view option, std::string_view text) {
  if (const auto size = find_size(text)) return *size;
  throw InputError(fmt::format("--{}: '{}' is not a size", option, text), accepted_sizes);
}

}  // namespace command

void validate(boost::any& value, const std::vector<std::string>& texts, Bytes* /*target*/, int) {
  const std::string text = command::only_text(value, texts);
  const auto size = find_size(text);
  if (!size)
    throw command::BadOptionValue(text, fmt::format("'{}' is not a size", text), accepted_sizes);
  value = *size;
}

}  // namespace collsim
