#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.h"

namespace collsim {

/// What a value of a dump is. Tuples count as lists, and bytes as text.
enum class DumpKind : std::uint8_t { none, boolean, integer, real, text, list, dictionary };

/// The values of one dump, whatever its format. A value is known by its number, so that a value
/// that is meant a thousand times (pickle's memo) is stored once, and a loop of values does no
/// harm.
class DumpValues {
 public:
  using Index = std::uint32_t;
  static constexpr Index no_value = std::numeric_limits<Index>::max();

  /// `content` is what the dump's file holds. It must outlive the values, whose texts are parts of
  /// it.
  DumpValues(std::string file, std::string_view content, bool is_binary)
      : file_(std::move(file)), content_(content), is_binary_(is_binary) {}

  Index add(DumpKind kind, std::size_t offset);
  Index add_integer(std::int64_t number, std::size_t offset);
  Index add_real(double number, std::size_t offset);
  Index add_boolean(bool truth, std::size_t offset);
  /// A text that is part of the content.
  Index add_text(std::string_view text, std::size_t offset);
  /// A text that is not: the values keep it.
  Index add_own_text(std::string text, std::size_t offset);
  /// Puts a value at the end of a list, or a key or its value at the end of a dictionary.
  void append(Index container, Index value);

  void set_root(Index root) { root_ = root; }
  Index root() const { return root_; }
  DumpKind kind(Index value) const { return nodes_[value].kind; }
  std::int64_t integer(Index value) const { return nodes_[value].integer; }
  double real(Index value) const { return nodes_[value].real; }
  std::string_view text(Index value) const { return nodes_[value].text; }
  /// A list's values; of a dictionary, key, value, key, value, ...
  const std::vector<Index>& parts(Index container) const { return lists_[nodes_[container].list]; }
  /// The value of a key in a dictionary, the last one if several have it, or no_value.
  Index find(Index dictionary, std::string_view key) const;

  /// Throws InputError at a value: line and column of a text, the byte of a pickle.
  [[noreturn]] void fail(Index value, const std::string& wrong, const std::string& accepted) const;
  [[noreturn]] void fail_at(std::size_t offset, const std::string& wrong,
                            const std::string& accepted) const;

 private:
  struct Node {
    DumpKind kind = DumpKind::none;
    std::uint32_t list = 0;
    std::size_t offset = 0;
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text;
  };

  std::string file_;
  std::string_view content_;
  bool is_binary_;
  Index root_ = no_value;
  std::vector<Node> nodes_;
  std::vector<std::vector<Index>> lists_;
  std::deque<std::string> own_texts_;
};

}  // namespace collsim
