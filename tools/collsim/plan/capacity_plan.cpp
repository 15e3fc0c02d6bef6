#include "tools/collsim/plan/capacity_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/error_table.h"
#include "models/calibration/scaling_error.h"
#include "sim/base/parallel.h"
#include "sim/plan/collective.h"
#include "tools/collsim/plan/frontier.h"
#include "tools/collsim/request/change.h"

namespace collsim {

namespace {

constexpr std::array price_changes{0.8, 1.2};

/// One alternative at its counts.
using Machines = std::vector<std::unique_ptr<PlannedMachine>>;

class CapacityPlanner {
 public:
  explicit CapacityPlanner(const CapacityRequest& request) : request_(request) {}

  CapacityPlan plan() {
    for (const Alternative& each : request_.alternatives) make(each);
    for (std::size_t i = 0; i < machines_.size(); ++i) prices_.push_back(prices_of(i));
    plan_.reference_gpus = fewest_gpus();
    for (std::size_t workload = 0; workload < request_.workloads.size(); ++workload) {
      for (std::size_t i = 0; i < request_.alternatives.size(); ++i) add_rows(workload, i);
    }
    on_each_machine([this](PlannedMachine& of_row, PlanRow& row) { predict(of_row, row); });
    judge();
    find_ends();
    find_upgrades();
    find_sensitivities();
    return std::move(plan_);
  }

 private:
  void make(const Alternative& alternative) {
    Machines& machines = machines_.emplace_back();
    const bool searched =
        alternative.base + 1 < machines_.size() && keeps_nodes(alternative.change);
    for (const std::uint32_t nodes : alternative.nodes) {
      const PlannedMachine* like = machine_like(machines, nodes);
      if (like == nullptr && searched) like = machine_like(machines_[alternative.base], nodes);
      machines.push_back(
          std::make_unique<PlannedMachine>(alternative.parts, nodes, request_.call, like));
      note_warnings(machines.back()->compiler());
    }
  }

  void note_warnings(const CallCompiler& compiler) {
    plan_.warnings.insert(compiler.warnings().begin(), compiler.warnings().end());
    if (auto warning = calibration_warning(compiler.spec().cost)) {
      plan_.warnings.insert(std::move(*warning));
    }
  }

  /// One that has several nodes where `nodes` are several, and one where they are one; or null.
  static const PlannedMachine* machine_like(const Machines& machines, std::uint32_t nodes) {
    const auto found = std::find_if(machines.begin(), machines.end(), [&](const auto& each) {
      return (each->nodes() > 1) == (nodes > 1);
    });
    return found == machines.end() ? nullptr : found->get();
  }

  PlannedMachine& machine(const PlanRow& row) const {
    const Machines& machines = machines_[row.alternative];
    return **std::find_if(machines.begin(), machines.end(),
                          [&](const auto& each) { return each->nodes() == row.nodes; });
  }

  double fewest_gpus() const {
    std::uint32_t fewest = ~std::uint32_t{0};
    for (const Machines& machines : machines_) {
      for (const auto& each : machines) fewest = std::min(fewest, each->gpus());
    }
    return static_cast<double>(fewest);
  }

  /// Of an alternative, at its counts. A price includes the network of the unchanged machine of as
  /// many nodes.
  std::vector<std::optional<ClusterPrice>> prices_of(std::size_t alternative) const {
    const Machines& usual = machines_[request_.alternatives[alternative].base];
    const Machines& machines = machines_[alternative];
    std::vector<std::optional<ClusterPrice>> prices;
    for (std::size_t place = 0; place < machines.size(); ++place) {
      prices.push_back(cluster_price(request_.prices, request_.basis, request_.vendor,
                                     machines[place]->paid(), usual[place]->paid()));
    }
    return prices;
  }

  void add_rows(std::size_t workload, std::size_t alternative) {
    const Machines& machines = machines_[alternative];
    for (std::size_t place = 0; place < machines.size(); ++place) {
      PlanRow row;
      row.alternative = alternative;
      row.workload = workload;
      row.nodes = machines[place]->nodes();
      row.gpus = machines[place]->gpus();
      row.price = prices_[alternative][place];
      plan_.rows.push_back(std::move(row));
    }
  }

  /// Calls `act(machine, row)` for all rows: those of one machine in turn, machines on all cores.
  template <typename Act>
  void on_each_machine(const Act& act) {
    std::map<PlannedMachine*, std::vector<PlanRow*>> rows;
    for (PlanRow& row : plan_.rows) rows[&machine(row)].push_back(&row);
    std::vector<std::pair<PlannedMachine*, std::vector<PlanRow*>>> work(rows.begin(), rows.end());
    std::atomic<std::size_t> done = 0;
    for_each_in_parallel(work.size(), processors(), [&](std::size_t i) {
      for (PlanRow* const row : work[i].second) {
        act(*work[i].first, *row);
        if (request_.progress) request_.progress(++done, plan_.rows.size());
      }
    });
  }

