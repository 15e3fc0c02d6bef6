#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/calibration/error_table.h"
#include "tools/collsim/crossover/nccl_variants.h"

namespace collsim {

/// One size of a map: what NCCL could run there, with the time of each way. Ways are numbered as in
/// ChoiceRow::pairs.
struct ChoiceCell {
  Bytes size;
  Bytes until;                    ///< up to here the answer is this one: below the next cell's
  std::vector<Seconds> times;     ///< by way; simulated where formulas leave the order open
  std::vector<double> estimates;  ///< by way, us, by which NCCL chooses; infinite: not used
  std::size_t best = 0;           ///< the fastest way
  std::size_t second = 0;         ///< the fastest of the others; the best where there is no other
  std::size_t chosen = 0;         ///< NCCL's
  std::uint32_t channels = 1;     ///< that NCCL would give the best
  Trust trust = Trust::exact;     ///< of the best and of NCCL's, whichever is worse
  double error = 0;               ///< how far off such predictions have been (typical_error())

  /// How much longer a way takes than the best, as a share.
  double loss(std::size_t way) const { return times[way].value / times[best].value - 1; }
  /// Whether the lead of the best is within the error.
  bool is_open() const { return second != best && loss(second) < error; }
  /// Whether the best is ahead of NCCL's choice by more than the error.
  bool beats_choice() const { return chosen != best && loss(chosen) > error; }
};

/// The sizes of a sweep for one set of ranks.
struct ChoiceRow {
  Rank ranks = 1;
  std::uint32_t nodes = 1;
  NcclFunction function = NcclFunction::all_reduce;
  NcclVersion version;
  bool simulated = true;  ///< where formulas leave the order open; else all is by formulas
  std::vector<NcclVariants::Pair> pairs;
  std::vector<ChoiceCell> cells;
};

/// More ranks are taken by formulas alone.
inline constexpr Rank max_simulated_map_ranks = 16;

/// What is fastest at each of these sizes, which rise and are not empty. Throws InputError as
/// NcclVariants.
ChoiceRow choice_row(const CallCompiler& compiler, const std::vector<Bytes>& sizes,
                     const ErrorTable& errors);

/// NCCL kept to one algorithm or one protocol, or both: NCCL_ALGO and NCCL_PROTO.
struct ChoiceLimit {
  std::optional<NcclAlgorithm> algorithm{};
  std::optional<Protocol> protocol{};
  double mean_loss = 0;  ///< over the sizes, against the best
  double worst_loss = 0;
  Bytes worst_size;
};

/// What each limit costs that leaves NCCL a choice at every size, the cheapest first; among equals
/// those that say less. One of them is no limit at all.
std::vector<ChoiceLimit> choice_limits(const ChoiceRow& row);

}  // namespace collsim
