#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace collsim {

/// Takes the number that a text begins with off its front; nothing where it begins with none, or
/// with one that the type does not hold. A number has no plus and no blanks before it; "inf" and
/// "nan" are numbers of a floating type.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The number that a text begins with.
template <typename Number>
std::optional<Number> leading_number(std::string_view text) {
  return take_number<Number>(text);
}

/// The number that all of a text is.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  const std::optional<Number> number = take_number<Number>(text);
  return text.empty() ? number : std::nullopt;
}

/// The whole number that all of a text is, written with hexadecimal digits, without "0x".
template <typename Number>
std::optional<Number> parse_hexadecimal(std::string_view text) {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number, 16);
  return error == std::errc{} && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace collsim
