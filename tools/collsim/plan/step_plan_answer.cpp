#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/plan/subjects.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double plan_percent = 100;
constexpr double plan_ms = 1e3;
constexpr double seconds_of_day = 24 * 3600.0;
constexpr double seconds_of_hour = 3600;
constexpr double bytes_of_giga = 1e9;

std::string layout_of(const StepPlanRow& row) {
  const TrainingSetup& setup = row.layout.setup;
  std::string text = fmt::format("tp {} pp {} dp {}", setup.tensor, setup.pipeline, setup.data);
  if (setup.context > 1) text += fmt::format(" cp {}", setup.context);
  if (setup.expert > 1) text += fmt::format(" ep {}", setup.expert);
  if (setup.interleave > 1) text += fmt::format(" v {}", setup.interleave);
  if (setup.zero > 0) text += fmt::format(" zero {}", setup.zero);
  text += fmt::format(" micro {}", setup.micro_batch);
  if (setup.recompute == Recompute::full) text += " recompute";
  return text;
}

const StepPlanRow* best_row(const StepPlan& plan) {
  const auto found = std::find_if(plan.rows.begin(), plan.rows.end(),
                                  [](const StepPlanRow& row) { return row.best; });
  return found == plan.rows.end() ? nullptr : &*found;
}

Record or_null(const std::optional<double>& value) {
  return value ? Record(*value) : Record(nullptr);
}

std::string mark_of(const StepPlanRow& row) {
  if (row.slower) return fmt::format("{:+.1f} %", plan_percent * *row.slower);
  if (row.best) return "best";
  if (!row.meets) return "misses";
  return row.ties ? "tie" : "";
}

/// How batches were divided, a sentence for each row where they were.
std::vector<std::string> division_texts(const StepPlanRequest& request, const StepPlan& plan) {
  std::vector<std::string> texts;
  for (const StepPlanRow& row : plan.rows) {
    const StepPrediction& step = row.layout.step;
    if (step.shares.empty()) continue;
    texts.push_back(fmt::format(
        "{} on {} nodes: replicas x microbatches by speed: {}; "
        "with equal parts the step takes "
        "{:.1f} ms, {:+.1f} %.",
        describe(request.alternatives[row.alternative]), row.nodes, to_string(step.shares),
        plan_ms * step.equal.value, plan_percent * (step.equal.value / step.time.value - 1)));
  }
  return texts;
}

/// What the faults of rows mean, where there are any.
std::vector<std::string> fault_texts(const StepPlan& plan) {
  const bool any = std::any_of(plan.rows.begin(), plan.rows.end(),
                               [](const StepPlanRow& row) { return row.slower.has_value(); });
  if (!any) return {};
  return {
      "Rows with a percentage are of the machine with a fault, in the "
      "layout that it has "
      "without: so much longer is a step."};
}

/// What everything rests on, a sentence each.
std::vector<std::string> assumption_texts(const StepPlanRequest& request) {
  const FailureRates& rates = request.failures;
  std::vector<std::string> texts{
      fmt::format("Steps are predicted, not measured; published ones are {:.0f} % off on average, "
                  "either way: costs and times of runs likewise.",
                  plan_percent * step_error),
      fmt::format(
          "A GPU fails every {:.0f} days, a checkpoint stops training for {:g} s, a restart "
          "takes {:g} s, a repair {:g} h; checkpoints are as far apart as pays (Young).",
          rates.between.value / seconds_of_day, rates.checkpoint.value, rates.restart.value,
          rates.repair.value / seconds_of_hour),
      "Spare nodes are paid for. Input, evaluation and storage are not counted."};
  if (request.basis == CostBasis::rent) {
    texts.push_back(
        fmt::format("Prices are those of {}, rented by the hour.", request.prices.file));
  } else {
    texts.push_back(fmt::format("Machines are bought and written off over {:g} years ({}).",
                                request.prices.rules.life_years, request.prices.file));
  }
  return texts;
}

/// What the rows are to be read with.
std::vector<Note> assumptions(const StepPlanRequest& request, const StepPlan& plan) {
  std::vector<Note> notes{""};
  for (const auto& texts :
       {division_texts(request, plan), fault_texts(plan), assumption_texts(request)}) {
    for (const std::string& text : texts) notes.push_back(item(text));
  }
  return notes;
}

