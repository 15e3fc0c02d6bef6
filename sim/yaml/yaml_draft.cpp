#include "sim/yaml/yaml_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/number.h"
#include "sim/yaml/yaml_document.h"

namespace collsim {

namespace {

/// The first name of a dotted path, and the rest of it.
std::pair<std::string, std::string_view> first_step(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {std::string(path), {}};
  return {std::string(path.substr(0, dot)), path.substr(dot + 1)};
}

YamlNode node_at(const YamlValue& place, YamlKind kind) {
  const SourcePosition position = place.position();
  YamlNode node{kind, position.line, position.column};
  node.file = std::make_shared<const std::string>(position.file);
  return node;
}

}  // namespace

YamlDraft::YamlDraft(const YamlValue& original) : document_(std::make_shared<YamlDocument>()) {
  document_->file = original.position().file;
  copy(original);
}

YamlValue YamlDraft::value() const {
  return {std::make_shared<const YamlDocument>(*document_), 0};
}

void YamlDraft::set(const YamlValue& named, std::string_view path, const YamlValue& value) {
  set_below(0, named, path, value);
}

void YamlDraft::remove(std::string_view key) {
  std::vector<std::uint32_t>& children = document_->nodes.front().children;
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
    if (document_->nodes[children[i]].text != key) continue;
    const auto begin = children.begin() + static_cast<std::ptrdiff_t>(i);
    children.erase(begin, begin + 2);
    return;
  }
}

/// Copies the value with all that is in it to the end of the document.
std::uint32_t YamlDraft::copy(const YamlValue& value) {
  const YamlDocument& source = *value.document_;
  const auto id = static_cast<std::uint32_t>(document_->nodes.size());
  document_->nodes.push_back(source.nodes[value.node_]);
  YamlNode& top = document_->nodes.back();
  if (!top.file && source.file != document_->file) {
    top.file = std::make_shared<const std::string>(source.file);
  }
  const std::vector<std::uint32_t> children = std::exchange(top.children, {});
  for (const std::uint32_t child : children) {
    const std::uint32_t copied = copy(YamlValue(value.document_, child));
    document_->nodes[id].children.push_back(copied);
  }
  return id;
}

void YamlDraft::set_below(std::uint32_t node, const YamlValue& named, std::string_view path,
                          const YamlValue& value) {
  switch (document_->nodes[node].kind) {
    case YamlKind::sequence:
      return set_in_list(node, named, path, value);
    case YamlKind::nothing:
      document_->nodes[node] = node_at(named, YamlKind::mapping);
      [[fallthrough]];
    case YamlKind::mapping:
      return set_in_mapping(node, named, path, value);
    case YamlKind::scalar:
      named.fail(fmt::format("'{}' below the single value '{}'", path, document_->nodes[node].text),
                 "a field of a mapping, or an entry of a list by its number");
  }
}

void YamlDraft::set_in_list(std::uint32_t node, const YamlValue& named, std::string_view path,
                            const YamlValue& value) {
  const std::vector<std::uint32_t> children = document_->nodes[node].children;
  const auto [step, rest] = first_step(path);
  const auto index = parse_number<std::size_t>(step);
  if (!index) {
    if (children.empty()) {
      named.fail(fmt::format("'{}' in a list without entries", path), "a list with entries");
    }
    for (const std::uint32_t child : children) set_below(child, named, path, value);
    return;
  }
  if (*index >= children.size()) {
    named.fail(
        fmt::format("entry {} of a list of {}", *index, children.size()),
        children.empty() ? "a list with entries" : fmt::format("0 to {}", children.size() - 1));
  }
  if (!rest.empty()) return set_below(children[*index], named, rest, value);
  const std::uint32_t copied = copy(value);
  document_->nodes[node].children[*index] = copied;
}

void YamlDraft::set_in_mapping(std::uint32_t node, const YamlValue& named, std::string_view path,
                               const YamlValue& value) {
  const auto [step, rest] = first_step(path);
  const std::uint32_t place = entry(node, named, step);
  if (!rest.empty()) return set_below(document_->nodes[node].children[place], named, rest, value);
  const std::uint32_t copied = copy(value);
  document_->nodes[node].children[place] = copied;
}

/// Where among the children of the mapping the value of the key is; made where it is missing.
std::uint32_t YamlDraft::entry(std::uint32_t mapping, const YamlValue& named,
                               const std::string& key) {
  const std::vector<std::uint32_t>& children = document_->nodes[mapping].children;
  for (std::uint32_t i = 0; i < children.size(); i += 2) {
    if (document_->nodes[children[i]].text == key) return i + 1;
  }
  YamlNode name = node_at(named, YamlKind::scalar);
  name.text = key;
  const auto id = static_cast<std::uint32_t>(document_->nodes.size());
  document_->nodes.push_back(std::move(name));
  document_->nodes.push_back(node_at(named, YamlKind::nothing));
  std::vector<std::uint32_t>& grown = document_->nodes[mapping].children;
  grown.insert(grown.end(), {id, id + 1});
  return static_cast<std::uint32_t>(grown.size() - 1);
}

YamlValue scalar_at(const YamlValue& place, std::string text) {
  const auto document = std::make_shared<YamlDocument>();
  document->file = place.position().file;
  document->nodes.push_back(node_at(place, YamlKind::scalar));
  document->nodes.back().text = std::move(text);
  return {document, 0};
}

YamlValue nothing_at(const YamlValue& place) {
  const auto document = std::make_shared<YamlDocument>();
  document->file = place.position().file;
  document->nodes.push_back(node_at(place, YamlKind::nothing));
  return {document, 0};
}

}  // namespace collsim
