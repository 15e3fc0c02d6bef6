#include "tools/collsim/hang/dump_values.h"

#include <fmt/format.h>

#include "sim/base/lines.h"

namespace collsim {

namespace {

/// More than any dump of a ring buffer of 20,000 calls has; they take 400 MiB.
constexpr std::size_t max_values = std::size_t{16} << 20U;
/// A call has about 20 keys. Beyond some more, a table of them is quicker than to walk them.
constexpr std::size_t many_links = 128;

}  // namespace

DumpValues::Index DumpValues::add(DumpKind kind, std::size_t offset, std::uint64_t bits) {
  if (nodes_.size() == max_values) {
    fail_at(offset, fmt::format("more than {} values", max_values), "a dump of fewer calls");
  }
  nodes_.push_back({kind, static_cast<std::uint32_t>(offset), bits});
  return static_cast<Index>(nodes_.size() - 1);
}

DumpValues::Index DumpValues::add_text(std::string_view text, std::size_t offset) {
  const auto place = static_cast<std::uint64_t>(text.data() - content_.data());
  return add(DumpKind::text, offset, halves(place, text.size()));
}

DumpValues::Index DumpValues::add_own_text(std::string_view text, std::size_t offset) {
  const std::uint64_t place = content_.size() + own_texts_.size();
  own_texts_ += text;
  return add(DumpKind::text, offset, halves(place, text.size()));
}

std::string_view DumpValues::text(Index value) const {
  const std::size_t place = first_of(nodes_[value]);
  const std::size_t length = second_of(nodes_[value]);
  if (place < content_.size()) return content_.substr(place, length);
  return std::string_view(own_texts_).substr(place - content_.size(), length);
}

void DumpValues::append(Index container, Index value) {
  const auto link = static_cast<Index>(links_.size());
  links_.push_back({value, no_value});
  Node& node = nodes_[container];
  if (node.bits == empty) {
    node.bits = halves(link, link);
  } else {
    links_[second_of(node)].next = link;
    node.bits = halves(first_of(node), link);
  }
}

std::vector<DumpValues::Index> DumpValues::parts(Index container) const {
  std::vector<Index> parts;
  for (Index at = first_of(nodes_[container]); at != no_value; at = links_[at].next) {
    parts.push_back(links_[at].value);
  }
  return parts;
}

template <typename Function>
void DumpValues::each_key(Index dictionary, const Function& function) const {
  for (Index at = first_of(nodes_[dictionary]); at != no_value;) {
    const Link& key = links_[at];
    if (key.next == no_value) return;
    const Link& value = links_[key.next];
    if (kind(key.value) == DumpKind::text) function(text(key.value), value.value);
    at = value.next;
  }
}

const DumpValues::Keys& DumpValues::keys_of(Index dictionary) const {
  const auto [found, is_new] = keys_.try_emplace(dictionary);
  Keys& keys = found->second;
  if (is_new) {
    each_key(dictionary, [&](std::string_view key, Index value) { keys[key] = value; });
  }
  return keys;
}

DumpValues::Index DumpValues::find(Index dictionary, std::string_view key) const {
  Index found = no_value;
  const Node& node = nodes_[dictionary];
  if (node.kind != DumpKind::dictionary || node.bits == empty) return found;
  if (second_of(node) - first_of(node) < many_links) {
    each_key(dictionary, [&](std::string_view each, Index value) {
      if (each == key) found = value;
    });
    return found;
  }
  const Keys& keys = keys_of(dictionary);
  const auto place = keys.find(key);
  return place == keys.end() ? found : place->second;
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
  throw InputError(position_at(file_, content_, offset), wrong, accepted);
}

}  // namespace collsim
