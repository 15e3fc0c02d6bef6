#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// The values of a range: `{ from: 1 MiB, to: 1 GiB, factor: 4 }`, `{ from: 2, to: 16, step: 2 }`,
/// or with `points: 7` so many in equal ratios, both ends among them. Ends are numbers, percents or
/// quantities with a unit; whole numbers and bytes stay whole. Throws InputError.
std::vector<YamlValue> range_values(const YamlValue& range);

/// The number that a text says, in its base unit (bytes, bytes per second, seconds); "10%" is 0.1.
/// Nothing for other texts.
std::optional<double> amount_of(std::string_view text);

}  // namespace collsim
