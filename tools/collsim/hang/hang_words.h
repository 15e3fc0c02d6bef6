#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/hang/hang_analysis.h"

namespace collsim::command {

/// Names ranks with their noun: "rank 3", "ranks 0-2, 7".
std::string rank_words(const std::vector<std::uint32_t>& ranks);
/// Names ranks by their numbers alone: "0-2, 7".
std::string rank_ranges(const std::vector<std::uint32_t>& ranks);
/// Names a call in few words: "#45265 all_to_all", "send 0->12".
std::string short_call_words(const JobCall& call);
/// The answer in one line: what is wrong, with which ranks.
std::string headline_of(const Job& job, const HangAnalysis& analysis);
/// A finding in a few sentences.
std::string explanation_of(const Job& job, const HangFinding& finding);
/// Says what a group of ranks is at: "ranks 0-2: all_reduce of 1024 Float, train.py:88 in step,
/// waiting".
std::string group_words(const Job& job, const HangGroup& group);
/// The words on what to look at next.
std::string_view check_of(HangVerdict verdict);

}  // namespace collsim::command
