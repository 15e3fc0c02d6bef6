#include "tools/collsim/plan/step_plan_answer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/plan/step_plan_report.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// A number with one of some units after it.
using Units = std::array<std::pair<std::string_view, double>, 4>;
constexpr Units long_times{{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 24 * 3600}}};
constexpr Units counts_of_tokens{{{"M", 1e6}, {"B", 1e9}, {"T", 1e12}, {"", 1}}};

double number_of(const po::variables_map& values, const char* option, const Units& units,
                 const std::string& accepted) {
  const auto& text = values[option].as<std::string>();
  constexpr double most = 1e18;
  std::string_view unit = text;
  const double number = take_number<double>(unit).value_or(0);
  for (const auto& [name, factor] : units) {
    if (unit != name || !(number > 0 && number * factor <= most)) continue;
    return number * factor;
  }
  throw InputError(fmt::format("--{}: '{}'", option, text), accepted);
}

Seconds time_of(const po::variables_map& values, const char* option) {
  return Seconds{
      number_of(values, option, long_times, "a time above 0, such as 90s, 10min, 24h or 30d")};
}

double money_of(const po::variables_map& values, const char* option) {
  const double money = values[option].as<double>();
  constexpr double most = 1e15;
  if (money > 0 && money <= most) return money;
  throw InputError(fmt::format("--{}: {:g}", option, money), "an amount of money above 0");
}

FailureRates read_failures(const po::variables_map& values) {
  FailureRates rates;
  if (values.contains("mtbf")) rates.between = time_of(values, "mtbf");
  if (values.contains("checkpoint-time")) rates.checkpoint = time_of(values, "checkpoint-time");
  if (values.contains("restart-time")) rates.restart = time_of(values, "restart-time");
  if (values.contains("repair-time")) rates.repair = time_of(values, "repair-time");
  constexpr std::uint32_t max_spares = 100'000;
  if (values.contains("spares")) rates.spares = bounded_option(values, "spares", 0, max_spares);
  return rates;
}

}  // namespace

StepPlanRequest read_step_plan(const po::variables_map& values) {
  StepPlanRequest request;
  constexpr std::uint32_t most = 1'000'000;
  constexpr std::uint32_t max_tokens = 1U << 24;
  if (!values.contains("model")) throw InputError("plan train: no model", "--model NAME");
  request.setup.model = find_transformer(values["model"].as<std::string>());
  if (!values.contains("global-batch")) {
    throw InputError("plan train: no --global-batch", "the sequences of a step");
  }
  request.setup.global_batch = bounded_option(values, "global-batch", 1, most);
  if (values.contains("seq")) request.setup.sequence = bounded_option(values, "seq", 1, max_tokens);
  if (!values["precision"].defaulted()) {
    request.setup.precision = find_precision("precision", values["precision"].as<std::string>());
  }
  request.setup.tensor_overlap =
      find_tensor_overlap("tp-overlap", values["tp-overlap"].as<std::string>());
  if (values.contains("tokens-total")) {
    request.tokens =
        number_of(values, "tokens-total", counts_of_tokens, "a number such as 300B or 1.4T");
  }
  if (values.contains("deadline")) request.deadline = time_of(values, "deadline");
  if (values.contains("budget")) request.budget = money_of(values, "budget");
  if (values.contains("hourly-budget")) request.hourly = money_of(values, "hourly-budget");
  request.failures = read_failures(values);
  request.by_speed = values["by-speed"].as<bool>();
  return request;
}

void add_faulty_machines(std::vector<Alternative>& alternatives, const po::variables_map& values) {
  if (!values.contains("fault")) return;
  const std::size_t machines = alternatives.size();
  for (const std::string& text : values["fault"].as<std::vector<std::string>>()) {
    std::vector<Fault> faults;
    for (const std::string& each : split(text, ';')) {
      faults.push_back(parse_fault(each));
      if (faults.back().changes_links() && !faults.back().changes_ranks()) continue;
      throw InputError("--fault: of a rank or a host", "faults of links");
    }
    if (faults.empty()) throw InputError("--fault: nothing", "'link: node0/nic0, bandwidth: 50%'");
    for (std::size_t i = 0; i < machines; ++i) {
      if (alternatives[i].base != i) continue;
      Alternative other = alternatives[i];
      other.faults = faults;
      other.change = text;
      alternatives.push_back(std::move(other));
    }
  }
}

int answer_step_plan(StepPlanRequest& request, const po::variables_map& values,
                     const std::string& command, std::ostream& out, std::ostream& err) {
  StepPlan plan;
  {
    Waiting waiting(err, "searching layouts");
    request.progress = [&](std::size_t done, std::size_t all) {
      waiting.say(fmt::format("searching layouts on machine {} of {}", done + 1, all));
    };
    plan = plan_steps(request);
    request.progress = nullptr;
  }
  print_warnings(plan.warnings, err);
  write_answer(format_option(values), step_plan_answer(request, plan, command), out);
  const bool met = std::any_of(plan.rows.begin(), plan.rows.end(),
                               [](const StepPlanRow& row) { return row.meets; });
  return met ? exit_ok : exit_answer_is_no;
}

}  // namespace collsim::command
