#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
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

  /// A list, a dictionary or None.
  Index add(DumpKind kind, std::size_t offset) { return add(kind, offset, empty); }
  Index add_integer(std::int64_t number, std::size_t offset) {
    return add(DumpKind::integer, offset, static_cast<std::uint64_t>(number));
  }
  Index add_real(double number, std::size_t offset) {
    return add(DumpKind::real, offset, std::bit_cast<std::uint64_t>(number));
  }
  Index add_boolean(bool truth, std::size_t offset) {
    return add(DumpKind::boolean, offset, truth ? 1 : 0);
  }
  /// A text that is part of the content.
  Index add_text(std::string_view text, std::size_t offset);
  /// A text that is not: the values keep it.
  Index add_own_text(std::string_view text, std::size_t offset);
  /// Puts a value at the end of a list, or a key or its value at the end of a dictionary.
  void append(Index container, Index value);

  void set_root(Index root) { root_ = root; }
  Index root() const { return root_; }
  DumpKind kind(Index value) const { return nodes_[value].kind; }
  std::int64_t integer(Index value) const { return static_cast<std::int64_t>(nodes_[value].bits); }
  double real(Index value) const { return std::bit_cast<double>(nodes_[value].bits); }
  std::string_view text(Index value) const;
  /// A list's values; of a dictionary, key, value, key, value, ...
  std::vector<Index> parts(Index container) const;
  /// The value of a key in a dictionary, the last one if several have it, or no_value. Where a
  /// dictionary is large, its keys are sorted out once, so that a look-up does not walk them all.
  Index find(Index dictionary, std::string_view key) const;

  /// Throws InputError at a value: line and column of a text, the byte of a pickle.
  [[noreturn]] void fail(Index value, const std::string& wrong, const std::string& accepted) const;
  [[noreturn]] void fail_at(std::size_t offset, const std::string& wrong,
                            const std::string& accepted) const;

 private:
  /// 16 bytes, since a pickle has up to one for each of its own. `bits` are a number, the place and
  /// length of a text, or the first and last link of a container, as two halves.
  struct Node {
    DumpKind kind = DumpKind::none;
    std::uint32_t offset = 0;
    std::uint64_t bits = 0;
  };
  /// A part of a container, and the link of the next one.
  struct Link {
    Index value = no_value;
    Index next = no_value;
  };
  using Keys = std::unordered_map<std::string_view, Index>;
  static constexpr std::uint64_t empty = ~std::uint64_t{0};  ///< two times no_value

  Index add(DumpKind kind, std::size_t offset, std::uint64_t bits);
  static Index first_of(const Node& node) { return static_cast<Index>(node.bits >> 32U); }
  static Index second_of(const Node& node) { return static_cast<Index>(node.bits); }
  static std::uint64_t halves(std::uint64_t first, std::uint64_t second) {
    return first << 32U | second;
  }
  /// Shows all keys of a dictionary with their values to a function.
  template <typename Function>
  void each_key(Index dictionary, const Function& function) const;
  const Keys& keys_of(Index dictionary) const;

  std::string file_;
  std::string_view content_;
  bool is_binary_;
  Index root_ = no_value;
  std::deque<Node> nodes_;  // vectors would hold all twice where they grow
  std::deque<Link> links_;
  std::string own_texts_;
  mutable std::unordered_map<Index, Keys> keys_;  ///< of large dictionaries
};

}  // namespace collsim
