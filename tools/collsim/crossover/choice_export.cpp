#include "tools/collsim/crossover/choice_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/nccl/tuning/tuner_file.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"

namespace collsim::command {

namespace {

constexpr double percent = 100;

/// Sizes in a row at which one way beats NCCL's choice by more than the error, and by how much.
struct FoundRule {
  TunerRule rule;
  std::size_t chosen = 0;  ///< NCCL's way
  Trust trust = Trust::exact;
  double min_lead = 0;
  double error = 0;
};

bool same_answer(const FoundRule& a, const FoundRule& b) {
  return a.rule.algorithm == b.rule.algorithm && a.rule.protocol == b.rule.protocol &&
         a.rule.channels == b.rule.channels && a.chosen == b.chosen && a.trust == b.trust;
}

FoundRule rule_at(const ChoiceRow& row, const ChoiceCell& cell) {
  const auto& [algorithm, protocol] = row.pairs[cell.best];
  return {{row.function, cell.size, cell.size, algorithm, protocol, cell.channels, row.nodes,
           row.ranks},
          cell.chosen,
          cell.trust,
          cell.loss(cell.chosen),
          cell.error};
}

/// From the first to the last of sizes next to each other that have the same answer, both of them
/// simulated. Where formulas alone were asked there are none.
std::vector<FoundRule> rules_of(const ChoiceRow& row) {
  std::vector<FoundRule> rules;
  bool goes_on = false;
  for (const ChoiceCell& cell : row.cells) {
    const bool found = row.simulated && cell.beats_choice();
    if (found) {
      const FoundRule rule = rule_at(row, cell);
      if (goes_on && same_answer(rules.back(), rule)) {
        rules.back().rule.max = cell.size;
        rules.back().min_lead = std::min(rules.back().min_lead, rule.min_lead);
        rules.back().error = std::max(rules.back().error, rule.error);
      } else {
        rules.push_back(rule);
      }
    }
    goes_on = found;
  }
  return rules;
}

/// Of a rule, as a comment.
std::string reason_for(const ChoiceRow& row, const FoundRule& found) {
  return fmt::format(
      "# {} to {}: NCCL's choice, {}, takes {:.0f} % longer at least (simulated; {}: "
      "such predictions are {:.0f} % off)\n",
      short_size(found.rule.min), short_size(found.rule.max), name_of_pair(row.pairs[found.chosen]),
      percent * found.min_lead, to_string(found.trust), percent * found.error);
}

/// Why a row has no rule at some sizes.
std::string left_out_of(const ChoiceRow& row) {
  if (!row.simulated) {
    return fmt::format("# {}: no rules, since formulas alone say what is fastest\n",
                       name_of_row(row));
  }
  const auto ruled = std::count_if(row.cells.begin(), row.cells.end(),
                                   [](const ChoiceCell& cell) { return cell.beats_choice(); });
  return fmt::format(
      "# {}: rules for {} of {} sizes; at the others NCCL's choice is the fastest, or "
      "behind by no more than the error\n",
      name_of_row(row), ruled, row.cells.size());
}

std::string head_of(const ChoiceMap& map) {
  const ChoiceRow& row = map.rows.front();
  std::string text =
      fmt::format("# {} on {}, by collsim {}\n# as NCCL {} runs it; calibration {}",
                  to_string(map.request->scenario.collective), map.request->topology.name(),
                  COLLSIM_VERSION, to_string(row.version), map.request->cost.name);
  for (const auto& [name, value] : map.request->scenario.runs.front().variables) {
    text += fmt::format("; {}={}", name, value);
  }
  return text + "\n";
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

/// How far off predictions of the sizes have been on average.
double mean_error(const ChoiceRow& row) {
  double sum = 0;
  for (const ChoiceCell& cell : row.cells) sum += cell.error;
  return sum / static_cast<double>(row.cells.size());
}

/// What NCCL's own choice loses on average; one limit is none at all.
double loss_of_choice(const std::vector<ChoiceLimit>& limits) {
  return std::find_if(limits.begin(), limits.end(),
                      [](const ChoiceLimit& each) { return !each.algorithm && !each.protocol; })
      ->mean_loss;
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
      "# For libnccl-tuner-collsim.so: NCCL_TUNER_PLUGIN names that, NCCL_TUNER_CONFIG_FILE this.\n"
      "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (const ChoiceRow& row : map.rows) {
    text += left_out_of(row);
    for (const FoundRule& found : rules_of(row)) {
      text += reason_for(row, found) + tuner_line(found.rule) + "\n";
    }
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
  const double error = mean_error(row);
  if (!row.simulated || loss_of_choice(limits) - best.mean_loss <= error) {
    return text + fmt::format("# {}, so there is nothing to set.\n",
                              row.simulated
                                  ? fmt::format("NCCL's own choice loses no more than the {:.0f} % "
                                                "by which such predictions are off",
                                                percent * error)
                                  : "Formulas alone say so");
  }
  if (best.algorithm) {
    text += setting(row, "NCCL_ALGO", lower_case(nccl_name(*best.algorithm)));
  }
  if (best.protocol) text += setting(row, "NCCL_PROTO", lower_case(to_string(*best.protocol)));
  return text;
}

}  // namespace collsim::command
