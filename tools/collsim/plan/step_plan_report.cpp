#include "tools/collsim/plan/step_plan_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace collsim::command {

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

Record record_of_row(const StepPlanRequest& request, const StepPlanRow& row) {
  const TrainingSetup& setup = row.layout.setup;
  const StepPrediction& step = row.layout.step;
  Record record;
  record["machine"] = describe(request.alternatives[row.alternative]);
  record["nodes"] = row.nodes;
  record["spares"] = row.goodput.spares;
  record["gpus"] = row.gpus;
  record["layout"] = layout_of(row);
  record["tp"] = setup.tensor;
  record["pp"] = setup.pipeline;
  record["dp"] = setup.data;
  record["zero"] = setup.zero;
  record["micro_batch"] = setup.micro_batch;
  record["step_ms"] = plan_ms * step.time.value;
  if (request.by_speed) {
    record["equal_step_ms"] = plan_ms * (step.shares.empty() ? step.time : step.equal).value;
    record["shares"] = to_string(step.shares);
  }
  record["step_low_ms"] = plan_ms * step.time.value / (1 + step_error);
  record["step_high_ms"] = plan_ms * step.time.value * (1 + step_error);
  record["mfu"] = step.utilisation;
  record["memory_GB"] = step.memory.all() / bytes_of_giga;
  record["goodput"] = row.goodput.share;
  record["checkpoint_every_s"] = row.goodput.between_checkpoints.value;
  record["tokens_per_s"] = row.tokens_per_second;
  record["scaling"] = row.scaling;
  record["cost_per_hour"] = or_null(row.per_hour);
  record["cost_per_million_tokens"] = or_null(row.token_cost);
  record["run_days"] =
      request.tokens > 0 ? Record(row.run.value / seconds_of_day) : Record(nullptr);
  record["run_cost"] = or_null(row.run_cost);
  record["meets"] = row.meets;
  record["slower"] = or_null(row.slower);
  record["mark"] = mark_of(row);
  return record;
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

/// What the rows are to be read with, a sentence each.
std::vector<std::string> all_texts(const StepPlanRequest& request, const StepPlan& plan) {
  std::vector<std::string> texts = division_texts(request, plan);
  for (std::string& text : fault_texts(plan)) texts.push_back(std::move(text));
  for (std::string& text : assumption_texts(request)) texts.push_back(std::move(text));
  return texts;
}

ReportChart scaling_chart(const StepPlanRequest& request, const StepPlan& plan, std::string title,
                          std::string axis, const std::string& key, double scale = 1) {
  ReportChart chart{std::move(title),
                    "Bands are the mean error of published steps.",
                    {"GPUs", AxisScale::counts},
                    {std::move(axis), AxisScale::logarithmic}};
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    const int tone = static_cast<int>(i);
    ReportSeries band{"", SeriesMark::band, tone, true, {}};
    ReportSeries line{"", SeriesMark::line, tone, false, {}};
    for (const StepPlanRow& row : plan.rows) {
      if (row.alternative != i) continue;
      const Record record = record_of_row(request, row);
      if (record[key].is_null()) continue;
      const double value = scale * record[key].get<double>();
      line.name = describe(request.alternatives[row.alternative]);
      band.points.push_back({row.gpus, value, value / (1 + step_error), value * (1 + step_error)});
      line.points.push_back({row.gpus,
                             value,
                             {},
                             {},
                             1,
                             mark_of(row),
                             fmt::format("{}\n{} nodes, {} GPUs: {:.4g}\n{}", line.name, row.nodes,
                                         row.gpus, value, layout_of(row))});
    }
    if (line.points.empty()) continue;
    chart.series.push_back(std::move(band));
    chart.series.push_back(std::move(line));
  }
  return chart;
}

}  // namespace

