#include "models/recordings/table_identity.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/recordings/readers.h"
#include "models/recordings/time_unit.h"

namespace collsim {

namespace {

/// No job that is reported has more.
constexpr Rank max_ranks = 1U << 17U;

bool is_in(double factor, const FactorRange& range) {
  constexpr double rounding = 1e-9;
  return factor >= range.min - rounding && factor <= range.max + rounding;
}

/// What nccl-tests' programs print of their collectives.
struct PrintedSigns {
  Collective collective;
  bool reduces;
  bool rooted;
  bool checks_in_place;
};
constexpr std::array programs{PrintedSigns{Collective::all_reduce, true, false, true},
                              PrintedSigns{Collective::reduce_scatter, true, false, true},
                              PrintedSigns{Collective::reduce, true, true, true},
                              PrintedSigns{Collective::broadcast, false, true, true},
                              PrintedSigns{Collective::all_gather, false, false, true},
                              PrintedSigns{Collective::all_to_all, false, false, false},
                              PrintedSigns{Collective::send_recv, false, false, false}};

}  // namespace

void narrow(FactorRange& range, std::string_view algbw, std::string_view busbw) {
  const auto rate = decimal_number(algbw);
  const auto bus = decimal_number(busbw);
  if (!rate || !bus) return;
  const PrintedInterval below = printed_interval(*rate, algbw);
  const PrintedInterval above = printed_interval(*bus, busbw);
  if (below.min <= 0 || above.min <= 0) return;
  range.min = std::max(range.min, above.min / below.max);
  range.max = std::min(range.max, above.max / below.min);
}

std::optional<RankRange> ranks_of(Collective collective, const FactorRange& factor) {
  std::optional<RankRange> range;
  for (Rank ranks = 2; ranks <= max_ranks; ++ranks) {
    if (!is_in(busbw_factor(collective, ranks), factor)) {
      if (range) break;  // factors rise with the ranks, or are all alike
      continue;
    }
    if (!range) range = RankRange{ranks, ranks};
    range->most = ranks;
  }
  return range;
}

std::optional<Rank> likely_ranks(const RankRange& range) {
  constexpr Rank of_a_server = 8;
  if (range.min == range.max) return range.min;
  const Rank multiple = (range.min + of_a_server - 1) / of_a_server * of_a_server;
  if (multiple > range.max || multiple + of_a_server <= range.max) return std::nullopt;
  return multiple;
}

std::vector<Collective> collectives_of(const TableSigns& signs, Rank ranks) {
  std::vector<Collective> collectives;
  for (const PrintedSigns& program : programs) {
    if (program.reduces != signs.reduces || program.rooted != signs.rooted) continue;
    if (program.checks_in_place && !signs.checks_in_place) continue;
    const bool fits = ranks > 0 ? is_in(busbw_factor(program.collective, ranks), signs.factor)
                                : ranks_of(program.collective, signs.factor).has_value();
    if (fits) collectives.push_back(program.collective);
  }
  return collectives;
}

}  // namespace collsim
