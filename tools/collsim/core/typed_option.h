#pragma once

#include <fmt/format.h>

#include <boost/any.hpp>
#include <boost/program_options.hpp>
#include <string>
#include <utility>
#include <vector>

namespace collsim::command {

/// A value that an option's type does not take. parse_options() makes an InputError of it, which
/// names the option. What would be accepted is `accepted`, or else what the option's help says.
class BadOptionValue : public boost::program_options::validation_error {
 public:
  BadOptionValue(std::string text, std::string wrong, std::string accepted = {})
      : validation_error(invalid_option_value),
        text_(std::move(text)),
        wrong_(std::move(wrong)),
        accepted_(std::move(accepted)) {}

  /// The value as it was given.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// What is wrong with the value: "there is no 'x'".
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] const std::string& accepted() const { return accepted_; }

 private:
  std::string text_;
  std::string wrong_;
  std::string accepted_;
};

/// The text of an option that is given once.
std::string only_text(const boost::any& value, const std::vector<std::string>& texts);

/// The word of an option, turned into a value by `find`, which returns nothing for others.
template <typename Find>
auto word_value(const boost::any& value, const std::vector<std::string>& texts, Find find) {
  const std::string word = only_text(value, texts);
  const auto found = find(word);
  if (!found) throw BadOptionValue(word, fmt::format("there is no '{}'", word));
  return *found;
}

}  // namespace collsim::command
