#include "tools/collsim/sweep/sweep_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "sim/base/number.h"
#include "sim/base/units.h"
#include "sim/yaml/yaml_draft.h"

namespace collsim {

namespace {

constexpr std::int64_t max_points = 1'000'000;

enum class AmountKind : std::uint8_t { whole, number, percent, bytes, time, rate };

struct Amount {
  AmountKind kind = AmountKind::number;
  double value = 0;  ///< percents as they are written
};

std::optional<Amount> plain_number(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  if (percent) return Amount{AmountKind::percent, *value};
  const bool whole = text.find_first_of(".eE") == std::string_view::npos;
  return Amount{whole ? AmountKind::whole : AmountKind::number, *value};
}

std::optional<Amount> parse_amount(std::string_view text) {
  if (const auto number = plain_number(text)) return number;
  try {
    return Amount{AmountKind::bytes, static_cast<double>(parse_bytes(text).count)};
  } catch (const QuantityError&) {  // of another kind
  }
  try {
    return Amount{AmountKind::time, parse_time(text).value};
  } catch (const QuantityError&) {  // of another kind
  }
  try {
    return Amount{AmountKind::rate, parse_rate(text).value};
  } catch (const QuantityError&) {
    return std::nullopt;
  }
}

/// As a person writes it, if that is exactly this value; else in the base unit.
template <typename Quantity>
std::string exact_text(Quantity quantity, Quantity (*parse)(std::string_view), std::string plain) {
  std::string text = to_string(quantity);
  try {
    if (parse(text) == quantity) return text;
  } catch (const QuantityError&) {  // rounded to a part of a byte
  }
  return plain;
}

std::string text_of(AmountKind kind, double value) {
  switch (kind) {
    case AmountKind::whole:
      return fmt::format("{:.0f}", value);
    case AmountKind::number:
      return fmt::format("{:.12g}", value);
    case AmountKind::percent:
      return fmt::format("{:.12g}%", value);
    case AmountKind::bytes:
      return exact_text(Bytes{static_cast<std::int64_t>(std::llround(value))}, parse_bytes,
                        fmt::format("{:.0f} B", value));
    case AmountKind::time:
      return exact_text(Seconds{value}, parse_time, fmt::format("{:.12g} s", value));
    case AmountKind::rate:
      return exact_text(BytesPerSecond{value}, parse_rate, fmt::format("{:.12g} B/s", value));
  }
  return {};
}

Amount read_amount(const YamlValue& value) {
  if (const auto amount = parse_amount(value.string())) return *amount;
  value.fail(fmt::format("'{}' is no end of a range", value.string()),
             "a number, a percentage or a quantity with its unit; other values as a list [a, b]");
}

double read_positive(const YamlValue& value, const std::string& accepted) {
  const auto amount = parse_amount(value.string());
  if (!amount || amount->value <= 0) value.fail(fmt::format("'{}'", value.string()), accepted);
  return amount->value;
}

std::vector<double> geometric(const YamlValue& range, double from, double to,
                              const YamlValue& said) {
  const double factor = read_positive(said, "a factor above 1");
  if (factor <= 1) said.fail(fmt::format("factor {}", factor), "a factor above 1");
  if (from <= 0) range.fail("a factor does not lead on from 0", "'from' above 0, or 'step'");
  std::vector<double> values;
  // Powers, so that rounding does not add up; the end may be missed by that much.
  for (std::int64_t i = 0; i < max_points; ++i) {
    const double value = from * std::pow(factor, static_cast<double>(i));
    if (value > to * (1 + 1e-9)) break;
    values.push_back(value);
  }
  return values;
}

std::vector<double> arithmetic(double from, double to, AmountKind kind, const YamlValue& said) {
  const double step = read_positive(said, "a step above 0");
  if (parse_amount(said.string())->kind != kind && kind != AmountKind::number) {
    said.fail(fmt::format("step '{}'", said.string()), "a step in the unit of the ends");
  }
  if ((to - from) / step >= static_cast<double>(max_points)) {
    said.fail(fmt::format("step '{}'", said.string()),
              fmt::format("one that gives at most {} values", max_points));
  }
  std::vector<double> values;
  const auto steps = static_cast<std::int64_t>(std::floor((to - from) / step * (1 + 1e-12)));
  for (std::int64_t i = 0; i <= steps; ++i) {
    values.push_back(from + step * static_cast<double>(i));
  }
  return values;
}

std::vector<double> equal_ratios(const YamlValue& range, double from, double to,
                                 const YamlValue& said) {
  const std::int64_t points = said.integer(2, max_points);
  if (from <= 0) range.fail("equal ratios do not lead on from 0", "'from' above 0, or 'step'");
  std::vector<double> values;
  for (std::int64_t i = 0; i < points; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(points - 1);
    values.push_back(i + 1 == points ? to : from * std::pow(to / from, part));
  }
  return values;
}

std::vector<double> amounts_in(const YamlValue& range, const YamlMapping& keys, const Amount& from,
                               const Amount& to) {
  const auto factor = keys.find("factor");
  const auto step = keys.find("step");
  const auto points = keys.find("points");
  if (static_cast<int>(factor.has_value()) + static_cast<int>(step.has_value()) +
          static_cast<int>(points.has_value()) !=
      1) {
    range.fail("this range says in no way or in several how to go on",
               "one of factor, step and points");
  }
  if (factor) return geometric(range, from.value, to.value, *factor);
  if (step) return arithmetic(from.value, to.value, from.kind, *step);
  return equal_ratios(range, from.value, to.value, *points);
}

}  // namespace

std::vector<YamlValue> range_values(const YamlValue& range) {
  const YamlMapping keys = range.mapping({"from", "to", "factor", "step", "points"});
  const YamlValue first = keys.at("from");
  const YamlValue last = keys.at("to");
  Amount from = read_amount(first);
  Amount to = read_amount(last);
  // A whole number may be the end of a range of others.
  if (from.kind == AmountKind::whole && to.kind == AmountKind::number) from.kind = to.kind;
  if (to.kind == AmountKind::whole && from.kind == AmountKind::number) to.kind = from.kind;
  if (from.kind != to.kind) {
    range.fail(fmt::format("a range from {} to {}", first.string(), last.string()),
               "ends of the same unit");
  }
  if (to.value < from.value) {
    range.fail(fmt::format("a range from {} to {}", first.string(), last.string()),
               "'to' at least as large as 'from'");
  }
  std::vector<YamlValue> values;
  std::string before;
  for (const double amount : amounts_in(range, keys, from, to)) {
    std::string text = text_of(from.kind, amount);
    if (text == before) continue;  // rounded to the same whole number
    before = text;
    values.push_back(scalar_at(range, std::move(text)));
  }
  return values;
}

std::optional<double> amount_of(std::string_view text) {
  const auto amount = parse_amount(text);
  if (!amount) return std::nullopt;
  return amount->kind == AmountKind::percent ? amount->value / 100 : amount->value;
}

}  // namespace collsim
