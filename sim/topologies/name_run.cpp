#include "sim/topologies/name_run.h"

#include <fmt/format.h>

#include "sim/base/number.h"

namespace collsim {

std::string NameRun::text() const {
  if (first < 0) return stem;
  return first == last ? fmt::format("{}{}", stem, first)
                       : fmt::format("{}[{}..{}]", stem, first, last);
}

NameRun run_of(std::string_view name) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  const int number = leading_number<int>(name.substr(digits)).value_or(-1);
  NameRun run{std::string(name.substr(0, digits)), number, number};
  // "gpu007", and numbers that no int holds, are names as they stand.
  if (run.text() != name) return {std::string(name), -1, -1};
  return run;
}

bool try_extend(LinkRun& run, const LinkRun& next) {
  if (run.properties != next.properties || run.from.stem != next.from.stem ||
      run.to.stem != next.to.stem) {
    return false;
  }
  const int from_step = next.from.first - run.from.last;
  const int to_step = next.to.first - run.to.last;
  const bool counts_up =
      (from_step == 1 && (to_step == 0 || to_step == 1)) || (from_step == 0 && to_step == 1);
  const bool from_moves = run.from.first != run.from.last;
  const bool to_moves = run.to.first != run.to.last;
  const bool same_way =
      (from_moves == (from_step == 1) && to_moves == (to_step == 1)) || (!from_moves && !to_moves);
  if (!counts_up || !same_way) return false;
  run.from.last = next.from.first;
  run.to.last = next.to.first;
  return true;
}

}  // namespace collsim
