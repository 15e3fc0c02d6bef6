#include "tools/collsim/calibrate/row_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "models/recordings/readers.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

/// "4", "64M" (powers of 1024), "4 MiB".
std::optional<std::int64_t> number(std::string_view text) {
  std::string_view suffix = text;
  const std::int64_t value = take_number<std::int64_t>(suffix).value_or(-1);
  if (value < 0) return std::nullopt;
  if (suffix.empty()) return value;
  constexpr std::string_view suffixes = "KMGT";
  if (const auto power = suffixes.find(suffix);
      power != std::string_view::npos && suffix.size() == 1) {
    const auto shift = static_cast<int>(10 * (power + 1));
    if (value <= (std::numeric_limits<std::int64_t>::max() >> shift)) return value << shift;
    return std::nullopt;
  }
  try {
    return parse_bytes(text).count;
  } catch (const QuantityError&) {
    return std::nullopt;
  }
}

}  // namespace

RowPattern::RowPattern(std::string_view text) {
  for (const std::string& part : split(text, '&')) conditions_.push_back(condition(part));
  if (conditions_.empty()) condition(text);
}

RowPattern::Condition RowPattern::condition(std::string_view text) {
  const auto fail = [whole = std::string(text)] {
    throw InputError(fmt::format("rows '{}'", whole), std::string(accepted_row_patterns));
  };
  Condition condition;
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view key = text.substr(0, equals);
    if (key == "collective") {
      condition.key = Key::collective;
    } else if (key == "ranks") {
      condition.key = Key::ranks;
    } else if (key == "size") {
      condition.key = Key::size;
    } else if (key != "id") {
      fail();
    }
    text.remove_prefix(equals + 1);
  }
  if (text.empty()) fail();
  condition.pattern = text;
  if (condition.key == Key::id || condition.key == Key::collective) return condition;
  const std::size_t dots = text.find("..");
  const std::string_view low = text.substr(0, dots);
  const std::string_view high = dots == std::string_view::npos ? low : text.substr(dots + 2);
  const auto least = low.empty() ? 0 : number(low);
  const auto most = high.empty() ? std::numeric_limits<std::int64_t>::max() : number(high);
  if (!least || !most || *most < *least) fail();
  condition.min = *least;
  condition.max = *most;
  return condition;
}

bool RowPattern::Condition::holds(const RecordedRow& row) const {
  switch (key) {
    case Key::id:
      return collsim::matches(pattern, row.id);
    case Key::collective:
      return collsim::matches(
          pattern, row.collective ? std::string(to_string(*row.collective)) : row.collective_name);
    case Key::ranks:
      return row.ranks >= min && row.ranks <= max;
    case Key::size:
      return row.size.count >= min && row.size.count <= max;
  }
  return false;
}

bool RowPattern::matches(const RecordedRow& row) const {
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return condition.holds(row); });
}

bool any_matches(const std::vector<RowPattern>& patterns, const RecordedRow& row) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const RowPattern& pattern) { return pattern.matches(row); });
}

}  // namespace collsim
