#include "tools/collsim/plan/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/faults/machine_faults.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr double million_tokens_of_price = 1e6;
constexpr double hour_of_price = 3600;
/// Counts below the one that money buys that are tried until a layout fits the batch.
constexpr std::uint32_t tried_counts = 64;

/// The probability that a Poisson variable is at most `most`.
double poisson_at_most(double mean, std::uint32_t most) {
  constexpr double many = 500;  // the normal distribution is as good, and exp(-mean) near its end
  if (mean > many) return std::erfc((mean - most - 0.5) / std::sqrt(2 * mean)) / 2;
  double term = std::exp(-mean);
  double sum = term;
  for (std::uint32_t i = 1; i <= most; ++i) {
    term *= mean / i;
    sum += term;
  }
  return std::min(1.0, sum);
}

/// Plans step by step.
class StepPlanner {
 public:
  explicit StepPlanner(const StepPlanRequest& request)
      : request_(request), table_(load_kernel_table()) {}

  StepPlan plan();

 private:
  std::vector<std::uint32_t> counts_of(const Alternative& alternative) const;
  bool add_row(std::size_t number, std::uint32_t nodes);
  void add_rows(std::size_t number);
  void add_faulty_rows(std::size_t number);
  void compare_scaling(std::size_t first);
  /// The calls of a job of so many nodes on the machine of an alternative, with its faults.
  MachineCalls calls_on(const Topology& topology, std::size_t number, std::uint32_t nodes) const;
  /// Of so many nodes an hour, as a cluster of their own.
  std::optional<double> price_of(std::size_t number, std::uint32_t nodes,
                                 const Goodput& goodput) const;
  void judge(StepPlanRow& row) const;
  void find_best();
  bool buys_speed() const { return request_.budget || request_.hourly; }
  /// What the best has the least of, or nothing for a row without a price.
  std::optional<double> value_of(const StepPlanRow& row) const;

  const StepPlanRequest& request_;
  KernelTable table_;
  StepPlan plan_;
  std::string why_none_;  ///< of the last count that has no row
};

std::optional<double> StepPlanner::price_of(std::size_t number, std::uint32_t nodes,
                                            const Goodput& goodput) const {
  const Alternative& alternative = request_.alternatives[number];
  const Alternative& base = request_.alternatives[alternative.base];
  const Topology machine = compose(alternative.parts, nodes);
  const auto price = cluster_price(request_.prices, request_.basis, request_.vendor, machine,
                                   compose(base.parts, machine.node_count()));
  if (!price) return std::nullopt;
  const double all = machine.node_count();
  return price->per_hour * (all + goodput.spares) / all;
}

/// As many nodes as an hour's budget buys, or those that are asked about.
std::vector<std::uint32_t> StepPlanner::counts_of(const Alternative& alternative) const {
  if (!request_.hourly) return alternative.nodes;
  const auto number = static_cast<std::size_t>(&alternative - request_.alternatives.data());
  const std::uint32_t several = alternative.parts.fabric.empty() ? 1 : 2;
  const auto price_of_nodes = [&](std::uint32_t nodes) { return price_of(number, nodes, {}); };
  // Nodes of another kind beside them cost the same however many these are.
  const auto price = price_of_nodes(several);
  const bool beside = alternative.parts.beside_count > 0;
  const auto more = beside ? price_of_nodes(2 * several) : price;
  if (!price || !more || *price <= 0) return {};
  const double of_node = (beside ? *more - *price : *price) / several;
  const double of_others = *price - several * of_node;
  const MachineParts& parts = alternative.parts;
  constexpr double max_nodes = 100'000;
  const double most = parts.placement == NodePlacement::listed
                          ? static_cast<double>(parts.listed.size())
                          : max_nodes;
  const double bought = std::floor((*request_.hourly - of_others) / of_node);
  if (bought < 1) return {};
  return {several == 1 ? 1 : static_cast<std::uint32_t>(std::min(most, bought))};
}

void StepPlanner::judge(StepPlanRow& row) const {
  row.tokens_per_second = row.layout.step.tokens_per_second * row.goodput.share;
  if (row.per_hour) {
    row.token_cost =
        *row.per_hour / hour_of_price * million_tokens_of_price / row.tokens_per_second;
  }
  if (request_.tokens > 0) {
    row.run = Seconds{request_.tokens / row.tokens_per_second};
    if (row.per_hour) row.run_cost = *row.per_hour * row.run.value / hour_of_price;
  }
  row.meets = (!request_.deadline || row.run <= *request_.deadline) &&
              (!request_.budget || (row.run_cost && *row.run_cost <= *request_.budget)) &&
              (!request_.hourly || (row.per_hour && *row.per_hour <= *request_.hourly));
}

MachineCalls StepPlanner::calls_on(const Topology& topology, std::size_t number,
                                   std::uint32_t nodes) const {
  const Alternative& alternative = request_.alternatives[number];
  MachineCalls calls;
  calls.topology = &topology;
  calls.gpus = job_gpus(topology, alternative.parts, nodes);
  calls.run = request_.run;
  calls.faults =
      find_faults(alternative.faults, topology, static_cast<Rank>(topology.gpus().size()));
  return calls;
}

