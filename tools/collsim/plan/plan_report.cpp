#include "tools/collsim/plan/plan_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "models/calibration/error_table.h"
#include "models/calibration/scaling_error.h"
#include "models/planning/network_words.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/plan/plan_chart.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/report/row_table.h"

namespace collsim::command {

namespace {

constexpr double percent = 100;
constexpr double milli = 1e3;

Record number_or_null(const std::optional<double>& number) {
  return number ? Record(*number) : Record();
}

/// "best", "tie", "late", or nothing.
std::string mark_of(const PlanRow& row) {
  if (row.cheapest) return "best";
  if (row.ties) return "tie";
  return row.meets ? "" : "late";
}

/// The titles of columns of money; columns refer to them.
struct MoneyUnits {
  std::string of_hour;
  std::string of_work;
};

/// All columns of the table, but for those that say nothing in this plan.
std::vector<Column> all_columns_of(const CapacityRequest& request, const MoneyUnits& units) {
  const bool compute = has_compute(request);
  // The column by which the best is chosen is never left out.
  const bool by_hour = request.target.is_set();
  const int leave_cost = by_hour ? 0 : 1;
  const int leave_work = by_hour ? 4 : 0;
  std::vector<Column> columns{{"alternative", "", "", 3, 0, 0},
                              {"nodes", "nodes", "", 5, 0, 0},
                              {"gpus", "gpus", "", 6, 0, 6}};
  if (request.workloads.size() > 1) columns.push_back({"workload", "moved", "", 12, 0, 1});
  columns.insert(columns.end(), {{"time_ms", "time", "(ms)", 9, 2, 0},
                                 {"busbw_GBps", "busbw", "(GB/s)", 6, 1, 2}});
  if (compute) columns.push_back({"step_ms", "step", "(ms)", 8, 1, 1});
  columns.push_back({"weak_percent", "weak", "(%)", 4, 0, 3});
  if (compute) columns.push_back({"strong_percent", "strong", "(%)", 6, 0, 5});
  columns.insert(columns.end(), {{"limit", "limit", "", 8, 0, 1},
                                 {"limit_percent", "used", "(%)", 4, 0, 7},
                                 {"cost_per_hour", "cost", units.of_hour, 9, 0, leave_cost},
                                 {"cost_of_work", "work", units.of_work, 8, 4, leave_work},
                                 {"mark", "mark", "", 4, 0, 0},
                                 {"from", "from", "", 4, 0, 0},
                                 {"trust", "trust", "", 8, 0, 1},
                                 {"algorithm", "algo", "", 10, 0, wide_only},
                                 {"protocol", "proto", "", 6, 0, wide_only},
                                 {"change", "change", "", 28, 0, wide_only}});
  return columns;
}

MoneyUnits units_of(const CapacityRequest& request) {
  const std::string& currency = request.prices.currency;
  return {fmt::format("({}/h)", currency), fmt::format("({})", currency)};
}

void print_note(std::string_view text, std::ostream& out) {
  out << wrapped(text, "# ", "#   ");
}

/// Sentences under the table.
using PlanNotes = std::vector<std::string>;

std::string place_of(const PlanRow& row) {
  return fmt::format("{} at {} {}", letter_of(row.alternative), row.nodes,
                     row.nodes == 1 ? "node" : "nodes");
}

void print_head(const CapacityRequest& request, std::ostream& out) {
  std::string moved;
  for (const Workload& workload : request.workloads) {
    moved += fmt::format("{}{}", moved.empty() ? "" : ", ", workload.name);
  }
  print_note(fmt::format("collsim {}: plan for {} of {} a step, by NCCL {}", COLLSIM_VERSION,
                         to_string(request.call.collective), moved,
                         to_string(request.call.run.nccl_version)),
             out);
  for (const Workload& workload : request.workloads) {
    if (!workload.source.empty()) {
      print_note(fmt::format("{}: {}", workload.name, workload.source), out);
    }
  }
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    print_note(fmt::format("{} {}", letter_of(i), assumptions_of(request.alternatives[i])), out);
  }
  out << "#\n";
}

void add_legend(const CapacityRequest& request, PlanNotes& notes) {
  std::string text = request.target.is_set()
                         ? "best: costs least per hour of those that meet the target; late: misses "
                           "it; tie: costs no more than the best, and meets it within the error"
                         : "best: costs least for the same work; tie: cannot be told apart from "
                           "the best, since the difference is within the error";
  text += request.messages > 0
              ? "; run: simulated as `collsim run`; part: what is simulated is four nodes or a "
                "smaller call, scaled by formulas; est: by formulas"
              : "; est: by formulas";
  notes.push_back(std::move(text));
}

/// "B at 16 nodes, C at 16 nodes".
std::string places_of(const CapacityPlan& plan, const std::vector<std::size_t>& rows) {
  constexpr std::size_t max_named = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), max_named); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", place_of(plan.rows[rows[i]]));
  }
  if (rows.size() > max_named) text += fmt::format(" and {} more", rows.size() - max_named);
  return text;
}

