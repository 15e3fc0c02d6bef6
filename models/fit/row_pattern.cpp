#include "models/fit/row_pattern.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "models/recordings/readers.h"
#include "sim/base/input_error.h"
#include "sim/base/name_pattern.h"

namespace collsim {

namespace {

constexpr std::string_view accepted =
    "id=forced/4/*, collective=broadcast, ranks=3, ranks=4..8, size=64M.., size=..4K";

/// "4", "64M" (powers of 1024), "4 MiB".
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc{} || value < 0) return std::nullopt;
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

RowPattern::RowPattern(std::string_view text) : text_(text) {
  const auto fail = [&] {
    throw InputError(fmt::format("rows '{}'", text), std::string(accepted));
  };
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view key = text.substr(0, equals);
    if (key == "collective") {
      key_ = Key::collective;
    } else if (key == "ranks") {
      key_ = Key::ranks;
    } else if (key == "size") {
      key_ = Key::size;
    } else if (key != "id") {
      fail();
    }
    text.remove_prefix(equals + 1);
  }
  if (text.empty()) fail();
  pattern_ = text;
  if (key_ == Key::id || key_ == Key::collective) return;
  const std::size_t dots = text.find("..");
  const std::string_view low = text.substr(0, dots);
  const std::string_view high = dots == std::string_view::npos ? low : text.substr(dots + 2);
  const auto least = low.empty() ? 0 : number(low);
  const auto most = high.empty() ? std::numeric_limits<std::int64_t>::max() : number(high);
  if (!least || !most || *most < *least) fail();
  least_ = *least;
  most_ = *most;
}

bool RowPattern::matches(const RecordedRow& row) const {
  switch (key_) {
    case Key::id:
      return collsim::matches(pattern_, row.id);
    case Key::collective:
      return collsim::matches(pattern_, row.collective ? to_string(*row.collective)
                                                       : std::string_view(row.collective_name));
    case Key::ranks:
      return row.ranks >= least_ && row.ranks <= most_;
    case Key::size:
      return row.size.count >= least_ && row.size.count <= most_;
  }
  return false;
}

}  // namespace collsim
