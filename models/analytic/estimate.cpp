#include "models/analytic/estimate.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "models/analytic/closed_form.h"
#include "sim/execution/executor.h"
#include "sim/execution/timeline.h"
#include "sim/fabric/uncontended_fabric.h"

namespace collsim {

namespace {

/// Who uses a resource, on all channels that carry data.
struct Usage {
  std::size_t at_once = 0;  ///< flows if every rank talks to one peer at a time
  std::size_t channels = 0;
  std::size_t connections = 0;

  /// A rank's own way in or out: all its users share one end.
  bool port() const { return at_once == channels && connections > channels; }
};

std::vector<Usage> count_usage(const Plan& plan, const Binding& binding, const Wiring& wiring) {
  std::vector<Usage> usage(wiring.capacities.size());
  std::vector<std::set<Rank>> sources(usage.size());
  std::vector<std::set<Rank>> destinations(usage.size());
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      for (const ResourceId resource : wiring.wires[channel][i].resources) {
        sources[resource].insert(connections[i].src);
        destinations[resource].insert(connections[i].dst);
        ++usage[resource].connections;
      }
    }
    for (std::size_t resource = 0; resource < usage.size(); ++resource) {
      const std::size_t at_once = std::min(sources[resource].size(), destinations[resource].size());
      if (at_once == 0) continue;
      usage[resource].at_once += at_once;
      ++usage[resource].channels;
      sources[resource].clear();
      destinations[resource].clear();
    }
  }
  return usage;
}

HopCost hop_of(const Wire& wire, const Wiring& wiring, const std::vector<Usage>& usage,
               const ProtocolCost& cost, const Chunking& chunking) {
  HopCost hop;
  hop.alpha = wire.latency + cost.alpha[static_cast<std::size_t>(wire.kind)];
  hop.serial = cost.step;
  hop.slices = chunking.slices;
  hop.credits = chunking.credits;
  for (const ResourceId resource : wire.resources) {
    const BytesPerSecond share =
        (1.0 / static_cast<double>(usage[resource].at_once)) * wiring.capacities[resource];
    BytesPerSecond& limit = usage[resource].port() ? hop.port : hop.rate;
    limit = std::min(limit, share);
  }
  return hop;
}

bool alike(const HopCost& a, const HopCost& b) {
  const auto near = [](double x, double y) { return x == y || std::abs(x - y) <= 1e-12 * x; };
  return near(a.alpha.value, b.alpha.value) && near(a.rate.value, b.rate.value) &&
         near(a.port.value, b.port.value);
}

/// The hop costs within and between nodes, where each is the same for all connections.
struct Levels {
  std::optional<HopCost> intra;
  std::optional<HopCost> inter;
};

/// Whether the algorithm's form knows ranks that have one port. Of a double tree with chains inside
/// nodes it does not: messages of both trees meet at the ports of a chain.
bool knows_ports(std::string_view algorithm, const Placement& placement) {
  const std::size_t nodes = placement.ranks_by_node().size();
  return algorithm == "tree" ||
         (algorithm == "double_binary_tree" && (nodes == placement.ranks() || nodes == 1));
}

/// Who uses a link that may be somebody's port.
struct PortUse {
  std::set<Rank> sources;
  std::set<Rank> destinations;

  /// Whether it is still one rank's way out or in.
  bool add(const Connection& connection) {
    sources.insert(connection.src);
    destinations.insert(connection.dst);
    return sources.size() == 1 || destinations.size() == 1;
  }
};

/// The hop between any two ranks that have one port of their own each way, where all connections
/// are alike and nothing else is shared; for whole messages of one channel.
std::optional<HopCost> one_port_hop(const Plan& plan, const Binding& binding, const Wiring& wiring,
                                    const ProtocolCost& cost) {
  const bool whole = binding.channels() == 1 && binding.loops(0) == 1 &&
                     binding.chunking().slices == 1 && cost.step.value == 0;
  if (!whole) return std::nullopt;
  const auto connections = plan.schedule(0).connections();
  std::vector<PortUse> uses(wiring.capacities.size());
  std::optional<HopCost> hop;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Wire& wire = wiring.wires[0][i];
    HopCost own;
    own.alpha = wire.latency + cost.alpha[static_cast<std::size_t>(wire.kind)];
    for (const ResourceId resource : wire.resources) {
      own.port = std::min(own.port, wiring.capacities[resource]);
      if (!uses[resource].add(connections[i])) return std::nullopt;
    }
    if (!hop) hop = own;
    if (!wire.network.empty() || !alike(*hop, own)) return std::nullopt;
  }
  return hop;
}