/// What cannot be told apart from the best of each workload, and whether that is sure to meet the
/// target.
void add_ties(const CapacityRequest& request, const CapacityPlan& plan, PlanNotes& notes) {
  for (std::size_t workload = 0; workload < request.workloads.size(); ++workload) {
    std::vector<std::size_t> ties;
    const PlanRow* best = nullptr;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      const PlanRow& row = plan.rows[i];
      if (row.workload != workload) continue;
      if (row.ties) ties.push_back(i);
      if (row.cheapest) best = &row;
    }
    if (best == nullptr) continue;
    const std::string of = request.workloads.size() > 1
                               ? fmt::format("{}: ", request.workloads[workload].name)
                               : std::string();
    if (!ties.empty()) {
      notes.push_back(fmt::format("{}cannot be told apart from the best, {}: {}", of,
                                  place_of(*best), places_of(plan, ties)));
    }
    if (request.target.is_set() && best->near_target) {
      notes.push_back(
          fmt::format("{}whether {} meets the target cannot be told: the error of its "
                      "time is {:.0f} %",
                      of, place_of(*best), percent * best->error));
    }
  }
}

/// Where each alternative stops, those alike in one line.
void add_ends(const CapacityRequest& request, const CapacityPlan& plan, PlanNotes& notes) {
  std::map<std::string, std::string> letters;
  for (const ScalingEnd& end : plan.ends) {
    std::string text = fmt::format("goes on to {} nodes, the most that were asked about",
                                   plan.rows[*end.last].nodes);
    if (end.first) {
      const PlanRow& row = plan.rows[*end.first];
      text = fmt::format("ends at {}; {} nodes are {:.2f} x as fast, limit {} ({:.0f} % used)",
                         plan.rows[*end.last].nodes, row.nodes,
                         plan.rows[*end.last].work.value / row.work.value,
                         to_string(row.limit.limit), percent * row.limit.utilisation);
    }
    if (request.workloads.size() > 1) {
      text = fmt::format("{}, {}", request.workloads[end.workload].name, text);
    }
    std::string& names = letters[text];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", letter_of(end.alternative));
  }
  const char* const kind = request.scaling == Scaling::weak ? "weak" : "strong";
  for (const auto& [text, names] : letters) {
    notes.push_back(fmt::format("{} scaling of {} {}", kind, names, text));
  }
}

/// The count at which changes are compared: the cheapest's, or else the largest that there is.
std::uint32_t compared_nodes(const CapacityPlan& plan, std::size_t workload) {
  std::uint32_t most = 0;
  for (const PlanRow& row : plan.rows) {
    if (row.workload == workload) most = std::max(most, row.nodes);
  }
  return most;
}

/// Whether a change is one of cables between switches.
bool concerns_spines(const std::string& change) {
  return change.find("oversubscription=") != std::string::npos ||
         change.find("placement=") != std::string::npos ||
         change.find("fabric=") != std::string::npos;
}

