#include "models/calibration/error_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/calibration/trust.h"
#include "sim/base/data_directory.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// The number that a field is; fails at the row.
double number_in(const std::string& field, const YamlValue& row) {
  const double number = parse_number<double>(field).value_or(0);
  if (!(number > 0)) {
    row.fail(fmt::format("'{}' is no number above 0", field), "such as 0.91");
  }
  return number;
}

ErrorRange read_range(const std::string& field, const YamlValue& row) {
  const std::size_t dots = field.find("..");
  if (dots == std::string::npos) row.fail(fmt::format("'{}' is no range", field), "0.9..1.2");
  const ErrorRange range{number_in(field.substr(0, dots), row),
                         number_in(field.substr(dots + 2), row)};
  if (range.low > range.high) row.fail(fmt::format("'{}' falls", field), "0.9..1.2");
  return range;
}

/// A row is one text, not a mapping: every command reads the table, and nodes of YAML cost.
ErrorClass read_class(const YamlValue& row, std::size_t bands) {
  const std::vector<std::string> fields = split(row.string(), ' ');
  constexpr std::size_t before_ranges = 5;
  if (fields.size() != before_ranges + bands) {
    row.fail(fmt::format("{} fields", fields.size()),
             fmt::format("trust, medium, hosts, machines, rows and {} ranges", bands));
  }
  const auto trust = find_trust(fields[0]);
  if (!trust) row.fail(fmt::format("'{}' is no class of trust", fields[0]), trust_classes);
  ErrorClass one{*trust,
                 fields[1],
                 {},
                 static_cast<int>(number_in(fields[3], row)),
                 static_cast<int>(number_in(fields[4], row))};
  if (fields[2] != "more") one.max_hosts = static_cast<std::uint32_t>(number_in(fields[2], row));
  for (std::size_t band = 0; band < bands; ++band) {
    one.ranges.push_back(read_range(fields[before_ranges + band], row));
  }
  return one;
}

}  // namespace

ErrorTable load_error_table() {
  const YamlMapping root =
      load_yaml(shipped_file("errors", "models/data"), "errors").mapping({"ends", "classes"});
  ErrorTable table;
  for (const YamlValue& end : root.at("ends").sequence()) table.ends.push_back(end.bytes());
  for (const YamlValue& each : root.at("classes").sequence()) {
    table.classes.push_back(read_class(each, table.ends.size() + 1));
  }
  return table;
}

const ErrorClass* find_error_class(const ErrorTable& table, Trust trust, const Medium& medium) {
  const ErrorClass* found = nullptr;
  const auto distance = [&](const ErrorClass& each) {
    return std::pair(each.medium != medium.name, each.max_hosts);
  };
  for (const ErrorClass& each : table.classes) {
    const bool is_of_it = each.medium == medium.name || each.medium == "any";
    if (each.trust != trust || !is_of_it || each.max_hosts < medium.hosts) continue;
    if (found == nullptr || distance(each) < distance(*found)) found = &each;
  }
  return found;
}

void add_class(const ErrorTable& table, Trust trust, const Medium& medium, ErrorClasses& classes) {
  const ErrorClass* const found = find_error_class(table, trust, medium);
  if (found != nullptr) classes.insert(found);
}

ErrorRange read_error_range(const YamlValue& value) {
  constexpr double most = 100;
  const auto ends = value.sequence();
  if (ends.size() != 2) value.fail("no range", "two shares, such as [0.9, 1.2]");
  return {ends.front().share(most), ends.back().share(most)};
}

std::optional<ErrorRange> error_range(const ErrorTable& table, Trust trust, const Medium& medium,
                                      Bytes size) {
  const ErrorClass* const found = find_error_class(table, trust, medium);
  if (found == nullptr) return std::nullopt;
  const auto band = std::upper_bound(table.ends.begin(), table.ends.end(), size);
  return found->ranges[static_cast<std::size_t>(band - table.ends.begin())];
}

double typical_error(const ErrorRange& range) {
  // Standard deviations at which half, and eight of ten, of a normal distribution lie inside.
  constexpr double half = 0.6745;
  constexpr double eight_of_ten = 1.2816;
  return std::expm1(0.5 * std::log(range.high / range.low) * half / eight_of_ten);
}

double typical_error(const ErrorTable& table, Trust trust, const Medium& medium, Bytes size) {
  const auto range = error_range(table, trust, medium, size);
  return range ? typical_error(*range) : 0;
}

}  // namespace collsim
