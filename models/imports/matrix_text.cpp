#include "models/imports/matrix_text.h"

#include <fmt/format.h>
#include <gumbo.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string_view>

#include "sim/base/input_error.h"
#include "sim/base/lines.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

/// A parser's tree can be as deep, and is freed by recursion; marks inside each other take time by
/// the square of their number. A table of 60 devices has 7,500.
constexpr std::size_t element_limit = 8'000;
constexpr std::string_view no_break_space = "\xC2\xA0";

/// The length of "\x1b[4m" at a place of a text, by which terminals underline, or of the "[4m" that
/// stays of it in a text that was copied; 0 if there is none.
std::size_t escape_length(std::string_view text, std::size_t at) {
  const bool escape = text[at] == '\x1b';
  std::size_t end = at + (escape ? 1 : 0);
  if (end < text.size() && text[end] == '[') {
    const std::size_t letter =
        std::min(text.find_first_not_of("0123456789;", end + 1), text.size());
    if (letter > end + 1 && letter < text.size() && text[letter] == 'm') return letter + 1 - at;
  }
  return escape ? 1 : 0;
}

/// The length of the blank or escape sequence at a place of a text; 0 if there is none.
std::size_t blank_length(std::string_view text, std::size_t at) {
  if (std::isspace(static_cast<unsigned char>(text[at])) != 0) return 1;
  if (text.substr(at).starts_with(no_break_space)) return no_break_space.size();
  return escape_length(text, at);
}

bool is_mark(char letter) {
  return letter == '*' || letter == '`';
}

/// Adds a word without the marks of Markdown around it; nothing for a mark alone.
void add_word(MatrixLine& line, std::string_view word, int number, int column) {
  while (!word.empty() && is_mark(word.front())) {
    word.remove_prefix(1);
    ++column;
  }
  while (!word.empty() && is_mark(word.back())) word.remove_suffix(1);
  if (word.empty() || word == ">") return;
  line.words.push_back({std::string(word), number, column});
}

/// Adds the words of a text that begins at a place of a line.
void add_words(MatrixLine& line, std::string_view text, int number, int column) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size();) {
    const std::size_t blank = i == text.size() ? 1 : blank_length(text, i);
    if (blank > 0 && begin < i) {
      add_word(line, text.substr(begin, i - begin), number, column + static_cast<int>(begin));
    }
    i += std::max<std::size_t>(blank, 1);
    if (blank > 0) begin = i;
  }
}

/// The words of a text as one, with a blank between them. An empty one stands where the text does.
MatrixWord one_word(std::string_view text, int number, int column) {
  MatrixLine words;
  add_words(words, text, number, column);
  MatrixWord whole{{}, number, column};
  for (const MatrixWord& word : words.words) {
    if (whole.text.empty()) {
      whole = word;
    } else {
      whole.text += ' ' + word.text;
    }
  }
  return whole;
}

/// A row of a Markdown table. The bars at its ends are no borders between cells.
MatrixLine cells_of(std::string_view text, int number) {
  MatrixLine line{{}, true};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    MatrixWord cell =
        one_word(text.substr(begin, end - begin), number, static_cast<int>(begin) + 1);
    const bool at_an_end = begin == 0 || end == text.size();
    if (!at_an_end || !cell.text.empty()) line.words.push_back(std::move(cell));
    begin = end + 1;
  }
  return line;
}

std::vector<MatrixLine> plain_lines(std::string_view text) {
  std::vector<MatrixLine> lines;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (line.find('|') != std::string_view::npos) {
      lines.push_back(cells_of(line, number));
    } else {
      lines.emplace_back();
      add_words(lines.back(), line, number, 1);
    }
  }
  return lines;
}

/// Elements that stand on lines of their own.
bool is_block(GumboTag tag) {
  constexpr std::array blocks{GUMBO_TAG_BR,    GUMBO_TAG_P,  GUMBO_TAG_DIV,    GUMBO_TAG_PRE,
                              GUMBO_TAG_TABLE, GUMBO_TAG_TR, GUMBO_TAG_LI,     GUMBO_TAG_DETAILS,
                              GUMBO_TAG_HEAD,  GUMBO_TAG_H1, GUMBO_TAG_SUMMARY};
  return std::find(blocks.begin(), blocks.end(), tag) != blocks.end();
}

bool is_cell(GumboTag tag) {
  return tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH;
}

/// Walks HTML in the order of its text.
class HtmlReader {
 public:
  explicit HtmlReader(std::string_view html) : html_(html) {
    for (std::size_t i = 0; i < html.size(); ++i) {
      if (html[i] == '\n') line_starts_.push_back(i + 1);
    }
  }

  std::vector<MatrixLine> read(const GumboNode* root) {
    const GumboNode* node = root;
    while (node != nullptr) {
      enter(*node);
      if (const GumboNode* child = child_of(*node, 0)) {
        node = child;
        continue;
      }
      leave(*node);
      while (node != root && child_of(*node->parent, node->index_within_parent + 1) == nullptr) {
        node = node->parent;
        leave(*node);
      }
      node = node == root ? nullptr : child_of(*node->parent, node->index_within_parent + 1);
    }
    end_line();
    return std::move(lines_);
  }

 private:
  static const GumboNode* child_of(const GumboNode& node, std::size_t index) {
    const bool parent = node.type == GUMBO_NODE_ELEMENT || node.type == GUMBO_NODE_DOCUMENT ||
                        node.type == GUMBO_NODE_TEMPLATE;
    if (!parent) return nullptr;
    const GumboVector& children =
        node.type == GUMBO_NODE_DOCUMENT ? node.v.document.children : node.v.element.children;
    return index < children.length ? static_cast<const GumboNode*>(children.data[index]) : nullptr;
  }