void add_upgrades(const CapacityRequest& request, const CapacityPlan& plan, PlanNotes& notes) {
  for (const UpgradeValue& value : plan.upgrades) {
    const PlanRow& row = plan.rows[value.row];
    if (row.nodes != compared_nodes(plan, row.workload)) continue;
    const Alternative& alternative = request.alternatives[row.alternative];
    const PlanRow& without = plan.rows[value.base_row];
    std::string text = fmt::format("{} instead of {}", place_of(row), letter_of(alternative.base));
    if (request.workloads.size() > 1) {
      text += fmt::format(", {}", request.workloads[row.workload].name);
    }
    text += fmt::format(": time {:+.1f} %", percent * value.time);
    if (value.price) {
      text +=
          fmt::format(", price {:+.1f} %: the same work costs {:+.1f} %", percent * *value.price,
                      percent * ((1 + value.time) * (1 + *value.price) - 1));
    }
    if (value.by_formulas) text += " (both by formulas)";
    if (!row.crosses_spines && !without.crosses_spines && concerns_spines(alternative.change)) {
      text += "; no call crosses the spines";
    } else if (value.ties()) {
      text += fmt::format("; the times cannot be told apart, their error is {:.0f} %",
                          percent * value.error);
    }
    notes.push_back(text);
  }
}

std::string source_of(const PriceSource& from) {
  std::string text;
  for (const std::string* part : {&from.vendor, &from.what, &from.source, &from.date}) {
    if (!part->empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", *part);
  }
  return text;
}

/// The prices that rows use, each once.
std::map<std::string, const GpuPrice*> used_prices(const CapacityPlan& plan) {
  std::map<std::string, const GpuPrice*> prices;
  for (const PlanRow& row : plan.rows) {
    if (row.price) prices[row.price->gpu->gpu] = row.price->gpu;
  }
  return prices;
}

void add_prices(const CapacityRequest& request, const CapacityPlan& plan, PlanNotes& notes) {
  const PriceSheet& sheet = request.prices;
  const bool rented = request.basis == CostBasis::rent;
  for (const auto& [gpu, price] : used_prices(plan)) {
    notes.push_back(fmt::format("price of {}: {:g} {} per GPU{} ({})", gpu, price->price,
                                sheet.currency, rented ? "-hour" : "", source_of(price->from)));
  }
  std::set<std::string> unknown;
  for (const PlanRow& row : plan.rows) {
    if (!row.price) unknown.insert(letter_of(row.alternative));
  }
  if (!unknown.empty()) {
    notes.push_back(
        fmt::format("no price of the GPUs of {} in {}", fmt::join(unknown, ", "), sheet.file));
  }
  if (rented) {
    notes.push_back(
        fmt::format("network: {:.0f} % of a rented price, in proportion to its value ({})",
                    percent * sheet.rules.network_share, sheet.rules.source));
  } else {
    notes.push_back(fmt::format(
        "network: {:g} {} an end and {:g} a trunk of {} ({}); written off in "
        "{:g} years, with power, without interest ({})",
        sheet.network.end, sheet.currency, sheet.network.trunk, to_string(sheet.network.rate),
        source_of(sheet.network.from), sheet.rules.life_years, sheet.rules.source));
  }
}

void add_sensitivities(const CapacityRequest& request, const CapacityPlan& plan, PlanNotes& notes) {
  for (std::size_t workload = 0; workload < request.workloads.size(); ++workload) {
    const auto best = std::find_if(plan.rows.begin(), plan.rows.end(), [&](const PlanRow& row) {
      return row.workload == workload && row.cheapest;
    });
    const std::string of = request.workloads.size() > 1
                               ? fmt::format(" for {}", request.workloads[workload].name)
                               : std::string();
    if (best == plan.rows.end()) {
      if (request.target.is_set()) notes.push_back(fmt::format("nothing meets the target{}", of));
      continue;
    }
    const auto number = static_cast<std::size_t>(best - plan.rows.begin());
    std::string changes;
    std::set<std::string> prices;
    for (const PriceSensitivity& each : plan.sensitivities) {
      if (each.workload != workload) continue;
      prices.insert(each.price);
      if (each.cheapest == number) continue;
      changes += fmt::format("; {} {:+.0f} %: {}", each.price, percent * (each.factor - 1),
                             place_of(plan.rows[each.cheapest]));
    }
    const std::string stays = changes.empty() ? fmt::format(", also if {} cost 20 % more or less",
                                                            fmt::join(prices, " or "))
                                              : changes;
    notes.push_back(fmt::format("cheapest by these numbers{}: {}{}", of, place_of(*best), stays));
  }
}

void print_trust(const CapacityPlan& plan, std::ostream& out) {
  const bool grows = std::any_of(plan.rows.begin(), plan.rows.end(), [&](const PlanRow& row) {
    return row.error > 0 && row.nodes != plan.rows.front().nodes;
  });
  const ScalingError scaling = load_scaling_error();
  if (grows && scaling.off > 0) {
    print_note(fmt::format("times on different counts of nodes: typically {:.0f} % off beside each "
                           "other ({})",
                           percent * scaling.off, scaling.source),
               out);
  }
  std::set<std::pair<Trust, std::string>> used;
  for (const PlanRow& row : plan.rows) used.emplace(row.prediction.trust, row.prediction.medium);
  const ErrorTable errors = load_error_table();
  for (const auto& [trust, medium] : used) {
    const ErrorClass* const known = find_error_class(errors, trust, medium);
    if (known == nullptr) continue;
    print_note(
        fmt::format("trust: {} over {}: typically {:.0f} % off from 16 MiB ({} rows of {} "
                    "machines)",
                    to_string(trust), known->medium, percent * typical_error(known->ranges.back()),
                    known->rows, known->machines),
        out);
  }
}

void print_plan_chart(const CapacityRequest& request, const CapacityPlan& plan, std::ostream& out) {
  const std::string what = has_compute(request) ? "step" : "time";
  for (std::size_t workload = 0; workload < request.workloads.size(); ++workload) {
    std::vector<ChartPoint> points;
    std::set<std::uint32_t> counts;
    for (const PlanRow& row : plan.rows) {
      if (row.workload != workload) continue;
      counts.insert(row.nodes);
      points.push_back({letter_of(row.alternative), static_cast<double>(row.nodes),
                        milli * row.step.value, describe(request.alternatives[row.alternative])});
    }
    const std::string& name = request.workloads[workload].name;
    out << "#\n";
    if (counts.size() > 1) {
      print_chart(points, fmt::format("{} (ms, logarithmic) of {} by nodes", what, name), out);
    } else {
      print_bars(points, fmt::format("{} (ms) of {} at {} nodes", what, name, *counts.begin()),
                 out);
    }
  }
}

Record end_record(const CapacityPlan& plan, const ScalingEnd& end) {
  Record record{{"alternative", letter_of(end.alternative)},
                {"workload", end.workload},
                {"scaling", end.scaling == Scaling::weak ? "weak" : "strong"},
                {"scales_to_nodes", plan.rows[*end.last].nodes}};
  record["stops_at_nodes"] = end.first ? Record(plan.rows[*end.first].nodes) : Record();
  record["limit"] =
      end.first ? Record(std::string(to_string(plan.rows[*end.first].limit.limit))) : Record();
  return record;
}

Record price_record(const std::string& gpu, const GpuPrice& price) {
  return {{"gpu", gpu},
          {"price", price.price},
          {"vendor", price.from.vendor},
          {"what", price.from.what},
          {"date", price.from.date},
          {"source", price.from.source}};
}

}  // namespace