Table step_plan_table(const StepPlanRequest& request, const StepPlan& plan) {
  const auto money = [&](const char* unit) {
    return fmt::format("({}{})", request.prices.currency, unit);
  };
  const int run_rank = request.tokens > 0 ? 0 : data_only;
  Table table;
  for (const StepPlanRow& row : plan.rows) {
    const TrainingSetup& setup = row.layout.setup;
    const StepPrediction& step = row.layout.step;
    const double time = plan_ms * step.time.value;
    NewRow add(table);
    add({"machine", "machine"}, describe(request.alternatives[row.alternative]));
    add({"nodes", "nodes"}, row.nodes);
    add({"spares", "spare"}, row.goodput.spares);
    add({"gpus", "GPUs"}, row.gpus);
    add({"layout", "layout"}, layout_of(row));
    add.data("tp", setup.tensor);
    add.data("pp", setup.pipeline);
    add.data("dp", setup.data);
    add.data("zero", setup.zero);
    add.data("micro_batch", setup.micro_batch);
    add({"step_ms", "step", "(ms)", 1}, time);
    if (request.by_speed) {
      add.data("equal_step_ms", step.shares.empty() ? time : plan_ms * step.equal.value);
      add.data("shares", to_string(step.shares));
    }
    add({"step_low_ms", "low", "(ms)", 1, 1, wide_only}, time / (1 + step_error));
    add({"step_high_ms", "high", "(ms)", 1, 1, wide_only}, time * (1 + step_error));
    add({"mfu", "mfu", "(%)", 1, plan_percent}, step.utilisation);
    add({"memory_GB", "memory", "(GB)", 1, 1, wide_only}, step.memory.all() / bytes_of_giga);
    add({"goodput", "good", "(%)", 1, plan_percent}, row.goodput.share);
    add.data("checkpoint_every_s", row.goodput.between_checkpoints.value);
    add({"tokens_per_s", "tokens/s", "", 0}, row.tokens_per_second);
    add({"scaling", "scaling", "", 2, 1, wide_only}, row.scaling);
    add({"cost_per_hour", "price", money("/h"), 2, 1, wide_only}, or_null(row.per_hour));
    add({"cost_per_million_tokens", "a Mtoken", money(""), 4}, or_null(row.token_cost));
    add({"run_days", "run", "(days)", 1, 1, run_rank},
        request.tokens > 0 ? Record(row.run.value / seconds_of_day) : Record());
    add({"run_cost", "run", money(""), 0, 1, run_rank}, or_null(row.run_cost));
    add.data("meets", row.meets);
    add.data("slower", or_null(row.slower));
    add({"mark", ""}, mark_of(row));
  }
  return table;
}

Chart scaling_chart(const StepPlanRequest& request, const StepPlan& plan, const Table& table,
                    std::string title, std::string axis, const std::string& key, double scale = 1) {
  Chart chart{std::move(title),
              "Bands are the mean error of published steps.",
              {"GPUs", AxisScale::counts},
              {std::move(axis), AxisScale::logarithmic}};
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    const int tone = static_cast<int>(i);
    ChartSeries band{"", SeriesMark::band, tone, true, {}};
    ChartSeries line{"", SeriesMark::line, tone};
    for (std::size_t at = 0; at < plan.rows.size(); ++at) {
      const StepPlanRow& row = plan.rows[at];
      const Record& known = table.rows[at][key];
      if (row.alternative != i || known.is_null()) continue;
      const double value = scale * known.get<double>();
      line.name = describe(request.alternatives[row.alternative]);
      band.points.push_back(
          {row.gpus, value, {}, {}, value / (1 + step_error), value * (1 + step_error)});
      line.points.push_back({row.gpus, value, mark_of(row),
                             fmt::format("{}\n{} nodes, {} GPUs: {:.4g}\n{}", line.name, row.nodes,
                                         row.gpus, value, layout_of(row))});
    }
    if (line.points.empty()) continue;
    chart.series.push_back(std::move(band));
    chart.series.push_back(std::move(line));
  }
  return chart;
}

