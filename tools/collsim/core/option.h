#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/core/format.h"

namespace collsim::command {

/// How an option's value is read, and how help shows it.
struct OptionValue {
  std::function<boost::program_options::value_semantic*()> make;
  std::string shown{};      ///< "N", "FILE", "weak|strong"; empty of an option without a value
  std::string fallback{};   ///< the value that it has where it is not given; empty: none
  bool only_words = false;  ///< whether a value must be one of the words shown

  /// The words of "weak|strong"; none where a value is no word.
  [[nodiscard]] std::vector<std::string> words() const;
};

/// The value of an option that is given or not.
OptionValue flag();
/// A value of any type that boost::program_options can read.
template <typename Type>
OptionValue value_of(std::string shown) {
  return {[] { return boost::program_options::value<Type>(); }, std::move(shown)};
}
/// A value of any type, with one that holds where none is given, and its text.
template <typename Type>
OptionValue value_of(std::string shown, Type fallback, std::string text) {
  const auto make = [=] {
    return boost::program_options::value<Type>()->default_value(fallback, text);
  };
  return {make, std::move(shown), std::move(text)};
}
/// A whole number; bounded_option() reads it.
OptionValue number();
OptionValue number(std::int64_t fallback);
/// Any text. An empty `fallback` that is given is a default, too.
OptionValue text(std::string shown);
OptionValue text(std::string shown, const std::string& fallback);
/// Texts of an option that may be repeated.
OptionValue texts(std::string shown);
/// One of the words "weak|strong".
OptionValue words(std::string shown, const std::string& fallback);
/// One of the formats, the first by default.
OptionValue format_value(std::vector<Format> offered);

/// An option, whatever command it stands in.
struct Option {
  std::string name;
  std::string letter;  ///< "n"; empty where it has none
  OptionValue value;
  std::string text;  ///< what help says of it
};

/// Options that belong together, as help lists them.
struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

/// Every option that there is, once: tools/collsim/request/option_table.cpp.
const std::vector<OptionGroup>& option_groups();

/// Two options: those that exclude each other, or one that needs the other.
struct OptionPair {
  std::string_view one;
  std::string_view other;
};
/// Pairs of options of which one is asked at most, in all commands that take both.
const std::vector<OptionPair>& exclusive_options();
/// The first of a pair needs the second, in all commands that take both.
const std::vector<OptionPair>& needed_options();

}  // namespace collsim::command
