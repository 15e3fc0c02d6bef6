#include "models/imports/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/clean_text.h"
#include "sim/base/input_error.h"
#include "sim/base/lines.h"
#include "sim/base/number.h"
#include "sim/topologies/loader.h"

namespace collsim {

namespace {

constexpr std::string_view node_word = "node";
constexpr std::string_view separators = ", \t\r\n";

/// Reads lists into the numbers of nodes.
class NodeListReader {
 public:
  /// `begin` is what messages start with where there is no file.
  explicit NodeListReader(std::string begin) : begin_(std::move(begin)) {}

  void read(std::string_view text, const SourcePosition& start);
  std::vector<std::uint32_t> take(const SourcePosition& start);

 private:
  [[noreturn]] void fail(const std::string& wrong, const SourcePosition& at) const;
  void add_item(std::string_view item, const SourcePosition& at);
  void add_range(std::string_view range, std::string_view item, const SourcePosition& at);

  std::string begin_;
  std::vector<std::uint32_t> nodes_;
  std::set<std::uint32_t> seen_;
};

void NodeListReader::fail(const std::string& wrong, const SourcePosition& at) const {
  const std::string accepted =
      "names of the machine's nodes such as node0,node4 or node[0,4,8-11], each once";
  if (at.file.empty()) throw InputError(begin_ + wrong, accepted);
  throw InputError(at, wrong, accepted);
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  const auto number = parse_number<std::uint32_t>(text);
  return number < gpu_limit ? number : std::nullopt;
}

/// "8", or "8-11" where `item` has brackets.
void NodeListReader::add_range(std::string_view range, std::string_view item,
                               const SourcePosition& at) {
  const std::size_t dash = range.find('-');
  const auto first = number_of(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number_of(range.substr(dash + 1));
  if (!first || !last) fail(fmt::format("'{}' names no node", clean_text(item)), at);
  if (*last < *first) fail(fmt::format("the range {} of '{}' falls", range, item), at);
  for (std::uint32_t node = *first; node <= *last; ++node) {
    if (!seen_.insert(node).second) fail(fmt::format("node{} occurs twice", node), at);
    nodes_.push_back(node);
  }
}

void NodeListReader::add_item(std::string_view item, const SourcePosition& at) {
  if (!item.starts_with(node_word)) fail(fmt::format("'{}' names no node", clean_text(item)), at);
  std::string_view rest = item.substr(node_word.size());
  if (!rest.starts_with('[')) {
    if (rest.find('-') != std::string_view::npos) {
      fail(fmt::format("'{}' names no node", clean_text(item)), at);
    }
    return add_range(rest, item, at);
  }
  if (!rest.ends_with(']')) fail(fmt::format("'{}' has no end", clean_text(item)), at);
  rest = rest.substr(1, rest.size() - 2);
  while (true) {
    const std::string_view range = rest.substr(0, rest.find(','));
    add_range(range, item, at);
    if (range.size() == rest.size()) break;
    rest.remove_prefix(range.size() + 1);
  }
}

/// The items of one line, which commas outside of brackets and blanks divide.
void NodeListReader::read(std::string_view text, const SourcePosition& start) {
  std::size_t place = 0;
  while (true) {
    place = text.find_first_not_of(separators, place);
    if (place == std::string_view::npos) return;
    std::size_t end = text.find_first_of(separators, place);
    const std::size_t bracket = text.find('[', place);
    if (bracket < end) {
      const std::size_t closing = text.find(']', bracket);
      end = closing == std::string_view::npos ? closing : text.find_first_of(separators, closing);
    }
    SourcePosition at = start;
    at.column += static_cast<int>(place);
    add_item(text.substr(place, end - place), at);
    if (end == std::string_view::npos) return;
    place = end;
  }
}

std::vector<std::uint32_t> NodeListReader::take(const SourcePosition& start) {
  if (nodes_.empty()) fail("no node", start);
  return std::move(nodes_);
}

}  // namespace

std::vector<std::uint32_t> parse_node_list(std::string_view option, std::string_view text) {
  NodeListReader reader(fmt::format("--{}: ", option));
  reader.read(text, {});
  return reader.take({});
}

std::vector<std::uint32_t> read_node_list(const TextFile& file) {
  NodeListReader reader({});
  int number = 0;
  for (const std::string_view line : split_lines(file.content)) {
    reader.read(line.substr(0, line.find('#')), {file.name, ++number, 1});
  }
  return reader.take({file.name, 1, 1});
}

}  // namespace collsim
