#include "sim/topologies/name_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sim/base/number.h"

namespace collsim {

namespace {

constexpr std::size_t name_limit = std::size_t{1} << 20;
constexpr std::uint32_t number_limit = 999'999;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

std::optional<std::uint32_t> parse_index(std::string_view text) {
  const auto number = parse_number<std::uint32_t>(text);
  return number <= number_limit ? number : std::nullopt;
}

/// Of "0..7".
Range parse_range(const YamlValue& where, std::string_view text) {
  const auto dots = text.find("..");
  const auto first = parse_index(text.substr(0, dots));
  const auto last =
      dots == std::string_view::npos ? std::nullopt : parse_index(text.substr(dots + 2));
  if (!first || !last) {
    where.fail(fmt::format("'[{}]' is not a range", text),
               fmt::format("a range is like [0..7], numbers up to {}", number_limit));
  }
  if (*last < *first) {
    where.fail(fmt::format("range [{}] runs backwards", text), "a range is like [0..7]");
  }
  return {*first, *last};
}

void append_to_all(std::vector<std::string>& names, std::string_view text) {
  for (std::string& name : names) name += text;
}

}  // namespace

bool is_plain_name(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         std::all_of(text.begin(), text.end(), is_name_character);
}

std::vector<std::string> expand_names(const YamlValue& where, std::string_view pattern) {
  if (pattern.empty()) where.fail("a name is empty", "a name is like gpu0 or gpu[0..7]");
  std::vector<std::string> names{""};
  while (!pattern.empty()) {
    const auto open = std::min(pattern.find('['), pattern.size());
    const std::string_view text = pattern.substr(0, open);
    for (const char c : text) {
      if (!is_name_character(c) && c != '/') {
        where.fail(fmt::format("'{}' is not a name", pattern),
                   "names have letters, digits, _ - . and ranges like [0..7]");
      }
    }
    append_to_all(names, text);
    if (open == pattern.size()) break;

    const auto close = pattern.find(']', open);
    if (close == std::string_view::npos) {
      where.fail(fmt::format("'{}' has no ]", pattern), "a range is like [0..7]");
    }
    const Range range = parse_range(where, pattern.substr(open + 1, close - open - 1));
    const std::size_t width = range.last - range.first + 1;
    if (names.size() * width > name_limit) {
      where.fail("the ranges give more than 1048576 names", "smaller ranges");
    }
    std::vector<std::string> longer;
    longer.reserve(names.size() * width);
    for (const std::string& name : names) {
      for (std::uint32_t i = range.first; i <= range.last; ++i) {
        longer.push_back(fmt::format("{}{}", name, i));
      }
    }
    names = std::move(longer);
    pattern.remove_prefix(close + 1);
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> pair_names(const YamlValue& where,
                                                            const std::vector<std::string>& from,
                                                            const std::vector<std::string>& to) {
  if (from.size() != to.size() && from.size() != 1 && to.size() != 1) {
    where.fail(fmt::format("this link has {} devices on one side and {} on the other", from.size(),
                           to.size()),
               "give equally many on both sides, or one on one side");
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
    pairs.emplace_back(from[from.size() == 1 ? 0 : i], to[to.size() == 1 ? 0 : i]);
  }
  return pairs;
}

}  // namespace collsim
