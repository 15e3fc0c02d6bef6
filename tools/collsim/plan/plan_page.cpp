// A plan of capacity as a page.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/calibration/transport.h"
#include "tools/collsim/plan/plan_report.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

constexpr double in_milliseconds = 1e3;

std::string series_name(const CapacityRequest& request, std::size_t alternative) {
  return fmt::format("{} {}", letter_of(alternative), describe(request.alternatives[alternative]));
}

std::string hint_of(const CapacityRequest& request, const PlanRow& row) {
  std::string text =
      fmt::format("{}\n{} nodes, {} GPUs: {:.2f} ms, {:.1f} GB/s; limit {}",
                  series_name(request, row.alternative), row.nodes, row.gpus,
                  in_milliseconds * row.step.value, row.busbw / 1e9, to_string(row.limit.limit));
  if (row.price) {
    text += fmt::format("\n{:.2f} {} per hour", row.price->per_hour, request.prices.currency);
  }
  if (row.error > 0) text += fmt::format("\ntypically {:.0f} % off", 100 * row.error);
  switch (row.basis) {
    case TimeBasis::formulas:
      return text + "\nby formulas";
    case TimeBasis::part:
      return text + "\nsimulated in part";
    case TimeBasis::run:
      return text + "\nsimulated";
  }
  return text;
}

/// The rows of a workload that a filter takes, as points of a series for each alternative.
template <typename PointOf>
std::vector<ChartSeries> by_alternative(const CapacityRequest& request, const CapacityPlan& plan,
                                        std::size_t workload, SeriesMark mark, PointOf point_of) {
  std::vector<ChartSeries> all;
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    ChartSeries series{series_name(request, i), mark, static_cast<int>(i)};
    for (const PlanRow& row : plan.rows) {
      if (row.workload != workload || row.alternative != i) continue;
      ChartPoint point = point_of(row);
      point.text = hint_of(request, row);
      if (!point.x.is_null()) series.points.push_back(std::move(point));
    }
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  return all;
}

/// A bar for each alternative, where all have the same count of nodes.
Chart chart_at_one_count(const CapacityRequest& request, const CapacityPlan& plan,
                         std::size_t workload) {
  Chart chart{has_compute(request) ? "Time of a step" : "Time",
              "Lower is better.",
              {"time (ms)", AxisScale::linear},
              {"", AxisScale::words}};
  chart.series = by_alternative(request, plan, workload, SeriesMark::bars, [&](const PlanRow& row) {
    const double time = in_milliseconds * row.step.value;
    return ChartPoint{time, series_name(request, row.alternative), fmt::format("{:.2f} ms", time)};
  });
  for (ChartSeries& series : chart.series) series.name.clear();  // the axis has the names
  return chart;
}

Chart chart_by_nodes(const CapacityRequest& request, const CapacityPlan& plan,
                     std::size_t workload) {
  const bool compute = has_compute(request);
  Chart chart{compute ? "Time of a step by nodes" : "Time by nodes",
              compute ? "Computing and communicating. Lower is better."
                      : "Of the communication of a step. Lower is better.",
              {"nodes", AxisScale::counts},
              {compute ? "step (ms)" : "time (ms)", AxisScale::logarithmic}};
  chart.series = by_alternative(request, plan, workload, SeriesMark::line, [](const PlanRow& row) {
    ChartPoint point{row.nodes, in_milliseconds * row.step.value};
    if (row.ties) point.label = "tie";
    if (row.cheapest) point.label = "best";
    return point;
  });
  return chart;
}

ChartPoint price_point(const PlanRow& row) {
  return {row.price ? Record(row.price->per_hour) : Record(), in_milliseconds * row.work.value};
}

/// Rings around what no other beats, by price, and a word at the cheapest.
ChartSeries front_series(const CapacityPlan& plan, std::size_t workload) {
  ChartSeries front{"faster, beyond the error, than all that costs less",
                    SeriesMark::rings,
                    reference_tone,
                    false,
                    {}};
  for (const PlanRow& row : plan.rows) {
    if (row.workload != workload || !row.on_front) continue;
    front.points.push_back(price_point(row));
    if (row.cheapest) front.points.back().label = "best";
  }
  std::stable_sort(front.points.begin(), front.points.end(),
                   [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  return front;
}

Chart chart_by_price(const CapacityRequest& request, const CapacityPlan& plan,
                     std::size_t workload) {
  Chart chart{"Time by price",
              "Of the same work at every count of nodes. Left and down is better.",
              {fmt::format("price ({} per hour)", request.prices.currency), AxisScale::logarithmic},
              {"time of the same work (ms)", AxisScale::logarithmic}};
  chart.series = by_alternative(request, plan, workload, SeriesMark::dots, price_point);
  ChartSeries front = front_series(plan, workload);
  if (!front.points.empty()) chart.series.push_back(std::move(front));
  return chart;
}

bool has_several_counts(const CapacityPlan& plan) {
  return std::any_of(plan.rows.begin(), plan.rows.end(),
                     [&](const PlanRow& row) { return row.nodes != plan.rows.front().nodes; });
}

std::string calibrations_of(const CapacityRequest& request) {
  std::set<std::string> names;
  for (const Alternative& each : request.alternatives) {
    // One node has no transport between nodes.
    for (const std::uint32_t nodes : {each.nodes.front(), each.nodes.back()}) {
      names.insert(calibration_for(compose(each.parts, nodes)).name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Answer head_of(const CapacityRequest& request, const std::string& command) {
  Answer answer{fmt::format("Plan for {} of {} a step", to_string(request.call.collective),
                            moved_in(request)),
                command,
                {{"NCCL", to_string(request.call.run.nccl_version)},
                 {"calibration", calibrations_of(request)}}};
  for (const Workload& workload : request.workloads) {
    if (!workload.source.empty()) answer.facts.push_back({workload.name, workload.source});
  }
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    answer.facts.push_back({letter_of(i), assumptions_of(request.alternatives[i])});
  }
  add_ranges_and_version(answer);  // notes have the ranges
  return answer;
}

}  // namespace

Answer plan_answer(const CapacityRequest& request, const CapacityPlan& plan, bool wide,
                   const std::string& command) {
  Answer answer = head_of(request, command);
  for (std::size_t i = 0; i < request.workloads.size(); ++i) {
    AnswerSection section{request.workloads.size() > 1 ? request.workloads[i].name : "",
                          {has_several_counts(plan) ? chart_by_nodes(request, plan, i)
                                                    : chart_at_one_count(request, plan, i)}};
    Chart by_price = chart_by_price(request, plan, i);
    if (!by_price.series.empty()) section.charts.push_back(std::move(by_price));
    section.shown = Shown::on_pages;
    answer.sections.push_back(std::move(section));
  }
  add_plan(request, plan, wide, answer);
  return answer;
}

}  // namespace collsim::command
