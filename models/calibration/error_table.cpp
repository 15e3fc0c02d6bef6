#include "models/calibration/error_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/calibration/trust.h"
#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr double largest_factor = 1000;
constexpr std::int64_t max_rows = 1'000'000;

ErrorRange read_range(const YamlValue& value) {
  const std::vector<YamlValue> ends = value.sequence();
  if (ends.size() != 2) value.fail("no two shares", "[low, high]");
  const ErrorRange range{ends[0].fraction(largest_factor), ends[1].fraction(largest_factor)};
  if (!(range.low > 0 && range.low <= range.high)) {
    value.fail(fmt::format("from {} to {}", range.low, range.high), "shares that rise, above 0");
  }
  return range;
}

ErrorClass read_class(const YamlValue& value, std::size_t bands) {
  const YamlMapping keys = value.mapping({"trust", "medium", "machines", "rows", "ranges"});
  ErrorClass one{read_trust_class(keys.at("trust")),
                 keys.at("medium").string(),
                 {},
                 static_cast<int>(keys.at("machines").integer(1, max_rows)),
                 static_cast<int>(keys.at("rows").integer(1, max_rows))};
  for (const YamlValue& range : keys.at("ranges").sequence()) {
    one.ranges.push_back(read_range(range));
  }
  if (one.ranges.size() != bands) {
    keys.at("ranges").fail(fmt::format("{} ranges", one.ranges.size()), fmt::format("{}", bands));
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

const ErrorClass* find_error_class(const ErrorTable& table, Trust trust, std::string_view medium) {
  const ErrorClass* of_any = nullptr;
  for (const ErrorClass& each : table.classes) {
    if (each.trust != trust) continue;
    if (each.medium == medium) return &each;
    if (each.medium == "any") of_any = &each;
  }
  return of_any;
}

std::optional<ErrorRange> error_range(const ErrorTable& table, Trust trust, std::string_view medium,
                                      Bytes size) {
  const ErrorClass* const found = find_error_class(table, trust, medium);
  if (found == nullptr) return std::nullopt;
  const auto band = std::upper_bound(table.ends.begin(), table.ends.end(), size);
  return found->ranges[static_cast<std::size_t>(band - table.ends.begin())];
}

}  // namespace collsim