std::string step_plan_headline(const StepPlanRequest& request, const StepPlan& plan) {
  const StepPlanRow* const best = best_row(plan);
  const std::string& model = request.setup.model.name;
  if (plan.rows.empty()) return fmt::format("No machine here can run {}.", model);
  if (best == nullptr) {
    const bool met = std::any_of(plan.rows.begin(), plan.rows.end(),
                                 [](const StepPlanRow& row) { return row.meets; });
    return met ? fmt::format("No price is known of any machine that can train {}.", model)
               : fmt::format("No machine here trains {} in that time for that money.", model);
  }
  const bool speed = request.budget || request.hourly;
  std::string text = fmt::format(
      "{} trains {} on {} node{} ({} GPUs) of {}: {:.0f} tokens a second",
      speed ? "Quickest" : "Cheapest", model, best->nodes, best->nodes == 1 ? "" : "s", best->gpus,
      describe(request.alternatives[best->alternative]), best->tokens_per_second);
  const std::string& currency = request.prices.currency;
  if (best->token_cost) {
    text += fmt::format(", {:.4f} {} for a million tokens", *best->token_cost, currency);
  }
  if (request.tokens > 0) {
    text += fmt::format("; {:.4g} billion tokens take {:.1f} days", request.tokens / 1e9,
                        best->run.value / seconds_of_day);
    if (best->run_cost) text += fmt::format(" and {:.0f} {}", *best->run_cost, currency);
  }
  const auto ties = std::count_if(plan.rows.begin(), plan.rows.end(),
                                  [](const StepPlanRow& row) { return row.ties; });
  if (ties > 0) {
    text += fmt::format("; within the error {} other{} may be better", ties, ties == 1 ? "" : "s");
  }
  return text + ".";
}

/// One sentence that answers the question, a row for each machine and count, the assumptions, and
/// charts of the cost of a token and of the speed by GPUs.
Answer step_plan_answer(const StepPlanRequest& request, const StepPlan& plan,
                        const std::string& command) {
  Answer answer{
      fmt::format("Training {}: which cluster, and what a token costs", request.setup.model.name),
      command,
      {{"batch", fmt::format("{} sequences of {} tokens", request.setup.global_batch,
                             request.setup.tokens_sequence())},
       {"prices", request.prices.file}}};
  add_ranges_and_version(answer);
  const std::string& currency = request.prices.currency;
  Table table = step_plan_table(request, plan);
  answer.sections.push_back({"", {}, {step_plan_headline(request, plan)}});
  AnswerSection first{
      "",
      {scaling_chart(request, plan, table, "Cost of a million tokens",
                     fmt::format("{} for a million tokens", currency), "cost_per_million_tokens"),
       scaling_chart(request, plan, table, "Speed", "thousand tokens a second", "tokens_per_s",
                     1e-3)}};
  std::erase_if(first.charts, [](const Chart& each) { return each.series.empty(); });
  if (!plan.rows.empty()) first.after = assumptions(request, plan);
  first.tables.push_back(std::move(table));
  first.apart = true;
  answer.sections.push_back(std::move(first));
  return answer;
}

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

/// What the options say beside what is common to all plans.
void read_step_plan(const po::variables_map& values, StepPlanRequest& request) {
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
}

/// Adds to machines what `--fault` says of them: for each fault an alternative of each machine.
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

}  // namespace

PlannedAnswer plan_training(StepPlanRequest request, const po::variables_map& values,
                            const std::string& command, Waiting& waiting) {
  read_step_plan(values, request);
  add_faulty_machines(request.alternatives, values);
  request.progress = [&](std::size_t done, std::size_t all) {
    waiting.say(fmt::format("searching layouts on machine {} of {}", done + 1, all));
  };
  StepPlan plan = plan_steps(request);
  const bool met = std::any_of(plan.rows.begin(), plan.rows.end(),
                               [](const StepPlanRow& row) { return row.meets; });
  return {step_plan_answer(request, plan, command), std::move(plan.warnings), met};
}

}  // namespace collsim::command
