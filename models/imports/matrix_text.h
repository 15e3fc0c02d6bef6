#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/text_file.h"

namespace collsim {

/// A word, or a cell of a table.
struct MatrixWord {
  std::string text;
  int line = 1;
  int column = 1;
};

/// A line of words, or a row of a table, whose empty cells are words without letters.
struct MatrixLine {
  std::vector<MatrixWord> words;
  bool cells = false;
};

/// The lines of a text with what `nvidia-smi topo -m` prints: as it is, as a Markdown table, or as
/// HTML with it in a table or as text. Escape sequences of terminals (also those that lost their
/// first character), the marks of bold and code, and quotation marks of mails are left out. Throws
/// InputError for HTML of more than 8000 elements around the GPUs.
std::vector<MatrixLine> matrix_lines(const TextFile& text);

/// Whether a text has elements of HTML in which people copy what a terminal shows.
bool is_html(std::string_view text);

}  // namespace collsim
