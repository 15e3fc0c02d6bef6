#pragma once

#include <string_view>
#include <vector>

#include "sim/base/input_error.h"

namespace collsim {

/// A word of a line and its column, from 1.
struct Word {
  std::string_view text;
  int column = 1;
};
/// The words of a line, which blanks and tabs divide.
std::vector<Word> split_words(std::string_view line);

/// The lines of a text, without their ends; or its parts by another letter that ends them. Nothing
/// follows the last end.
std::vector<std::string_view> split_lines(std::string_view text, char end = '\n');

/// The fields of a line of a table, without the white space around them: one more than separators.
std::vector<Word> split_fields(std::string_view line, char separator);

/// The text without the blanks around it.
std::string_view trimmed(std::string_view text, std::string_view blanks = " ");

/// Line and column of a letter of a file; those of its end for what lies behind it.
SourcePosition position_at(const std::string& file, std::string_view text, std::size_t offset);

}  // namespace collsim