  void predict(PlannedMachine& of_row, PlanRow& row) const {
    const Workload& workload = request_.workloads[row.workload];
    const std::vector<CallGroup> calls = calls_of(workload);
    WorkloadTime time = of_row.predict(calls, by_formulas());
    row.estimate = time.time;
    if (request_.budget) time = of_row.predict(calls, by_simulation(*request_.budget));
    row.time = time.time;
    row.basis = time.basis;
    row.prediction = std::move(time.largest);
    row.busbw =
        (workload.bytes / row.time).value * busbw_factor(request_.call.collective, row.gpus);
    row.error =
        typical_error(errors_, row.prediction.trust, row.prediction.medium, calls.front().size);
    if (row.nodes > 1) row.error = std::max(row.error, scaling_error_.of_gpu(of_row.gpu_model()));
    row.limit = of_row.limit(calls.front().size, row.prediction.time);
    row.crosses_spines = row.limit.uplink > 0 || of_row.spans_leaves();
  }

  /// All that follows from times and prices.
  void judge() {
    for (PlanRow& row : plan_.rows) judge(row);
    for_each_workload([&](const std::vector<std::size_t>& rows) {
      std::vector<CostAndTime> choices;
      std::vector<std::size_t> priced;
      for (const std::size_t row : rows) {
        if (!plan_.rows[row].price) continue;
        priced.push_back(row);
        choices.push_back({plan_.rows[row].price->per_hour, plan_.rows[row].work.value,
                           error_of_work(plan_.rows[row], plan_.rows[row])});
      }
      for (const std::size_t each : frontier(choices)) plan_.rows[priced[each]].on_front = true;
      if (const auto cheapest = cheapest_of(rows, {}, 1)) {
        plan_.rows[*cheapest].cheapest = true;
        for (const std::size_t row : rows) {
          plan_.rows[row].ties = row != *cheapest && might_beat(plan_.rows[row], *cheapest);
        }
      }
    });
  }

  /// Of the time of the work beside another row's: of communication, whose part it is.
  double error_of_work(const PlanRow& row, const PlanRow& other) const {
    double error = std::max(row.error, other.error);
    if (error > 0 && row.nodes != other.nodes) error = std::max(error, scaling_error_.off);
    return error * std::max(row.time.value / row.step.value, other.time.value / other.step.value);
  }

  /// Whether within the error a row would be cheaper than the cheapest, or as cheap.
  bool might_beat(const PlanRow& row, std::size_t cheapest) const {
    const PlanRow& best = plan_.rows[cheapest];
    if (!row.price || !(row.meets || row.near_target)) return false;
    const double ratio = cost_of(row, {}, 1) / cost_of(best, {}, 1);
    // With a target the price counts, which has no error.
    if (request_.target.is_set()) return ratio <= 1;
    return ratio <= 1 + error_of_work(row, best);
  }

  void judge(PlanRow& row) const {
    const Seconds compute = request_.alternatives[row.alternative].compute;
    const ScalingPoint point{static_cast<double>(row.gpus), row.time};
    const PlanRow& first = first_of(row);
    const ScalingPoint least{static_cast<double>(first.gpus), first.time};
    const double reference = plan_.reference_gpus;
    row.step = step_time(request_.scaling, compute, reference, point);
    row.work = work_time(request_.scaling, compute, reference, point);
    row.weak = efficiency(Scaling::weak, compute, least, point);
    row.strong = efficiency(Scaling::strong, reference / least.gpus * compute, least, point);
    if (row.price) row.cost = row.price->per_hour * row.work.value / 3600;
    const Seconds computing = row.step - row.time;
    row.meets = meets_target(row.time, computing);
    const double off = row.meets ? 1 + row.error : 1 / (1 + row.error);
    row.near_target = meets_target(off * row.time, computing) != row.meets;
  }

  bool meets_target(Seconds communication, Seconds computing) const {
    const PlanTarget& target = request_.target;
    const Seconds step = communication + computing;
    return (!target.time || step <= *target.time) &&
           (!target.share || communication <= *target.share * step);
  }

  /// The row of the fewest nodes of an alternative, and of the workload.
  const PlanRow& first_of(const PlanRow& row) const {
    return *std::find_if(plan_.rows.begin(), plan_.rows.end(), [&](const PlanRow& each) {
      return each.alternative == row.alternative && each.workload == row.workload;
    });
  }

  template <typename Act>
  void for_each_workload(const Act& act) {
    for (std::size_t workload = 0; workload < request_.workloads.size(); ++workload) {
      std::vector<std::size_t> rows;
      for (std::size_t i = 0; i < plan_.rows.size(); ++i) {
        if (plan_.rows[i].workload == workload) rows.push_back(i);
      }
      act(rows);
    }
  }

  /// What counts as the cost: with a target what the machine costs, else what the work does.
  double cost_of(const PlanRow& row, const std::string& changed, double factor) const {
    const ClusterPrice& price = *row.price;
    double per_hour = price.per_hour;
    if (changed == "network") {
      // A rented machine with its usual network has one price; only what differs is the network's.
      const double network = request_.basis == CostBasis::rent
                                 ? price.per_hour - price.usual_per_hour
                                 : price.network_per_hour;
      per_hour += (factor - 1) * network;
    } else if (price.gpu->gpu == changed) {
      per_hour +=
          (factor - 1) * (request_.basis == CostBasis::rent ? price.per_hour : price.gpus_per_hour);
    }
    return request_.target.is_set() ? per_hour : per_hour * row.work.value;
  }

