#include "tools/collsim/faults/fault_ranking.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "models/calibration/trust.h"
#include "models/machine/resource_load.h"
#include "models/predict/predictor.h"
#include "sim/base/parallel.h"
#include "sim/base/words.h"
#include "sim/execution/effort.h"
#include "sim/fabric/native_fabric.h"

namespace collsim {

namespace {

/// The resources of a cable that the wiring uses, one for each direction.
using CableResources = std::map<LinkId, std::vector<ResourceId>>;

CableResources resources_of_cables(const Wiring& wiring, const Topology& topology) {
  CableResources resources;
  for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
    const ResourceOrigin& origin = wiring.origins[id];
    if (origin.shared) continue;
    resources[std::min(origin.id, topology.link(origin.id).reverse)].push_back(id);
  }
  return resources;
}

/// Colour refinement takes a round over all connections for every few colours that it finds.
std::size_t max_colours(const Plan& plan) {
  constexpr std::size_t most = 1024;
  constexpr std::size_t least = 64;
  constexpr std::size_t work = std::size_t{1} << 24;
  std::size_t connections = 1;
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    connections += plan.schedule(channel).connections().size();
  }
  return std::clamp(work / connections, least, most);
}

/// Many cables are ranked.
constexpr SimulationBudget of_ranking{.max_ranks = 256, .max_seconds = 0.3};

/// With events, until it is steady. Nothing where more than `most` messages would have to be
/// simulated.
std::optional<ExecutionResult> try_to_execute(Execution execution, const MachineEvents& events,
                                              std::uint64_t most) {
  if (effort_of(execution).steady > static_cast<double>(most)) return std::nullopt;
  const Watch watch = [most](std::uint64_t messages) {
    if (messages > most) throw TooLong{};
  };
  execution.events = &events;
  execution.steady = true;
  execution.watch = &watch;
  NativeFabric fabric;
  try {
    return execute(execution, fabric);
  } catch (const TooLong&) {
    return std::nullopt;
  }
}

TimeOrigin origin_of(const ExecutionResult& result) {
  return result.steady ? TimeOrigin::steady_state : TimeOrigin::simulated;
}

class Ranker {
 public:
  Ranker(const CompiledCall& call, double share, const RankingEffort& effort)
      : call_(call),
        execution_(execution_of(call_)),
        resources_(resources_of_cables(call_.wiring(), topology())),
        effort_(effort) {
    ranking_.share = share;
  }

  FaultRanking rank() && {
    find_healthy();
    find_classes();
    bound();
    sort();
    simulate();
    for (RankedLink& ranked : ranking_.links) {
      ranked.slowdown = ranked.time.value / ranking_.healthy.time.value;
      ranked.slowdown_at_most = ranked.at_most.value / ranking_.healthy.time.value;
    }
    sort();
    return std::move(ranking_);
  }

 private:
  const Topology& topology() const { return call_.compiler->topology(); }
  const Calibration& cost() const { return call_.cost(); }

  void find_healthy() {
    Prediction& healthy = ranking_.healthy;
    Predictor predictor(*call_.compiler, by_simulation(of_ranking));
    if (predictor.scales(call_.size)) {
      healthy = predictor.predict(call_.size);
      ranking_.origin = TimeOrigin::scaled;
      return;
    }
    healthy = outline(call_);
    const auto found = try_to_execute(execution_, {}, effort_.healthy);
    if (!found) {
      ranking_.origin = TimeOrigin::bounds;
      healthy.time = healthy.floor.largest();
      return;
    }
    ranking_.origin = origin_of(*found);
    healthy.time = found->time;
    messages_ = found->transfers;
    healthy.transfers = found->transfers;
  }

  void find_classes() {
    load_ = resource_load(call_.plan(), call_.partition, call_.wiring(), cost().of(call_.protocol));
    std::size_t used = 0;
    for (LinkClass& links : link_classes(call_.plan(), call_.partition, call_.wiring(), topology(),
                                         load_, max_colours(call_.plan()))) {
      used += links.cables.size();
      ranking_.links.emplace_back().links = std::move(links);
    }
    ranking_.idle_cables = topology().links().size() / 2 - used;
  }

