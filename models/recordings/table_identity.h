#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/collective.h"

namespace collsim {

/// What busbw / algbw of a table can have been before both were rounded: busbw_factor().
struct FactorRange {
  double min = 0;
  double max = 1e9;
};

/// Narrows a range by two figures of one row, as they are printed. Figures that are too small to
/// say anything leave it as it is.
void narrow(FactorRange& range, std::string_view algbw, std::string_view busbw);

/// What a table shows of the call that it is of.
struct TableSigns {
  bool reduces = false;         ///< its redop is not "none"
  bool rooted = false;          ///< its root is a rank
  bool checks_in_place = true;  ///< nccl-tests does not check all_to_all and send_recv in place
  FactorRange factor;
};

/// The numbers of ranks with which a collective has such a factor, from `least` to `most`; nothing
/// where there is none.
struct RankRange {
  Rank min = 0;
  Rank max = 0;
};
std::optional<RankRange> ranks_of(Collective collective, const FactorRange& factor);

/// The number of ranks that a range means: the only one, or the only multiple of 8, as most jobs
/// have.
std::optional<Rank> likely_ranks(const RankRange& range);

/// The collectives that a table can be of. With `ranks` of 0, of any number of ranks.
std::vector<Collective> collectives_of(const TableSigns& signs, Rank ranks);

}  // namespace collsim