  /// Of those that meet the target, of equal ones the faster; with one price another.
  std::optional<std::size_t> cheapest_of(const std::vector<std::size_t>& rows,
                                         const std::string& changed, double factor) const {
    std::optional<std::size_t> best;
    const auto key = [&](std::size_t row) {
      return std::pair(cost_of(plan_.rows[row], changed, factor), plan_.rows[row].work.value);
    };
    for (const std::size_t row : rows) {
      if (!plan_.rows[row].price || !plan_.rows[row].meets) continue;
      if (!best || key(row) < key(*best)) best = row;
    }
    return best;
  }

  /// The row without the change, with as many nodes; of unchanged machines the row itself.
  std::size_t base_row(std::size_t place) const {
    const PlanRow& row = plan_.rows[place];
    const std::size_t base = request_.alternatives[row.alternative].base;
    const auto found = std::find_if(plan_.rows.begin(), plan_.rows.end(), [&](const auto& each) {
      return each.alternative == base && each.workload == row.workload && each.nodes == row.nodes;
    });
    return static_cast<std::size_t>(found - plan_.rows.begin());
  }

  void find_ends() {
    for_each_workload([&](const std::vector<std::size_t>& rows) {
      for (std::size_t i = 0; i < request_.alternatives.size(); ++i) {
        std::vector<std::size_t> own;
        std::vector<ScalingPoint> points;
        for (const std::size_t row : rows) {
          if (plan_.rows[row].alternative != i) continue;
          own.push_back(row);
          points.push_back({static_cast<double>(plan_.rows[row].gpus), plan_.rows[row].time});
        }
        if (own.size() > 1) add_end(own, points);
      }
    });
  }

  void add_end(const std::vector<std::size_t>& rows, const std::vector<ScalingPoint>& points) {
    const PlanRow& row = plan_.rows[rows.front()];
    const Seconds compute = request_.alternatives[row.alternative].compute;
    ScalingEnd end{row.alternative, row.workload, request_.scaling, rows.back(), std::nullopt};
    const Seconds of_first = plan_.reference_gpus / points.front().gpus * compute;
    const bool strong = request_.scaling == Scaling::strong;
    const auto stop =
        first_that_does_not_scale(request_.scaling, strong ? of_first : compute, points);
    if (stop) {
      end.last = rows[*stop - 1];
      end.first = rows[*stop];
    }
    plan_.ends.push_back(end);
  }

  static bool is_simulated(const PlanRow& row) { return row.basis != TimeBasis::formulas; }

  Seconds estimated_step(const PlanRow& row) const {
    return step_time(request_.scaling, request_.alternatives[row.alternative].compute,
                     plan_.reference_gpus, {static_cast<double>(row.gpus), row.estimate});
  }

  void find_upgrades() {
    for (std::size_t i = 0; i < plan_.rows.size(); ++i) {
      const PlanRow& row = plan_.rows[i];
      const std::size_t base = base_row(i);
      if (base == i) continue;
      const PlanRow& without = plan_.rows[base];
      const bool alike = is_simulated(row) == is_simulated(without);
      const double time = alike ? row.step.value / without.step.value
                                : estimated_step(row).value / estimated_step(without).value;
      UpgradeValue value{i, base, !alike, time - 1, {}, error_of_work(row, without)};
      if (row.price && without.price) {
        value.price = row.price->per_hour / without.price->per_hour - 1;
      }
      plan_.upgrades.push_back(value);
    }
  }

  void find_sensitivities() {
    for_each_workload([&](const std::vector<std::size_t>& rows) {
      std::set<std::string> prices;
      for (const std::size_t row : rows) {
        if (!plan_.rows[row].price) continue;
        prices.insert(plan_.rows[row].price->gpu->gpu);
        if (plan_.rows[row].price->network_per_hour > 0) prices.insert("network");
      }
      for (const std::string& price : prices) {
        for (const double factor : price_changes) {
          const auto best = cheapest_of(rows, price, factor);
          if (best) {
            plan_.sensitivities.push_back({price, factor, plan_.rows[*best].workload, *best});
          }
        }
      }
    });
  }

  const CapacityRequest& request_;
  std::vector<Machines> machines_;                                // by alternative
  std::vector<std::vector<std::optional<ClusterPrice>>> prices_;  // and by count
  CapacityPlan plan_;
  ErrorTable errors_ = load_error_table();
  ScalingError scaling_error_ = load_scaling_error();
};

}  // namespace

std::string describe(const Alternative& alternative) {
  if (alternative.change.empty()) return alternative.parts.name;
  return fmt::format("{}, {}", alternative.parts.name, alternative.change);
}

CapacityPlan plan_capacity(const CapacityRequest& request) {
  return CapacityPlanner(request).plan();
}

}  // namespace collsim
