#include "tools/collsim/plan/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "models/calibration/error_table.h"
#include "models/calibration/scaling_error.h"
#include "tools/collsim/plan/network_words.h"
#include "tools/collsim/plan/plan_chart.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"

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

/// Sentences under the table.
using PlanNotes = std::vector<std::string>;

std::string place_of(const PlanRow& row) {
  return fmt::format("{} at {} {}", letter_of(row.alternative), row.nodes,
                     row.nodes == 1 ? "node" : "nodes");
}

PlanNotes head_of(const CapacityRequest& request) {
  PlanNotes notes{fmt::format("collsim {}: plan for {} of {} a step, by NCCL {}", COLLSIM_VERSION,
                              to_string(request.call.collective), moved_in(request),
                              to_string(request.call.run.nccl_version))};
  for (const Workload& workload : request.workloads) {
    if (!workload.source.empty()) {
      notes.push_back(fmt::format("{}: {}", workload.name, workload.source));
    }
  }
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    notes.push_back(fmt::format("{} {}", letter_of(i), assumptions_of(request.alternatives[i])));
  }
  notes.emplace_back();
  return notes;
}

void add_legend(const CapacityRequest& request, PlanNotes& notes) {
  std::string text = request.target.is_set()
                         ? "best: costs least per hour of those that meet the target; late: misses "
                           "it; tie: costs no more than the best, and meets it within the error"
                         : "best: costs least for the same work; tie: cannot be told apart from "
                           "the best, since the difference is within the error";
  text += request.budget
              ? "; run: simulated as `collsim run`; part: what is simulated is a smaller "
                "call, scaled by formulas; est: by formulas"
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

void add_trust(const CapacityPlan& plan, PlanNotes& notes) {
  const bool grows = std::any_of(plan.rows.begin(), plan.rows.end(), [&](const PlanRow& row) {
    return row.error > 0 && row.nodes != plan.rows.front().nodes;
  });
  const ScalingError scaling = load_scaling_error();
  if (grows && scaling.off > 0) {
    notes.push_back(
        fmt::format("times on different counts of nodes: typically {:.0f} % off beside each "
                    "other ({})",
                    percent * scaling.off, scaling.source));
  }
  const ErrorTable errors = load_error_table();
  ErrorClasses classes;
  for (const PlanRow& row : plan.rows) {
    add_class(errors, row.prediction.trust, row.prediction.medium, classes);
  }
  for (std::string& text : range_texts(classes)) notes.push_back(std::move(text));
}

void print_plan_chart(const CapacityRequest& request, const CapacityPlan& plan, std::ostream& out) {
  const std::string what = has_compute(request) ? "step" : "time";
  for (std::size_t workload = 0; workload < request.workloads.size(); ++workload) {
    std::vector<MarkedPoint> points;
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

std::string moved_in(const CapacityRequest& request) {
  std::vector<std::string> names;
  for (const Workload& workload : request.workloads) names.push_back(workload.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool has_compute(const CapacityRequest& request) {
  return std::any_of(request.alternatives.begin(), request.alternatives.end(),
                     [](const Alternative& each) { return each.compute.value > 0; });
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

namespace {

/// All columns, but for those that say nothing in this plan.
Table plan_table(const CapacityRequest& request, const CapacityPlan& plan) {
  const std::string& currency = request.prices.currency;
  const bool compute = has_compute(request);
  // The column by which the best is chosen is never left out.
  const bool by_hour = request.target.is_set();
  const int moved_rank = request.workloads.size() > 1 ? 1 : data_only;
  Table table;
  for (const PlanRow& row : plan.rows) {
    const Alternative& alternative = request.alternatives[row.alternative];
    const Workload& moved = request.workloads[row.workload];
    NewRow add(table);
    const auto column = [&](const char* key, const char* title, const std::string& unit,
                            std::size_t width, int digits, int rank, Record value) {
      add(fixed_column(key, title, unit, width, digits, rank), std::move(value));
    };
    column("alternative", "", "", 3, 0, 0, letter_of(row.alternative));
    add.data("machine", alternative.parts.name);
    column("change", "change", "", 28, 0, wide_only, alternative.change);
    column("workload", "moved", "", 12, 0, moved_rank, moved.name);
    add.data("size_bytes", moved.bytes.count);
    column("nodes", "nodes", "", 5, 0, 0, row.nodes);
    column("gpus", "gpus", "", 6, 0, 6, row.gpus);
    column("time_ms", "time", "(ms)", 9, 2, 0, milli * row.time.value);
    column("busbw_GBps", "busbw", "(GB/s)", 6, 1, 2, row.busbw / 1e9);
    column("step_ms", "step", "(ms)", 8, 1, compute ? 1 : data_only, milli * row.step.value);
    column("weak_percent", "weak", "(%)", 4, 0, 3, percent * row.weak);
    column("strong_percent", "strong", "(%)", 6, 0, compute ? 5 : data_only, percent * row.strong);
    column("limit", "limit", "", 8, 0, 1, to_string(row.limit.limit));
    column("limit_percent", "used", "(%)", 4, 0, 7, percent * row.limit.utilisation);
    column("cost_per_hour", "cost", fmt::format("({}/h)", currency), 9, 0, by_hour ? 0 : 1,
           row.price ? Record(row.price->per_hour) : Record());
    column("cost_of_work", "work", fmt::format("({})", currency), 8, 4, by_hour ? 4 : 0,
           number_or_null(row.cost));
    add.data("currency", currency);
    add.data("error_percent", percent * row.error);
    add.data("on_front", row.on_front);
    add.data("cheapest", row.cheapest);
    add.data("ties_with_cheapest", row.ties);
    add.data("meets_target", row.meets);
    add.data("near_target", row.near_target);
    column("mark", "mark", "", 4, 0, 0, mark_of(row));
    column("from", "from", "", 4, 0, 0, to_string(row.basis));
    column("algorithm", "algo", "", 10, 0, wide_only, row.prediction.algorithm);
    column("protocol", "proto", "", 6, 0, wide_only, to_string(row.prediction.protocol));
    column("trust", "trust", "", 8, 0, 1, to_string(row.prediction.trust));
    add.data("collsim_version", COLLSIM_VERSION);
  }
  return table;
}

Record as_json(const CapacityRequest& request, const CapacityPlan& plan, const Table& table) {
  Record json{{"rows", table.rows},          {"scaling", Record::array()},
              {"upgrades", Record::array()}, {"sensitivities", Record::array()},
              {"prices", Record::array()},   {"alternatives", Record::array()}};
  for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
    json["alternatives"].push_back({{"alternative", letter_of(i)},
                                    {"machine", request.alternatives[i].parts.name},
                                    {"change", request.alternatives[i].change},
                                    {"network", network_in_words(request.alternatives[i].parts)}});
  }
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

}  // namespace

void add_plan(const CapacityRequest& request, const CapacityPlan& plan, bool wide, Answer& answer) {
  answer.head(comments(head_of(request)));
  PlanNotes notes{""};
  add_legend(request, notes);
  add_ties(request, plan, notes);
  add_ends(request, plan, notes);
  add_upgrades(request, plan, notes);
  add_sensitivities(request, plan, notes);
  add_prices(request, plan, notes);
  add_trust(plan, notes);
  Table table = plan_table(request, plan);
  table.wide = wide;
  answer.document = as_json(request, plan, table);
  AnswerSection section;
  section.tables.push_back(std::move(table));
  section.after = comments(notes);
  answer.sections.push_back(std::move(section));
  answer.draw([request, plan](std::ostream& out) { print_plan_chart(request, plan, out); });
}

}  // namespace collsim::command
