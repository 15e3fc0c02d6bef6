#pragma once

// What the C++20 library of Debian 12's Emscripten (libc++ 13) lacks and collsim uses. The build
// for browsers includes it before every source (cmake/web.cmake); no other build sees it. Clang
// takes the rest of C++20 as GCC does.

#include <strings.h>

#include <cerrno>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace std {

template <typename To, typename From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

/// A page has one thread, so that starting one fails, as where a system gives no more.
class jthread : public thread {
 public:
  jthread() noexcept = default;
  template <typename Work>
  explicit jthread(Work&& work) : thread(forward<Work>(work)) {}
  jthread(jthread&&) noexcept = default;
  jthread& operator=(jthread&&) noexcept = default;
  ~jthread() {
    if (joinable()) join();
  }
};

/// The end of the decimal number that a text begins with, by the grammar of from_chars(); `first`
/// where it begins with none.
inline const char* end_of_number(const char* first, const char* last, chars_format format) {
  const auto is_digit = [last](const char* at) { return at != last && *at >= '0' && *at <= '9'; };
  const auto begins_with = [last](const char* at, string_view word) {
    return static_cast<size_t>(last - at) >= word.size() &&
           strncasecmp(at, word.data(), word.size()) == 0;
  };
  const char* at = first != last && *first == '-' ? first + 1 : first;
  for (const string_view word : {"infinity"sv, "inf"sv, "nan"sv}) {
    if (begins_with(at, word)) return at + word.size();
  }
  const char* const digits = at;
  while (is_digit(at)) ++at;
  auto count = at - digits;
  if (at != last && *at == '.') {
    const char* const fraction = at + 1;
    const char* end = fraction;
    while (is_digit(end)) ++end;
    count += end - fraction;
    if (count > 0) at = end;
  }
  if (count == 0) return first;
  if (format == chars_format::general && at != last && (*at == 'e' || *at == 'E')) {
    const char* exponent = at + 1;
    if (exponent != last && (*exponent == '-' || *exponent == '+')) ++exponent;
    if (is_digit(exponent)) {
      while (is_digit(exponent)) ++exponent;
      at = exponent;
    }
  }
  return at;
}

/// strtod() rounds correctly, but reads more than from_chars() does: it is given what that would
/// read.
inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format format = chars_format::general) {
  const char* const end = end_of_number(first, last, format);
  if (end == first) return {first, errc::invalid_argument};
  const string number(first, end);
  const int before = exchange(errno, 0);
  const double read = strtod(number.c_str(), nullptr);
  const bool beyond = exchange(errno, before) == ERANGE;
  if (beyond) return {end, errc::result_out_of_range};
  value = read;
  return {end, errc{}};
}

template <typename Character, typename Traits, typename Allocator>
strong_ordering operator<=>(const basic_string<Character, Traits, Allocator>& left,
                            const basic_string<Character, Traits, Allocator>& right) {
  return left.compare(right) <=> 0;
}

template <typename Sequence>
auto compare_in_turn(const Sequence& left, const Sequence& right) {
  using Order = decltype(*left.begin() <=> *right.begin());
  auto other = right.begin();
  for (const auto& each : left) {
    if (other == right.end()) return Order::greater;
    if (const Order order = each <=> *other; order != 0) return order;
    ++other;
  }
  return other == right.end() ? Order::equivalent : Order::less;
}

template <typename First, typename Second>
auto operator<=>(const pair<First, Second>& left, const pair<First, Second>& right)
    -> common_comparison_category_t<decltype(left.first <=> right.first),
                                    decltype(left.second <=> right.second)> {
  if (const auto order = left.first <=> right.first; order != 0) return order;
  return left.second <=> right.second;
}

template <typename Value, typename Allocator>
auto operator<=>(const vector<Value, Allocator>& left, const vector<Value, Allocator>& right)
    -> decltype(*left.begin() <=> *right.begin()) {
  return compare_in_turn(left, right);
}

template <typename Key, typename Value, typename Less, typename Allocator>
auto operator<=>(const map<Key, Value, Less, Allocator>& left,
                 const map<Key, Value, Less, Allocator>& right)
    -> decltype(*left.begin() <=> *right.begin()) {
  return compare_in_turn(left, right);
}

template <typename Value>
auto operator<=>(const optional<Value>& left, const optional<Value>& right)
    -> decltype(*left <=> *right) {
  if (left && right) return *left <=> *right;
  return left.has_value() <=> right.has_value();
}

}  // namespace std
