#include "sim/collective.h"

#include <algorithm>
#include <array>

namespace collsim {

namespace {

constexpr std::array every_collective{Collective::all_reduce};

}  // namespace

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
  }
  return "?";
}

std::optional<Collective> find_collective(std::string_view name) {
  const auto* const found = std::find_if(every_collective.begin(), every_collective.end(),
                                         [&](Collective each) { return to_string(each) == name; });
  if (found == every_collective.end()) return std::nullopt;
  return *found;
}

std::span<const Collective> all_collectives() {
  return every_collective;
}

double busbw_factor(Collective collective, Rank ranks) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
  }
  return 1;
}

}  // namespace collsim
