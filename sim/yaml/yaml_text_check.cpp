#include "sim/yaml/yaml_text_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/clean_text.h"
#include "sim/base/lines.h"

namespace collsim {

namespace {

class TextCheck {
 public:
  TextCheck(const std::string& file, std::string_view text, bool inside_braces)
      : file_(file), text_(text), depth_outside_(inside_braces ? 1 : 0) {}

  void run() {
    check_characters();
    if (text_.starts_with("\xEF\xBB\xBF")) place_ = 3;  // byte order mark
    while (place_ < text_.size()) take_token();
    if (!open_.empty()) fail_unclosed(open_.back(), "the text ends");
  }

 private:
  [[noreturn]] void fail(std::size_t place, const std::string& wrong,
                         const std::string& accepted) const {
    throw InputError(position_at(file_, text_, place), wrong, accepted);
  }

  /// `before`: what comes after the place where it should have been closed.
  [[noreturn]] void fail_unclosed(std::size_t place, const std::string& before) const {
    fail(place, fmt::format("'{}' is opened here and not closed", text_[place]),
         fmt::format("a '{}' before {}", closing(text_[place]), before));
  }

  static char closing(char opening) { return opening == '[' ? ']' : '}'; }

  /// Inside a collection that is written in brackets or braces.
  bool is_inside() const { return !open_.empty() || depth_outside_ > 0; }

  void check_characters() const {
    bool indenting = true;
    for (std::size_t place = 0; place < text_.size();) {
      const char c = text_[place];
      if (c == '\n') {
        indenting = true;
      } else if (c == '\t' && indenting) {
        fail(place, "a tab in the indentation", "indent with spaces");
      } else if (c != ' ') {
        indenting = false;
      }
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F) {
        fail(place, fmt::format("a control character (byte 0x{:02x})", byte),
             "files are plain UTF-8 text");
      }
      place += character_length(place);
    }
  }

  /// Bytes of the UTF-8 sequence at `place`.
  std::size_t character_length(std::size_t place) const {
    const TextUnit unit = unit_at(text_, place);
    if (unit.kind == TextUnit::Kind::invalid || unit.kind == TextUnit::Kind::unfinished) {
      const auto byte = static_cast<unsigned char>(text_[place]);
      fail(place, fmt::format("byte 0x{:02x} is not UTF-8", byte), "files are plain UTF-8 text");
    }
    if (unit.kind == TextUnit::Kind::control && unit.length > 1) {
      fail(place, fmt::format("a control character (U+{:04X})", std::uint32_t{unit.code_point}),
           "files are plain UTF-8 text");
    }
    return unit.length;
  }

  bool is_blank(std::size_t place) const {
    return place >= text_.size() || text_[place] == ' ' || text_[place] == '\n' ||
           text_[place] == '\t' || text_[place] == '\r';
  }

  /// A colon, before a blank or, inside brackets or braces, before one of them or after quotes.
  bool ends_key(std::size_t place) const {
    if (text_[place] != ':') return false;
    if (is_inside() && place > 0 && text_[place - 1] == '"') return true;
    return is_blank(place + 1) || (is_inside() && std::string_view(",[]{}").find(
                                                      text_[place + 1]) != std::string_view::npos);
  }

  void take_token() {
    const char c = text_[place_];
    const bool indicator =
        c == ',' || ends_key(place_) || ((c == '-' || c == '?') && is_blank(place_ + 1));
    if (is_blank(place_) || indicator) {
      ++place_;
    } else if (c == '#') {
      skip_line();
    } else if (c == '"' || c == '\'') {
      skip_quoted(c);
    } else if (c == '[' || c == '{') {
      if (open_.size() + depth_outside_ >= static_cast<std::size_t>(yaml_depth_limit)) {
        fail(place_, fmt::format("nested deeper than {} levels", yaml_depth_limit),
             "files are a few levels deep");
      }
      open_.push_back(place_++);
    } else if (c == ']' || c == '}') {
      close(c);
    } else {
      reject_unwanted(c);
      skip_plain();
    }
  }

  void close(char c) {
    if (open_.empty()) {
      fail(place_, fmt::format("'{}' closes a bracket that was not opened", c),
           "remove it, or open one before it");
    }
    if (closing(text_[open_.back()]) != c) {
      const SourcePosition here = position_at(file_, text_, place_);
      fail_unclosed(open_.back(),
                    fmt::format("the '{}' in line {}, column {}", c, here.line, here.column));
    }
    open_.pop_back();
    ++place_;
  }

  void reject_unwanted(char c) const {
    if (c == '&' || c == '*') {
      fail(place_, "YAML's anchors and aliases (& and *) are not supported",
           "write the value out, or put it in quotes");
    }
    if (c == '!')
      fail(place_, "YAML's tags (!) are not supported",
           "remove the tag, or put the text in quotes");
    if (c == '|' || c == '>') {
      fail(place_, "YAML's block scalars (| and >) are not supported",
           "write the text on one line, in quotes if need be");
    }
    const bool at_line_start = place_ == 0 || text_[place_ - 1] == '\n';
    if (c == '%' && at_line_start)
      fail(place_, "YAML's directives (%) are not supported", "remove the line");
  }

  void skip_line() { place_ = std::min(text_.find('\n', place_), text_.size()); }

  void skip_quoted(char quote) {
    const std::size_t begin = place_;
    for (++place_; place_ < text_.size(); ++place_) {
      if (text_[place_] == '\\' && quote == '"') {
        ++place_;
      } else if (text_[place_] == quote) {
        ++place_;
        return;
      }
    }
    fail(begin, "a text in quotes is not closed", fmt::format("a {} at its end", quote));
  }

  /// A plain scalar ends at the line's end, at ": ", at " #", and inside [] or {} at any of ,[]{}.
  void skip_plain() {
    const std::size_t begin = place_;
    for (; place_ < text_.size() && text_[place_] != '\n'; ++place_) {
      if (ends_key(place_)) return;
      if (text_[place_] == '#' && is_blank(place_ - 1)) return;
      if (!is_inside()) continue;
      if (text_[place_] == '[' || text_[place_] == '{') fail_unquoted(begin);
      if (std::string_view(",]}").find(text_[place_]) != std::string_view::npos) return;
    }
  }

  /// YAML takes the bracket in gpu[0..3] for the beginning of a list, once it is inside braces.
  [[noreturn]] void fail_unquoted(std::size_t begin) const {
    const std::size_t end = std::min(text_.find_first_of(",}\n", place_), text_.size());
    const std::string_view name = text_.substr(begin, end - begin);
    const auto last = name.find_last_not_of(" \t\r");
    const std::string_view bare = name.substr(0, last + 1);
    fail(begin, fmt::format("'{}' without quotes inside braces or brackets", bare),
         fmt::format("\"{}\"", bare));
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t place_ = 0;
  std::size_t depth_outside_;
  std::vector<std::size_t> open_;  // places of [ and { that are not closed yet
};

}  // namespace

void check_yaml_text(const std::string& file, std::string_view text, bool inside_braces) {
  TextCheck(file, text, inside_braces).run();
}

}  // namespace collsim