std::optional<Levels> uniform_levels(const Plan& plan, const Placement& placement,
                                     const Binding& binding, const Wiring& wiring,
                                     const ProtocolCost& cost) {
  // No form knows rounds, proxies, or steps that cost as what is done in them.
  const Corrections& corrections = cost.corrections;
  const bool by_operation = (corrections.copy_step + corrections.half_block).value > 0 ||
                            cost.read < unlimited || cost.write < unlimited;
  if (cost.flags_lines() || by_operation) return std::nullopt;
  const std::vector<Usage> usage = count_usage(plan, binding, wiring);
  if (needs_private_links(plan.algorithm, placement)) {
    const bool shared = std::any_of(usage.begin(), usage.end(),
                                    [](const Usage& use) { return use.connections > 1; });
    if (shared && knows_ports(plan.algorithm, placement)) {
      const auto hop = one_port_hop(plan, binding, wiring, cost);
      return hop ? std::optional(Levels{hop, hop}) : std::nullopt;
    }
    if (shared) return std::nullopt;
  }
  Levels levels;
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      const bool within =
          placement.node_of_rank[connections[i].src] == placement.node_of_rank[connections[i].dst];
      if (!wiring.wires[channel][i].network.empty()) return std::nullopt;
      std::optional<HopCost>& level = within ? levels.intra : levels.inter;
      const HopCost hop = hop_of(wiring.wires[channel][i], wiring, usage, cost, binding.chunking());
      if (!level) level = hop;
      if (!alike(*level, hop)) return std::nullopt;
    }
  }
  return levels;
}

std::optional<Estimate> try_closed_form(const Plan& plan, const Placement& placement,
                                        const Binding& binding, const Wiring& wiring,
                                        const ProtocolCost& cost) {
  if (plan.collective != Collective::all_reduce) return std::nullopt;
  if (!plan.schedule(0).agents().empty()) return std::nullopt;  // no form knows switches that add
  const auto levels = uniform_levels(plan, placement, binding, wiring, cost);
  if (!levels) return std::nullopt;
  const bool two_levels = levels->intra && levels->inter;
  const bool composed = plan.algorithm.starts_with("hierarchical");
  if (two_levels && !composed && !alike(*levels->intra, *levels->inter)) return std::nullopt;
  ClosedFormInput input;
  input.placement = placement;
  // Channel 0 has the largest share; where the data divide evenly, all are the same.
  input.loops = std::max<std::uint32_t>(binding.loops(0), 1);
  double bytes = 0;
  const ChunkRange all{0, plan.schedule(0).chunks()};
  for (std::uint32_t loop = 0; loop < binding.loops(0); ++loop) {
    bytes += static_cast<double>(binding.chunk_bytes(0, loop, all).count);
  }
  input.bytes = cost.wire_factor * bytes;
  input.inter = levels->inter ? *levels->inter : levels->intra.value_or(HopCost{});
  input.intra = levels->intra.value_or(input.inter);
  const auto time = closed_form(plan.algorithm, input);
  if (!time) return std::nullopt;
  Estimate estimate{*time, EstimateMethod::closed_form, std::nullopt};
  if (binding.channels() == 1) estimate.form = form_terms(plan.algorithm, input);
  return estimate;
}

/// No form knows thread blocks that differ by their links.
bool has_kinds_of_its_own(const Calibration& cost, Protocol protocol) {
  const auto& over = cost.over[static_cast<std::size_t>(protocol)];
  return std::any_of(over.begin(), over.end(), [](const auto& own) { return own.has_value(); });
}

bool is_idle(const Binding& binding) {
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    if (binding.loops(channel) > 0) return false;
  }
  return true;
}

}  // namespace

CriticalPath uncontended_critical_path(const Plan& plan, const Binding& binding,
                                       const Wiring& wiring, const Calibration& cost,
                                       Protocol protocol, std::uint32_t warps) {
  UncontendedFabric fabric;
  Timeline timeline;
  execute({plan, binding, wiring, cost, protocol, warps}, fabric, &timeline);
  return critical_path(
      timeline, cost.startup(protocol, plan.collective, busy_channels(plan, binding), warps));
}

Estimate estimate(const Plan& plan, const Placement& placement, const Binding& binding,
                  const Wiring& wiring, const Calibration& cost, Protocol protocol,
                  const ModelFloor& floor, std::uint32_t warps) {
  const Seconds launch =
      cost.startup(protocol, plan.collective, busy_channels(plan, binding), warps);
  if (is_idle(binding) || plan.ranks() == 1) return {launch};
  auto form = has_kinds_of_its_own(cost, protocol)
                  ? std::nullopt
                  : try_closed_form(plan, placement, binding, wiring, cost.of(protocol));
  if (form) {
    if (launch.value > 0) form->form.reset();  // it knows no launch
    form->time += launch;
    return *form;
  }
  const CriticalPath path = uncontended_critical_path(plan, binding, wiring, cost, protocol, warps);
  const Seconds busiest = floor.busiest_resource() - launch;
  return {path.total() - path.transfer + std::max(path.transfer, busiest),
          EstimateMethod::critical_path, std::nullopt};
}

}  // namespace collsim
