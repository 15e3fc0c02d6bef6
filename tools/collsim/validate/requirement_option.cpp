#include "tools/collsim/validate/requirement_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/recordings/readers.h"
#include "models/validation/score.h"
#include "sim/base/input_error.h"

namespace collsim::command {

namespace {

constexpr std::array<std::string_view, 6> figures{"median", "mean", "p90",
                                                  "worst",  "bias", "choice"};

/// In percent. `choice` is the lower of two shares: of rows with the recorded algorithm, and with
/// the recorded protocol.
double figure_of(std::string_view name, const std::vector<ValidatedRow>& rows) {
  if (name == "choice") {
    const ChoiceAgreement agreement = choice_agreement(rows);
    return 100 * std::min(agreement.algorithm.share(), agreement.protocol.share());
  }
  const Score score = total_score(rows).all;
  if (name == "median") return 100 * score.median;
  if (name == "mean") return 100 * score.mean;
  if (name == "p90") return 100 * score.p90;
  if (name == "worst") return 100 * score.worst;
  return 100 * std::abs(score.bias);
}

}  // namespace

std::vector<RequiredFigure> parse_required_figures(std::string_view text) {
  std::vector<RequiredFigure> requirements;
  for (const std::string_view item : split_lines(text, ',')) {
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = item.substr(0, equals);
    const auto percent = decimal_number(item.substr(std::min(equals + 1, item.size())));
    if (!percent || std::find(figures.begin(), figures.end(), name) == figures.end()) {
      throw InputError(fmt::format("--require: '{}'", item),
                       fmt::format("FIGURE=PERCENT, of {}", fmt::join(figures, ", ")));
    }
    requirements.push_back({std::string(name), *percent});
  }
  return requirements;
}

std::vector<std::string> failures(const std::vector<RequiredFigure>& requirements,
                                  const std::vector<ValidatedRow>& rows) {
  std::vector<std::string> failed;
  for (const RequiredFigure& requirement : requirements) {
    const bool at_least = requirement.figure == "choice";
    if (rows.empty()) {
      failed.push_back(fmt::format("{}: no rows", requirement.figure));
      continue;
    }
    const double figure = figure_of(requirement.figure, rows);
    if (at_least ? figure >= requirement.percent : figure <= requirement.percent) continue;
    failed.push_back(fmt::format("{} is {:.1f} %, required at {} {} %", requirement.figure, figure,
                                 at_least ? "least" : "most", requirement.percent));
  }
  return failed;
}

}  // namespace collsim::command