ReportSeries& line_called(const std::string& name, ReportChart& chart) {
  const auto found = std::find_if(chart.series.begin(), chart.series.end(),
                                  [&](const ReportSeries& each) { return each.name == name; });
  if (found != chart.series.end()) return *found;
  const int tone = static_cast<int>(chart.series.size());
  return chart.series.emplace_back(ReportSeries{name, SeriesMark::line, tone, false, {}});
}

bool has_compute(const CapacityRequest& request) {
  return std::any_of(request.alternatives.begin(), request.alternatives.end(),
                     [](const Alternative& each) { return each.compute.value > 0; });
}

std::vector<ReportColumn> plan_columns(const CapacityRequest& request) {
  return report_columns(all_columns_of(request, units_of(request)));
}

std::string letter_of(std::size_t alternative) {
  constexpr std::size_t letters = 26;
  const std::string last(1, static_cast<char>('A' + alternative % letters));
  return alternative < letters ? last : letter_of(alternative / letters - 1) + last;
}

std::string assumptions_of(const Alternative& alternative) {
  if (alternative.nodes.back() == 1) return describe(alternative);
  return fmt::format("{}: {}", describe(alternative), network_in_words(alternative.parts));
}

Record record_of(const CapacityRequest& request, const PlanRow& row) {
  const Alternative& alternative = request.alternatives[row.alternative];
  Record record{{"alternative", letter_of(row.alternative)},
                {"machine", alternative.parts.name},
                {"change", alternative.change},
                {"workload", request.workloads[row.workload].name},
                {"size_bytes", request.workloads[row.workload].bytes.count},
                {"nodes", row.nodes},
                {"gpus", row.gpus},
                {"time_ms", milli * row.time.value},
                {"busbw_GBps", row.busbw / 1e9},
                {"step_ms", milli * row.step.value},
                {"weak_percent", percent * row.weak},
                {"strong_percent", percent * row.strong},
                {"limit", std::string(to_string(row.limit.limit))},
                {"limit_percent", percent * row.limit.utilisation},
                {"cost_per_hour", row.price ? Record(row.price->per_hour) : Record()},
                {"cost_of_work", number_or_null(row.cost)},
                {"currency", request.prices.currency},
                {"error_percent", percent * row.error},
                {"on_front", row.on_front},
                {"cheapest", row.cheapest},
                {"ties_with_cheapest", row.ties},
                {"meets_target", row.meets},
                {"near_target", row.near_target},
                {"mark", mark_of(row)},
                {"from", std::string(to_string(row.basis))},
                {"algorithm", row.prediction.algorithm},
                {"protocol", std::string(to_string(row.prediction.protocol))},
                {"trust", std::string(to_string(row.prediction.trust))}};
  record["collsim_version"] = COLLSIM_VERSION;
  return record;
}

