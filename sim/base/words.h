#pragma once

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace collsim {

/// The word for a value of an enumeration, of a list that has all of them. Throws std::logic_error
/// for a value that the list lacks.
template <typename Value, typename Words>
std::string_view word_for(Value value, const Words& words) {
  for (const auto& [each, word] : words) {
    if (each == value) return word;
  }
  throw std::logic_error("a value of an enumeration without its word");
}

/// The same for a list in braces.
template <typename Value>
std::string_view word_for(
    Value value,
    std::initializer_list<std::pair<std::type_identity_t<Value>, std::string_view>> words) {
  return word_for<Value, decltype(words)>(value, words);
}

/// The value, of some, whose to_string() is the word; nothing where there is none.
template <typename Values>
auto value_called(std::string_view word, const Values& values)
    -> std::optional<std::remove_cvref_t<decltype(*values.begin())>> {
  for (const auto each : values) {
    if (to_string(each) == word) return each;
  }
  return std::nullopt;
}

/// The same for a list in braces.
template <typename Value>
std::optional<Value> value_called(std::string_view word, std::initializer_list<Value> values) {
  return value_called<std::initializer_list<Value>>(word, values);
}

}  // namespace collsim