/// Whether the model runs on so many nodes.
bool StepPlanner::add_row(std::size_t number, std::uint32_t nodes) {
  const MachineParts& parts = request_.alternatives[number].parts;
  const Topology topology = compose(parts, nodes_around(parts, nodes));
  const LayoutSearch search{request_.setup, 1, request_.by_speed};
  FoundLayouts found = search_layouts(calls_on(topology, number, nodes), table_, search);
  if (found.layouts.empty()) {
    why_none_ = fmt::format("{} x {}: {}", nodes + parts.beside_count,
                            describe(request_.alternatives[number]),
                            collsim::why_none(found.counts, request_.setup));
    return false;
  }
  StepPlanRow row;
  row.alternative = number;
  row.nodes = nodes + parts.beside_count;
  row.layout = std::move(found.layouts.front());
  row.gpus = static_cast<std::uint32_t>(row.layout.setup.ranks());
  row.goodput = goodput_of(request_.failures, row.nodes, row.gpus);
  row.per_hour = price_of(number, nodes, row.goodput);
  judge(row);
  plan_.rows.push_back(std::move(row));
  return true;
}

/// A fault strikes a job that runs: its layout stays.
void StepPlanner::add_faulty_rows(std::size_t number) {
  const Alternative& alternative = request_.alternatives[number];
  const std::size_t first = plan_.rows.size();
  for (std::size_t i = 0; i < first; ++i) {
    if (plan_.rows[i].alternative != alternative.base) continue;
    StepPlanRow row = plan_.rows[i];
    const std::uint32_t nodes = row.nodes - alternative.parts.beside_count;
    const Topology topology = compose(alternative.parts, nodes_around(alternative.parts, nodes));
    StepMachine machine(some_of_each_node(calls_on(topology, number, nodes), row.layout.per_node),
                        table_);
    const Seconds healthy = row.layout.step.time;
    row.alternative = number;
    row.layout.step = machine.predict(row.layout.setup);
    row.slower = row.layout.step.time.value / healthy.value - 1;
    judge(row);
    plan_.rows.push_back(std::move(row));
  }
  compare_scaling(first);
}

void StepPlanner::add_rows(std::size_t number) {
  if (!request_.alternatives[number].faults.empty()) return add_faulty_rows(number);
  const Alternative& alternative = request_.alternatives[number];
  const std::size_t first = plan_.rows.size();
  const std::vector<std::uint32_t> counts = counts_of(alternative);
  for (const std::uint32_t count : counts) {
    const std::size_t before = plan_.rows.size();
    if (add_row(number, count) && plan_.rows.back().meets) continue;
    // Fewer nodes may divide the batch, or leave money for those that stand by.
    for (std::uint32_t less = count - 1; request_.hourly && less >= 1; --less) {
      if (count - less > tried_counts) break;
      if (plan_.rows.size() > first) plan_.rows.pop_back();
      if (add_row(number, less) && plan_.rows.back().meets) break;
    }
    if (plan_.rows.size() == before) plan_.warnings.insert(why_none_);
  }
  if (counts.empty()) {
    plan_.warnings.insert(
        fmt::format("{}: its price is not known, or above the budget", alternative.parts.name));
  }
  compare_scaling(first);
}

/// Of the rows of an alternative, which are the last ones.
void StepPlanner::compare_scaling(std::size_t first) {
  if (first == plan_.rows.size()) return;
  const StepPlanRow& few = plan_.rows[first];
  const double reference = few.tokens_per_second / few.gpus;
  for (std::size_t i = first; i < plan_.rows.size(); ++i) {
    StepPlanRow& row = plan_.rows[i];
    row.scaling = row.tokens_per_second / row.gpus / reference;
  }
}

std::optional<double> StepPlanner::value_of(const StepPlanRow& row) const {
  if (buys_speed()) return 1 / row.tokens_per_second;
  return row.token_cost;
}

void StepPlanner::find_best() {
  StepPlanRow* best = nullptr;
  for (StepPlanRow& row : plan_.rows) {
    if (row.slower || !row.meets || !value_of(row)) continue;
    if (best == nullptr || *value_of(row) < *value_of(*best)) best = &row;
  }
  if (best == nullptr) return;
  best->best = true;
  // Both may be off, one up and the other down: errors of different machines are independent.
  const double off = 1 + std::sqrt(2.0) * step_error;
  for (StepPlanRow& row : plan_.rows) {
    row.ties = !row.best && !row.slower && row.meets && value_of(row) &&
               *value_of(row) <= off * *value_of(*best);
  }
}

StepPlan StepPlanner::plan() {
  for (std::size_t i = 0; i < request_.alternatives.size(); ++i) {
    if (request_.progress) request_.progress(i, request_.alternatives.size());
    add_rows(i);
  }
  find_best();
  return std::move(plan_);
}

}  // namespace

Goodput goodput_of(const FailureRates& rates, std::uint32_t nodes, std::uint32_t gpus) {
  const double between = rates.between.value / gpus;  // of the job
  Goodput goodput;
  const double interval = std::sqrt(2 * rates.checkpoint.value * between);
  goodput.between_checkpoints = Seconds{interval};
  const double saving = interval > 0 ? rates.checkpoint.value / interval : 0;
  const double working = 1 / (1 + saving + (interval / 2 + rates.restart.value) / between);
  const double in_repair = rates.repair.value / between;
  const auto share_with = [&](std::uint32_t spares) {
    return working * poisson_at_most(in_repair, spares);
  };
  if (rates.spares) {
    goodput.spares = *rates.spares;
  } else {
    const auto paid = [&](std::uint32_t spares) {
      return share_with(spares) * nodes / (nodes + spares);
    };
    // Up to the mean in repair, each spare helps; after it, until one costs more than it brings.
    goodput.spares = static_cast<std::uint32_t>(in_repair);
    while (paid(goodput.spares + 1) > paid(goodput.spares)) ++goodput.spares;
  }
  goodput.share = share_with(goodput.spares);
  return goodput;
}

StepPlan plan_steps(const StepPlanRequest& request) {
  return StepPlanner(request).plan();
}

}  // namespace collsim