Record as_json(const CapacityRequest& request, const CapacityPlan& plan) {
  Record json{{"rows", Record::array()},     {"scaling", Record::array()},
              {"upgrades", Record::array()}, {"sensitivities", Record::array()},
              {"prices", Record::array()},   {"alternatives", Record::array()}};
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    json["alternatives"].push_back({{"alternative", letter_of(i)},
                                    {"machine", request.alternatives[i].parts.name},
                                    {"change", request.alternatives[i].change},
                                    {"network", network_in_words(request.alternatives[i].parts)}});
  }
  for (const PlanRow& row : plan.rows) json["rows"].push_back(record_of(request, row));
  for (const ScalingEnd& end : plan.ends) json["scaling"].push_back(end_record(plan, end));
  for (const UpgradeValue& value : plan.upgrades) {
    json["upgrades"].push_back({{"row", value.row},
                                {"instead_of_row", value.base_row},
                                {"time_change", value.time},
                                {"time_error", value.error},
                                {"tie", value.ties()},
                                {"by_formulas", value.by_formulas},
                                {"price_change", number_or_null(value.price)}});
  }
  for (const PriceSensitivity& each : plan.sensitivities) {
    json["sensitivities"].push_back(
        {{"price", each.price}, {"factor", each.factor}, {"cheapest_row", each.cheapest}});
  }
  for (const auto& [gpu, price] : used_prices(plan)) {
    json["prices"].push_back(price_record(gpu, *price));
  }
  return json;
}

std::vector<std::string> plan_notes(const CapacityRequest& request, const CapacityPlan& plan) {
  PlanNotes notes;
  add_legend(request, notes);
  add_ties(request, plan, notes);
  add_ends(request, plan, notes);
  add_upgrades(request, plan, notes);
  add_sensitivities(request, plan, notes);
  add_prices(request, plan, notes);
  return notes;
}

void print_plan(const CapacityRequest& request, const CapacityPlan& plan, bool wide,
                std::ostream& out) {
  print_head(request, out);
  const MoneyUnits units = units_of(request);
  std::vector<Column> columns = all_columns_of(request, units);
  if (!wide) columns = fitting(std::move(columns));
  out << titles_of(columns);
  for (const PlanRow& row : plan.rows) {
    fmt::print(out, "{}\n", line_of(columns, record_of(request, row)));
  }
  out << "#\n";
  for (const std::string& note : plan_notes(request, plan)) print_note(note, out);
  print_trust(plan, out);
  print_plan_chart(request, plan, out);
}

}  // namespace collsim::command
