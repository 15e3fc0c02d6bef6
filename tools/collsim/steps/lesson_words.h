#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/steps.h"
#include "tools/collsim/steps/lesson.h"

namespace collsim::command {

// What the text and the page of a lesson call things.

/// Names a participant: "3" for a rank, "sw" for the only switch that takes part, "s0" for the
/// first of several.
std::string short_name(const Schedule& schedule, Rank participant);
/// Names the row of a participant: "rank 3", "switch", "s0".
std::string row_name(const Schedule& schedule, Rank participant);

/// Whose contributions a chunk has, in at most eight letters: "a2", "a1+a2", "a0..a3", "a0,3..5",
/// "sum", "sum-3,4" (the sum without those), "5 of 40"; "-" for none.
std::string contribution_words(Contributions set, Rank ranks);

/// Lists ranks as "0,2..5": three or more in a row are a range. Empty for none.
std::string rank_set_words(Contributions set, Rank ranks);

/// What a participant holds of a chunk after a step, or before the first: contributions, or a
/// number if those are asked for.
std::string holding_words(const Lesson& lesson, const std::vector<Contributions>& buffers,
                          const std::vector<std::int32_t>& values, std::size_t index);

/// Says what a transfer does: "reduce"; in a lesson with numbers "2 + 1 = 3" or "copy 6".
std::string action_words(const Lesson& lesson, const StepTransfer& transfer);
/// Names chunks by their numbers: "3", "0..7".
std::string range_words(ChunkRange chunks);

/// The title of a lesson: "ring all_reduce: 3 ranks, 3 chunks".
std::string title_of(const Lesson& lesson);
/// What the words and marks in the tables of buffers mean, a sentence each.
std::vector<std::string> legend_of(const Lesson& lesson);
/// What is sent: a sentence with the formula, or the counted figures, and what the symbols are.
std::vector<std::string> traffic_words(const Lesson& lesson);
/// Says how long the lesson takes: "T = 6 alpha + 1.5 S/B = 6 us + 31 us = 37 us, step after step",
/// and as simulated. Empty without costs.
std::vector<std::string> time_words(const Lesson& lesson);
/// Ends a step's line with alpha and the time that the busiest port needs: ": 1 us + 5.24 us".
/// Empty without costs.
std::string step_time_words(const Lesson& lesson, const Step& step);
/// The sentence that the numbers are right. Empty without numbers.
std::string check_words(const Lesson& lesson);

/// What was simulated and which messages are shown. Of a lesson with a call.
std::vector<std::string> call_words(const Lesson& lesson);
/// Says how many us a message waited, and for what: "0.94 rank 7", "0.2 slot of 3" (a place in its
/// FIFO); "-" for none.
std::string wait_words(const StepMessage& message);
/// Names the devices of a route: "gpu0 > nvswitch0 > gpu1", "...; host memory of node 0".
std::string route_words(const MessageRoute& route);

/// The way that shown messages take from one participant to another, in words.
struct LessonRoute {
  Rank from = 0;
  Rank to = 0;
  std::string way;
  auto operator<=>(const LessonRoute&) const = default;
};
/// The routes, each once, by sender and receiver.
std::vector<LessonRoute> routes_of(const Lesson& lesson);

/// A step of a loop, with its messages that are shown, in order of time.
struct MessageGroup {
  std::uint32_t loop = 0;
  std::uint32_t step = 1;
  std::vector<const StepMessage*> messages;
};
std::vector<MessageGroup> groups_of(const LessonCall& call);
/// The title of a group: "step 3 of 14: reduce-scatter, 6.20 to 9.35 us", in a pipeline "loop 2 of
/// 8, step 3 of ...".
std::string group_title(const Lesson& lesson, const MessageGroup& group);

/// How long a column of the timeline is, and what its letters mean: two lines.
std::vector<std::string> chart_words(const Lesson& lesson);
/// The times at its left and right edge and in the middle, in as many letters as a line has.
std::string chart_axis(const LessonChart& chart);

}  // namespace collsim::command