  void enter(const GumboNode& node) {
    if (node.type == GUMBO_NODE_ELEMENT) {
      enter_element(node.v.element);
    } else if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE ||
               node.type == GUMBO_NODE_CDATA) {
      add_text(node.v.text);
    }
  }

  /// A table or a text as written inside of a cell counts, and the cell around it does not.
  void enter_element(const GumboElement& element) {
    if (element.tag == GUMBO_TAG_TABLE || element.tag == GUMBO_TAG_PRE) {
      in_cell_ = false;
      in_row_ = false;
    }
    if (is_block(element.tag)) end_line();
    if (element.tag == GUMBO_TAG_TR) in_row_ = true;
    if (is_cell(element.tag)) {
      in_cell_ = true;
      cell_ = place_of(element.original_tag);
    }
  }

  void leave(const GumboNode& node) {
    if (node.type != GUMBO_NODE_ELEMENT) return;
    const GumboTag tag = node.v.element.tag;
    if (is_cell(tag) && in_cell_) {
      line_.words.push_back(std::move(cell_));
      in_cell_ = false;
    }
    if (tag == GUMBO_TAG_TR && in_row_) {
      in_row_ = false;
      as_words();
    }
    if (is_block(tag)) end_line();
  }

  /// Pages show code as tables of one row for every line: its number, if any, and its text.
  void as_words() {
    constexpr std::size_t number_and_text = 2;
    line_.cells = true;
    if (line_.words.empty() || line_.words.size() > number_and_text) return;
    const MatrixWord& text = line_.words.back();
    MatrixLine words;
    add_words(words, text.text, text.line, text.column);
    if (words.words.size() > 1) line_ = std::move(words);
  }

  void add_text(const GumboText& text) {
    MatrixWord place = place_of(text.original_text);
    std::string_view rest(text.text);
    if (in_cell_) {
      MatrixWord word = one_word(rest, place.line, place.column);
      if (cell_.text.empty()) {
        if (!word.text.empty()) cell_ = std::move(word);
      } else if (!word.text.empty()) {
        cell_.text += ' ' + word.text;
      }
      return;
    }
    if (in_row_) return;  // blanks between cells
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      add_words(line_, rest.substr(0, end), place.line, place.column);
      end_line();
      rest.remove_prefix(end + 1);
      place = {{}, place.line + 1, 1};
    }
    add_words(line_, rest, place.line, place.column);
  }

  void end_line() {
    if (in_row_) return;
    if (!line_.words.empty()) lines_.push_back(std::move(line_));
    line_ = {};
  }

  /// Where a piece of the text stands; what the parser made up stands at the start.
  MatrixWord place_of(const GumboStringPiece& piece) const {
    if (piece.data == nullptr) return {};
    const auto offset = static_cast<std::size_t>(piece.data - html_.data());
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    return {{},
            static_cast<int>(next - line_starts_.begin()),
            static_cast<int>(offset - *(next - 1)) + 1};
  }

  std::string_view html_;
  std::vector<std::size_t> line_starts_{0};
  std::vector<MatrixLine> lines_;
  MatrixLine line_;
  MatrixWord cell_;
  bool in_row_ = false;
  bool in_cell_ = false;
};

/// The part of a page from the table or text that has the first GPU to where that of the last ends.
std::string_view part_with_gpus(const std::string& html) {
  const std::string lower = lower_case(html);
  const std::size_t first = lower.find("gpu0");
  const std::size_t last = lower.rfind("gpu");
  if (first == std::string::npos) return html;
  std::size_t begin = 0;
  for (const char* opening : {"<table", "<pre"}) {
    const std::size_t at = lower.rfind(opening, first);
    if (at != std::string::npos) begin = std::max(begin, at);
  }
  std::size_t end = html.size();
  for (const char* closing : {"</table>", "</pre>"}) end = std::min(end, lower.find(closing, last));
  return std::string_view(html).substr(begin, end - begin);
}

std::vector<MatrixLine> html_lines(const TextFile& text) {
  const std::string_view part = part_with_gpus(text.content);
  const auto elements = static_cast<std::size_t>(std::count(part.begin(), part.end(), '<'));
  if (elements > element_limit) {
    throw InputError(SourcePosition{text.name, 1, 1},
                     fmt::format("HTML with {} times '<' from the first GPU to the last", elements),
                     fmt::format("the matrix alone, at most {} elements", element_limit));
  }
  const auto destroy = [](GumboOutput* output) {
    gumbo_destroy_output(&kGumboDefaultOptions, output);
  };
  const std::unique_ptr<GumboOutput, decltype(destroy)> output(
      gumbo_parse_with_options(&kGumboDefaultOptions, part.data(), part.size()), destroy);
  return HtmlReader(text.content).read(output->document);
}

}  // namespace

bool is_html(std::string_view text) {
  const std::string lower = lower_case(text);
  constexpr std::array<std::string_view, 9> signs{"<html", "<table", "<tr",   "<td",   "<th",
                                                  "<pre",  "<br",    "<span", "&nbsp;"};
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view sign) { return lower.find(sign) != std::string::npos; });
}

std::vector<MatrixLine> matrix_lines(const TextFile& text) {
  return is_html(text.content) ? html_lines(text) : plain_lines(text.content);
}

}  // namespace collsim
