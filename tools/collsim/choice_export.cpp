#include "tools/collsim/choice_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "models/nccl/tuner_file.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"

namespace collsim::command {

namespace {

constexpr double percent = 100;

TunerRule rule_of(const ChoiceRow& row, const ChoiceCell& cell, Bytes least) {
  const auto& [algorithm, protocol] = row.pairs[cell.best];
  return {row.function, least,         cell.until, algorithm,
          protocol,     cell.channels, row.nodes,  row.ranks};
}

bool same_answer(const TunerRule& a, const TunerRule& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// One rule for sizes next to each other that have the same answer.
std::vector<TunerRule> rules_of(const ChoiceRow& row) {
  std::vector<TunerRule> rules;
  constexpr Bytes unbounded{std::numeric_limits<std::int64_t>::max()};
  Bytes least{0};
  for (const ChoiceCell& cell : row.cells) {
    const TunerRule rule = rule_of(row, cell, least);
    if (!rules.empty() && same_answer(rules.back(), rule)) {
      rules.back().most = rule.most;
    } else {
      rules.push_back(rule);
    }
    if (cell.until < unbounded) least = Bytes{cell.until.count + 1};
  }
  return rules;
}

std::string head_of(const ChoiceMap& map) {
  return fmt::format("# {} on {}, by collsim {}\n", to_string(map.question->scenario.collective),
                     map.question->topology.name(), COLLSIM_VERSION);
}

std::string names_of(const ChoiceLimit& limit) {
  if (!limit.algorithm && !limit.protocol) return "NCCL's own choice";
  if (!limit.protocol) return fmt::format("{}", nccl_name(*limit.algorithm));
  if (!limit.algorithm) return fmt::format("{}", to_string(*limit.protocol));
  return fmt::format("{} with {}", nccl_name(*limit.algorithm), to_string(*limit.protocol));
}

std::string losses_of(const ChoiceLimit& limit) {
  std::string text =
      fmt::format("{} loses {:.1f} % on average", names_of(limit), percent * limit.mean_loss);
  if (limit.worst_loss > 0) {
    text +=
        fmt::format(", {:.1f} % at {} bytes", percent * limit.worst_loss, limit.worst_size.count);
  }
  return text;
}

/// "NCCL_ALGO=allreduce:ring": releases before 2.24 know no names of functions, so that the limit
/// holds for all collectives.
std::string setting(const ChoiceRow& row, std::string_view variable, const std::string& value) {
  if (row.version < NcclVersion{2, 24}) {
    return fmt::format("export {}={}\n", variable, value);
  }
  return fmt::format("export {}='{}:{}'\n", variable, lower_case(nccl_name(row.function)), value);
}

}  // namespace

std::string tuner_file_of(const ChoiceMap& map) {
  std::string text = head_of(map);
  text +=
      "# For NCCL's example tuner plug-in: NCCL_TUNER_PLUGIN names it, NCCL_TUNER_CONFIG_FILE "
      "this.\n"
      "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (const ChoiceRow& row : map.rows) {
    for (const TunerRule& rule : rules_of(row)) text += tuner_line(rule) + "\n";
  }
  return text;
}

std::string environment_of(const ChoiceMap& map) {
  if (map.rows.size() != 1) {
    throw InputError(fmt::format("--export-env: {} sets of ranks", map.rows.size()),
                     "one, since variables hold for a whole job");
  }
  const ChoiceRow& row = map.rows.front();
  const std::vector<ChoiceLimit> limits = choice_limits(row);
  const ChoiceLimit& best = limits.front();
  std::string text = head_of(map);
  text += fmt::format(
      "# {} ranks, {} sizes from {} to {} bytes, against the fastest of each size:\n", row.ranks,
      row.cells.size(), row.cells.front().size.count, row.cells.back().size.count);
  constexpr std::size_t shown = 4;
  for (std::size_t i = 0; i < std::min(shown, limits.size()); ++i) {
    text += fmt::format("#   {}\n", losses_of(limits[i]));
  }
  if (!best.algorithm && !best.protocol) return text + "# So there is nothing to set.\n";
  if (best.algorithm) {
    text += setting(row, "NCCL_ALGO", lower_case(nccl_name(*best.algorithm)));
  }
  if (best.protocol) text += setting(row, "NCCL_PROTO", lower_case(to_string(*best.protocol)));
  return text;
}

}  // namespace collsim::command