std::vector<Record> step_plan_records(const StepPlanRequest& request, const StepPlan& plan) {
  std::vector<Record> records;
  records.reserve(plan.rows.size());
  for (const StepPlanRow& row : plan.rows) records.push_back(record_of_row(request, row));
  return records;
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

void print_step_plan(const StepPlanRequest& request, const StepPlan& plan, std::ostream& out) {
  fmt::print(out, "{}\n\n", step_plan_headline(request, plan));
  if (plan.rows.empty()) return;
  std::size_t width = 10;
  std::size_t layout_width = 8;
  for (const StepPlanRow& row : plan.rows) {
    width = std::max(width, describe(request.alternatives[row.alternative]).size());
    layout_width = std::max(layout_width, layout_of(row).size());
  }
  fmt::print(out, "{:<{}}{:>7}{:>7}{:>7}  {:<{}}{:>12}{:>7}{:>6}{:>12}{:>10}", "# machine", width,
             "nodes", "spare", "GPUs", "layout", layout_width, "step (ms)", "mfu %", "good%",
             "tokens/s", "$/Mtoken");
  if (request.tokens > 0) fmt::print(out, "{:>9}{:>13}", "days", "run");
  fmt::print(out, "\n");
  for (const StepPlanRow& row : plan.rows) {
    const std::string cost = row.token_cost ? fmt::format("{:.4f}", *row.token_cost) : "-";
    fmt::print(out, "{:<{}}{:>7}{:>7}{:>7}  {:<{}}{:>12.1f}{:>7.1f}{:>6.1f}{:>12.0f}{:>10}",
               describe(request.alternatives[row.alternative]), width, row.nodes,
               row.goodput.spares, row.gpus, layout_of(row), layout_width,
               plan_ms * row.layout.step.time.value, plan_percent * row.layout.step.utilisation,
               plan_percent * row.goodput.share, row.tokens_per_second, cost);
    if (request.tokens > 0) {
      fmt::print(out, "{:>9.1f}{:>13}", row.run.value / seconds_of_day,
                 row.run_cost ? fmt::format("{:.0f}", *row.run_cost) : "-");
    }
    const std::string mark = mark_of(row);
    fmt::print(out, "{}{}\n", mark.empty() ? "" : "  ", mark);
  }
  fmt::print(out, "\n");
  for (const std::string& text : all_texts(request, plan)) fmt::print(out, "- {}\n", text);
}

Report step_plan_report(const StepPlanRequest& request, const StepPlan& plan,
                        const std::string& command) {
  Report report{
      fmt::format("Training {}: which cluster, and what a token costs", request.setup.model.name),
      command,
      {{"batch", fmt::format("{} sequences of {} tokens", request.setup.global_batch,
                             request.setup.tokens_sequence())},
       {"prices", request.prices.file}},
      {}};
  add_trust_and_version(report, {}, {});
  const std::string& currency = request.prices.currency;
  report.sections.push_back({"", {}, {step_plan_headline(request, plan)}, {}});
  ReportSection first{
      "Cost and speed",
      {scaling_chart(request, plan, "Cost of a million tokens",
                     fmt::format("{} for a million tokens", currency), "cost_per_million_tokens"),
       scaling_chart(request, plan, "Speed", "thousand tokens a second", "tokens_per_s", 1e-3)},
      {},
      {}};
  std::erase_if(first.charts, [](const ReportChart& each) { return each.series.empty(); });
  report.sections.push_back(std::move(first));
  report.sections.push_back({"Assumptions", {}, all_texts(request, plan), {}});
  ReportTable table{"",
                    {{"machine", "machine"},
                     {"nodes", "nodes"},
                     {"spares", "spare nodes"},
                     {"gpus", "GPUs"},
                     {"layout", "layout"},
                     {"step_ms", "step (ms)", 1},
                     {"step_low_ms", "low", 1},
                     {"step_high_ms", "high", 1},
                     {"mfu", "mfu %", 1, plan_percent},
                     {"memory_GB", "memory (GB)", 1},
                     {"goodput", "goodput %", 1, plan_percent},
                     {"tokens_per_s", "tokens/s", 0},
                     {"scaling", "scaling", 2},
                     {"cost_per_hour", fmt::format("{} an hour", currency), 2},
                     {"cost_per_million_tokens", fmt::format("{}/Mtoken", currency), 4},
                     {"run_days", "run (days)", 1},
                     {"run_cost", fmt::format("run ({})", currency), 0},
                     {"mark", ""}},
                    step_plan_records(request, plan)};
  report.sections.push_back({"All machines", {}, {}, {std::move(table)}});
  return report;
}

}  // namespace collsim::command
