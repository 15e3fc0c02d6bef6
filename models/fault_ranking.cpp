#include "models/fault_ranking.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "models/resource_load.h"
#include "sim/native_fabric.h"

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

Seconds time_with(const Predictor& predictor, const Predictor::Call& call,
                  const std::vector<ResourceId>& degraded, double share) {
  Disturbance disturbance;
  MachineChange& change = disturbance.changes.emplace_back();
  for (const ResourceId resource : degraded) {
    change.capacities.push_back({resource, share * call.layout->wiring.capacities[resource]});
  }
  Execution execution = predictor.execution(call);
  execution.disturbance = &disturbance;
  NativeFabric fabric;
  return execute(execution, fabric).time;
}

/// Slices that the whole call sends, or a little more.
std::uint64_t transfers_of(const Predictor::Call& call) {
  std::uint64_t transfers = 0;
  for (std::uint32_t channel = 0; channel < call.binding.channels(); ++channel) {
    const Schedule& schedule = call.layout->plan.schedule(channel);
    std::uint64_t sends_of_loop = 0;
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
        for (const Primitive& primitive : schedule.program(rank, lane)) {
          if (sends(primitive.kind)) sends_of_loop += schedule.peers(primitive.send_group).size();
        }
      }
    }
    transfers += sends_of_loop * call.binding.loops(channel);
  }
  return transfers * call.binding.chunking().slices;
}

Prediction at_least(const Predictor& predictor, const Predictor::Call& call) {
  Prediction prediction;
  prediction.size = call.binding.size();
  prediction.algorithm = call.algorithm;
  prediction.protocol = call.protocol;
  prediction.bounds = predictor.bounds_of(call);
  prediction.time = prediction.bounds.largest();
  return prediction;
}

/// Runs `work(0)` to `work(count - 1)`, in any order. What one throws is thrown when all are over.
template <typename Work>
void in_threads(unsigned threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(failing);
        failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(loop);
  loop();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

FaultRanking rank_links(const Predictor& predictor, Bytes size, double share,
                        const RankingEffort& effort) {
  FaultRanking ranking;
  ranking.share = share;
  const Predictor::Call call = predictor.call(size);
  const bool small = transfers_of(call) <= effort.healthy;
  ranking.healthy = small ? predictor.simulate(size, Engine::native) : at_least(predictor, call);
  const Wiring& wiring = call.layout->wiring;
  const ProtocolCost& cost = predictor.cost().of(call.protocol);
  const CableResources resources = resources_of_cables(wiring, predictor.topology());
  const ResourceLoad load = resource_load(call.layout->plan, call.binding, wiring, cost);
  const Seconds launch = predictor.cost().launch + cost.setup;
  std::size_t used = 0;
  for (LinkClass& links :
       link_classes(call.layout->plan, call.binding, wiring, predictor.topology(), cost)) {
    used += links.cables.size();
    RankedLink& ranked = ranking.links.emplace_back();
    double seconds = 0;
    for (const ResourceId id : resources.at(links.cables.front())) {
      seconds = std::max(seconds, load.resources[id] / wiring.capacities[id].value);
    }
    ranked.busy = seconds / ranking.healthy.time.value;
    ranked.time = launch + Seconds{seconds / share};
    ranked.simulated = false;
    ranked.links = std::move(links);
  }
  ranking.idle_cables = predictor.topology().links().size() / 2 - used;

  const auto worse = [](const RankedLink& a, const RankedLink& b) { return a.time > b.time; };
  std::stable_sort(ranking.links.begin(), ranking.links.end(), worse);
  const std::uint64_t affordable =
      small ? effort.transfers / std::max<std::uint64_t>(ranking.healthy.transfers, 1) : 0;
  const std::size_t simulated = std::min<std::uint64_t>(ranking.links.size(), affordable);
  in_threads(effort.threads, simulated, [&](std::size_t i) {
    RankedLink& ranked = ranking.links[i];
    ranked.time = time_with(predictor, call, resources.at(ranked.links.cables.front()), share);
    ranked.simulated = true;
  });
  for (RankedLink& ranked : ranking.links) {
    if (!ranked.simulated) ranked.time = std::max(ranked.time, ranking.healthy.time);
    ranked.slowdown = ranked.time.value / ranking.healthy.time.value;
  }
  std::stable_sort(ranking.links.begin(), ranking.links.end(), worse);
  return ranking;
}

}  // namespace collsim
