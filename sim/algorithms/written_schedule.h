#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/algorithms/expression.h"
#include "sim/algorithms/transfer_list.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/plan/collective.h"

namespace collsim {

/// An expression, and where it is written.
struct PlacedExpression {
  Expression expression;
  SourcePosition place;
};

/// `name`, from `first` to `last`, each time `by` further.
struct LoopRule {
  std::size_t name = 0;
  PlacedExpression first;
  PlacedExpression last;
  std::optional<PlacedExpression> by;
};

struct TransferRule {
  PlacedExpression from;
  PlacedExpression to;
  PlacedExpression first_chunk;
  std::optional<PlacedExpression> last_chunk;  ///< of several
  bool reduce = false;
};

/// A part of a schedule file: transfers, or more parts, perhaps in a loop or under a condition.
struct ScheduleRule {
  SourcePosition place;
  std::optional<std::string> phase;
  std::optional<LoopRule> loop;
  std::vector<std::pair<std::size_t, PlacedExpression>> lets;
  std::optional<PlacedExpression> condition;
  std::optional<PlacedExpression> lane;
  bool is_step = false;  ///< what is in it goes at the same time
  std::vector<TransferRule> transfers;
  std::vector<ScheduleRule> parts;
};

/// Which numbers of ranks a schedule is for.
struct RankLimits {
  Rank min = 1;
  Rank max = 0xffffffff;
  bool powers_of_two = false;
};

/// A schedule for any number of ranks within limits, by rules. Values are in the order of names:
/// N (ranks), P (ranks of a node), root, then those of loops and `let`.
struct ScheduleRules {
  RankLimits limits;
  std::size_t names = 3;
  std::optional<PlacedExpression> chunks;  ///< N where there is none
  std::vector<ScheduleRule> steps;
};

/// An algorithm that a person wrote into a file: `collsim: schedule/1`, or MSCCL's XML, which is
/// for one number of ranks.
struct WrittenSchedule {
  std::string file;
  Collective collective = Collective::all_reduce;
  std::variant<ScheduleRules, TransferList> content;
};

/// Whether the name of an algorithm is one of a schedule file: whether it ends in .yaml, .yml or
/// .xml, which the names of algorithms do not.
bool names_schedule_file(std::string_view name);

/// Reads a schedule file, YAML or MSCCL's XML by its ending. Throws InputError. A file that is
/// asked for again while nobody has changed it is not read again.
std::shared_ptr<const WrittenSchedule> read_schedule_file(const std::string& name);
/// A text of either kind, for tests and fuzzers.
WrittenSchedule read_schedule_yaml(const TextFile& text);

/// Why the schedule is not for `ranks` ranks, and for how many it is ("...; ..."); else nothing.
std::optional<std::string> why_not_for(const WrittenSchedule& schedule, Rank ranks);
/// The only number of ranks that it is for, if there is one.
std::optional<Rank> only_ranks(const WrittenSchedule& schedule);

/// How many chunks a loop is cut into. Throws InputError.
std::uint32_t chunks_of(const WrittenSchedule& schedule, Rank ranks, Rank per_node, Rank root);
/// The valid messages for `ranks` ranks. Throws InputError, at the rule, where a rank or a chunk is
/// not there, or there are more than 1.2 million messages.
TransferList transfers_of(const WrittenSchedule& schedule, Rank ranks, Rank per_node, Rank root);

}  // namespace collsim
