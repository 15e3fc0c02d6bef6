#include "sim/base/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/base/text.h"

namespace collsim {

namespace {

/// Longer lists hide the suggestion that stands before them.
constexpr std::size_t max_listed = 40;

/// The nearest name, or the shortest that has what was written as a part; nothing where none does.
const std::string* nearest(std::string_view written, std::span<const std::string> names) {
  constexpr std::size_t longest = 64;  // of any name; what is longer is no slip
  constexpr std::size_t shortest_part = 3;
  if (written.empty() || written.size() > longest) return nullptr;
  const std::string lower = lower_case(written);
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(1, lower.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t edits = edit_distance(lower, lower_case(name));
    if (edits >= std::min(least, lower.size())) continue;
    least = edits;
    best = &name;
  }
  if (best != nullptr || lower.size() < shortest_part) return best;
  for (const std::string& name : names) {
    if (lower_case(name).find(lower) == std::string::npos) continue;
    if (best == nullptr || name.size() < best->size()) best = &name;
  }
  return best;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string did_you_mean(std::string_view written, std::span<const std::string> names) {
  const std::string* name = nearest(written, names);
  return name == nullptr ? std::string() : fmt::format("did you mean '{}'?", *name);
}

std::string names_instead_of(std::string_view written, std::span<const std::string> names) {
  std::string near = did_you_mean(written, names);
  if (near.empty()) return fmt::format("{}", fmt::join(names, ", "));
  if (names.size() > max_listed) return near;
  return fmt::format("{} All are {}", near, fmt::join(names, ", "));
}

}  // namespace collsim