  /// What holds of every cable without simulation.
  void bound() {
    const Seconds launch = cost().startup(call_.protocol, call_.plan().collective, 1, 0);
    const Seconds healthy = ranking_.healthy.time;
    const double factor = 1 / ranking_.share;
    for (RankedLink& ranked : ranking_.links) {
      double busier = 0;
      double both = 0;
      for (const ResourceId id : resources_.at(ranked.links.cables.front())) {
        const double seconds = load_.resources[id] / call_.wiring().capacities[id].value;
        busier = std::max(busier, seconds);
        both += seconds;
      }
      ranked.busy = busier / healthy.value;
      ranked.origin = TimeOrigin::bounds;
      ranked.time = std::max(healthy, launch + Seconds{factor * busier});
      ranked.at_most = {std::numeric_limits<double>::infinity()};
      if (ranking_.origin == TimeOrigin::bounds) continue;
      ranked.at_most = std::min(factor * healthy, healthy + Seconds{(factor - 1) * both});
      ranked.at_most = std::max(ranked.at_most, ranked.time);
    }
  }

  void sort() {
    std::stable_sort(ranking_.links.begin(), ranking_.links.end(),
                     [](const RankedLink& a, const RankedLink& b) {
                       return std::pair(a.time, a.at_most) > std::pair(b.time, b.at_most);
                     });
  }

  void simulate() {
    if (ranking_.origin == TimeOrigin::bounds) return;
    if (ranking_.origin == TimeOrigin::scaled) {
      simulate_small_clusters();
      return;
    }
    const std::uint64_t affordable = effort_.transfers / std::max<std::uint64_t>(messages_, 1);
    const std::size_t count = std::min<std::uint64_t>(ranking_.links.size(), affordable);
    constexpr std::uint64_t patience = 3;  // a fault's steady state may come later
    for_each_in_parallel(count, effort_.threads, [&](std::size_t i) {
      RankedLink& ranked = ranking_.links[i];
      const MachineEvents events = degraded(ranked.links.cables.front());
      const auto found = try_to_execute(execution_, events, patience * messages_);
      if (!found) return;
      // A slow cable makes nothing faster; another order of events may, by a hair.
      ranked.time = ranked.at_most = std::max(found->time, ranking_.healthy.time);
      ranked.origin = origin_of(*found);
    });
  }

  void simulate_small_clusters() {
    const std::size_t count = std::min(ranking_.links.size(), effort_.scaled);
    for_each_in_parallel(count, effort_.threads, [&](std::size_t i) {
      RankedLink& ranked = ranking_.links[i];
      const LinkId cable = ranked.links.cables.front();
      LinkFault fault;
      fault.links = {cable, topology().link(cable).reverse};
      fault.share = ranking_.share;
      MachineFaults faults;
      faults.links.push_back(fault);
      Method method = by_simulation(of_ranking);
      method.beside_healthy = false;
      Predictor predictor(call_.compiler->with_faults(std::move(faults)), method);
      if (!predictor.scales(call_.size)) return;
      const Seconds time = predictor.predict(call_.size).time;
      ranked.time = ranked.at_most = std::max(time, ranking_.healthy.time);
      ranked.origin = TimeOrigin::scaled;
    });
  }

  MachineEvents degraded(LinkId cable) const {
    MachineEvents events;
    MachineChange& change = events.changes.emplace_back();
    for (const ResourceId resource : resources_.at(cable)) {
      const BytesPerSecond healthy = call_.wiring().capacities[resource];
      change.capacities.push_back({resource, ranking_.share * healthy});
    }
    return events;
  }

  const CompiledCall& call_;
  Execution execution_;
  CableResources resources_;
  RankingEffort effort_;
  ResourceLoad load_;
  std::uint64_t messages_ = 0;  // simulated for the healthy call
  FaultRanking ranking_;
};

}  // namespace

std::string_view to_string(TimeOrigin origin) {
  return word_for(origin, {{TimeOrigin::simulated, "simulated"},
                           {TimeOrigin::steady_state, "steady state"},
                           {TimeOrigin::scaled, "scaled"},
                           {TimeOrigin::bounds, "bounds"}});
}

FaultRanking rank_links(const CompiledCall& call, double share, const RankingEffort& effort) {
  return Ranker(call, share, effort).rank();
}

}  // namespace collsim
