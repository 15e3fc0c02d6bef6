#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/recordings/recording.h"

namespace collsim {

/// What a person says of rows that do not say it themselves.
struct RowNames {
  std::optional<Collective> collective{};
  std::optional<Rank> ranks{};
};

/// Says why a text is refused, and what to do: "the text holds 2 runs of 8 ranks, not one of 16:
/// ...".
std::string several_runs(std::uint32_t runs, Rank ranks);
/// Says the same of "2 communicators of 8 ranks each were timed at once (NCCL_TESTS_SPLIT): ...".
std::string several_groups(std::uint32_t groups, Rank ranks);

/// Gives the rows of one table the collective and the number of ranks that it does not say: those
/// of `names`, else those that its busbw / algbw tells (table_identity.h). Of a list of ranks that
/// contradicts busbw / algbw the latter is right: lists are cut, or are of several runs. Returns
/// sentences that say what was found so, and what cannot be told.
std::vector<std::string> name_table(std::span<RecordedRow> table, const RowNames& names);

/// Names the rows of all tables of a recording; the sentences become notes of it.
void name_rows(Recording& recording, const RowNames& names);

}  // namespace collsim
