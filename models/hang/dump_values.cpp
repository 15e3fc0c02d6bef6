#include "models/hang/dump_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace collsim {

namespace {

/// More than any dump of a ring buffer of 20,000 calls has; they take about 1 GiB.
constexpr std::size_t max_values = std::size_t{16} << 20U;

}  // namespace

DumpValues::Index DumpValues::add(DumpKind kind, std::size_t offset) {
  if (nodes_.size() == max_values) {
    fail_at(offset, fmt::format("more than {} values", max_values), "a dump of fewer calls");
  }
  Node node{};
  node.kind = kind;
  node.offset = offset;
  if (kind == DumpKind::list || kind == DumpKind::dictionary) {
    node.list = static_cast<std::uint32_t>(lists_.size());
    lists_.emplace_back();
  }
  nodes_.push_back(node);
  return static_cast<Index>(nodes_.size() - 1);
}

DumpValues::Index DumpValues::add_integer(std::int64_t number, std::size_t offset) {
  const Index value = add(DumpKind::integer, offset);
  nodes_[value].integer = number;
  return value;
}

DumpValues::Index DumpValues::add_real(double number, std::size_t offset) {
  const Index value = add(DumpKind::real, offset);
  nodes_[value].real = number;
  return value;
}

DumpValues::Index DumpValues::add_boolean(bool truth, std::size_t offset) {
  const Index value = add(DumpKind::boolean, offset);
  nodes_[value].integer = truth ? 1 : 0;
  return value;
}

DumpValues::Index DumpValues::add_text(std::string_view text, std::size_t offset) {
  const Index value = add(DumpKind::text, offset);
  nodes_[value].text = text;
  return value;
}

DumpValues::Index DumpValues::add_own_text(std::string text, std::size_t offset) {
  return add_text(own_texts_.emplace_back(std::move(text)), offset);
}

void DumpValues::append(Index container, Index value) {
  lists_[nodes_[container].list].push_back(value);
}

DumpValues::Index DumpValues::find(Index dictionary, std::string_view key) const {
  Index found = no_value;
  if (kind(dictionary) != DumpKind::dictionary) return found;
  const std::vector<Index>& pairs = parts(dictionary);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const Node& node = nodes_[pairs[i]];
    if (node.kind == DumpKind::text && node.text == key) found = pairs[i + 1];
  }
  return found;
}

void DumpValues::fail(Index value, const std::string& wrong, const std::string& accepted) const {
  fail_at(nodes_[value].offset, wrong, accepted);
}

void DumpValues::fail_at(std::size_t offset, const std::string& wrong,
                         const std::string& accepted) const {
  if (is_binary_) {
    throw InputError(SourcePosition{file_, 0, 0}, fmt::format("byte {}: {}", offset, wrong),
                     accepted);
  }
  const std::string_view before = content_.substr(0, std::min(offset, content_.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const auto line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw InputError(SourcePosition{file_, static_cast<int>(lines) + 1,
                                  static_cast<int>(before.size() - line_begin) + 1},
                   wrong, accepted);
}

}  // namespace collsim
