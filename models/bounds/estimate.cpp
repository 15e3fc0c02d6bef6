#include "models/bounds/estimate.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "models/bounds/closed_form.h"
#include "sim/execution/effort.h"
#include "sim/execution/executor.h"
#include "sim/execution/steady_state.h"
#include "sim/execution/timeline.h"
#include "sim/fabric/uncontended_fabric.h"

namespace collsim {

namespace {

/// A connection on a machine.
struct LaidConnection {
  std::uint32_t channel = 0;
  Connection ends{};
  const Wire* wire = nullptr;
};

/// An all_reduce as closed forms see it.
struct ClosedCall {
  std::string_view algorithm;
  const Placement* placement = nullptr;
  std::uint32_t channels = 1;
  std::uint32_t loops = 1;  ///< of the first channel,
  double bytes = 0;         ///< and its data
  ChunkSizes chunks{};
  Chunking chunking{};
  std::vector<LaidConnection> connections{};  ///< by channel
  std::vector<BytesPerSecond> capacities{};   ///< by ResourceId
};

/// Who uses a resource, on all channels that carry data.
struct Usage {
  std::size_t at_once = 0;  ///< flows if every rank talks to one peer at a time
  std::size_t channels = 0;
  std::size_t connections = 0;

  /// A rank's own way in or out: all its users share one end.
  bool port() const { return at_once == channels && connections > channels; }
};

std::vector<Usage> count_usage(const ClosedCall& call) {
  std::vector<Usage> usage(call.capacities.size());
  std::vector<std::set<Rank>> sources(usage.size());
  std::vector<std::set<Rank>> destinations(usage.size());
  const auto end_channel = [&] {
    for (std::size_t resource = 0; resource < usage.size(); ++resource) {
      const std::size_t at_once = std::min(sources[resource].size(), destinations[resource].size());
      if (at_once == 0) continue;
      usage[resource].at_once += at_once;
      ++usage[resource].channels;
      sources[resource].clear();
      destinations[resource].clear();
    }
  };
  std::uint32_t channel = 0;
  for (const LaidConnection& each : call.connections) {
    if (each.channel != channel) end_channel();
    channel = each.channel;
    for (const ResourceId resource : each.wire->resources) {
      sources[resource].insert(each.ends.src);
      destinations[resource].insert(each.ends.dst);
      ++usage[resource].connections;
    }
  }
  end_channel();
  return usage;
}

HopCost hop_of(const Wire& wire, const ClosedCall& call, const std::vector<Usage>& usage,
               const ProtocolConstants& cost) {
  HopCost hop;
  hop.alpha = wire.latency + message_alpha(cost, wire.kind, false);
  hop.serial = slice_step({&cost}, true, false);
  hop.slices = call.chunking.slices;
  hop.credits = call.chunking.credits;
  for (const ResourceId resource : wire.resources) {
    const BytesPerSecond share =
        (1.0 / static_cast<double>(usage[resource].at_once)) * call.capacities[resource];
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
  const Rank nodes = placement.nodes();
  // Its messages are followed one by one: 3,000 ranks take 0.2 s, 100,000 take 20 s.
  constexpr Rank max_followed = 4096;
  if (algorithm == "recursive_halving_doubling") return placement.ranks() <= max_followed;
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
std::optional<HopCost> one_port_hop(const ClosedCall& call, const ProtocolConstants& cost) {
  const bool whole = call.channels == 1 && call.loops == 1 && call.chunking.slices == 1 &&
                     slice_step({&cost}, true, false).value == 0;
  if (!whole) return std::nullopt;
  std::vector<PortUse> uses(call.capacities.size());
  std::optional<HopCost> hop;
  for (const LaidConnection& each : call.connections) {
    HopCost own;
    own.alpha = each.wire->latency + message_alpha(cost, each.wire->kind, false);
    for (const ResourceId resource : each.wire->resources) {
      own.port = std::min(own.port, call.capacities[resource]);
      if (!uses[resource].add(each.ends)) return std::nullopt;
    }
    if (!hop) hop = own;
    if (!each.wire->network.empty() || !alike(*hop, own)) return std::nullopt;
  }
  return hop;
}

std::optional<Levels> uniform_levels(const ClosedCall& call, const ProtocolConstants& cost) {
  const std::vector<Usage> usage = count_usage(call);
  if (needs_private_links(call.algorithm, *call.placement)) {
    const bool shared = std::any_of(usage.begin(), usage.end(),
                                    [](const Usage& use) { return use.connections > 1; });
    if (shared && knows_ports(call.algorithm, *call.placement)) {
      const auto hop = one_port_hop(call, cost);
      return hop ? std::optional(Levels{hop, hop}) : std::nullopt;
    }
    if (shared) return std::nullopt;
  }
  Levels levels;
  const auto& node_of_rank = call.placement->node_of_rank;
  for (const LaidConnection& each : call.connections) {
    const bool within = node_of_rank[each.ends.src] == node_of_rank[each.ends.dst];
    if (!each.wire->network.empty()) return std::nullopt;
    std::optional<HopCost>& level = within ? levels.intra : levels.inter;
    const HopCost hop = hop_of(*each.wire, call, usage, cost);
    if (!level) level = hop;
    if (!alike(*level, hop)) return std::nullopt;
  }
  return levels;
}

/// The form at its hops; nothing where those of a level are unlike.
std::optional<Estimate> estimate_by_form(const ClosedCall& call, const ProtocolConstants& cost) {
  const auto levels = uniform_levels(call, cost);
  if (!levels) return std::nullopt;
  const bool two_levels = levels->intra && levels->inter;
  const bool composed = call.algorithm.starts_with("hierarchical");
  if (two_levels && !composed && !alike(*levels->intra, *levels->inter)) return std::nullopt;
  ClosedFormInput input;
  input.placement = *call.placement;
  // Channel 0 has the largest share; where the data divide evenly, all are the same.
  input.loops = std::max<std::uint32_t>(call.loops, 1);
  input.bytes = cost.wire_factor * call.bytes;
  const bool is_whole = call.channels == 1 && input.loops == 1 && call.chunking.slices == 1;
  const bool by_largest = is_whole && goes_by_largest_chunk(call.algorithm);
  if (by_largest) {
    const Bytes evened = call.chunks.count * call.chunks.largest;
    input.bytes = cost.wire_factor * static_cast<double>(evened.count);
  }
  input.inter = levels->inter ? *levels->inter : levels->intra.value_or(HopCost{});
  input.intra = levels->intra.value_or(input.inter);
  const auto time = closed_form(call.algorithm, input);
  if (!time) return std::nullopt;
  Estimate estimate{*time, EstimateMethod::closed_form, std::nullopt};
  if (!call.chunks.alike && !by_largest) estimate.method = EstimateMethod::formula;
  if (call.channels == 1 && call.chunks.alike) {
    estimate.form = form_terms(call.algorithm, input);
  }
  return estimate;
}

/// No form knows thread blocks that differ by their links.
bool has_kinds_of_its_own(const Calibration& cost, Protocol protocol) {
  const auto& over = cost.over[static_cast<std::size_t>(protocol)];
  return std::any_of(over.begin(), over.end(), [](const auto& own) { return own.has_value(); });
}

/// More messages are continued where steps repeat themselves: each takes 1 us and 90 bytes. Not so
/// loops: a pipeline's first ones spend their time on other things than the rest.
bool may_continue(const Execution& execution) {
  constexpr double many_messages = 1e6;
  const std::uint32_t max_loops = steady_length(execution).loops;
  for (std::uint32_t channel = 0; channel < execution.partition.channels(); ++channel) {
    if (execution.partition.loops(channel) > max_loops) return false;
  }
  return effort_of(execution).whole > many_messages;
}

/// What was skipped is like what was not.
void grow(CriticalPath& path, Seconds whole) {
  const double growth = (whole - path.launch).value / (path.total() - path.launch).value;
  for (Seconds* part : {&path.latency, &path.serial, &path.transfer}) *part = growth * *part;
}

bool is_idle(const DataPartition& partition) {
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    if (partition.loops(channel) > 0) return false;
  }
  return true;
}

}  // namespace

bool may_have_closed_form(const Calibration& cost, Protocol protocol) {
  return !has_kinds_of_its_own(cost, protocol) && !has_thread_blocks(cost.of(protocol));
}

/// The first chunks are the largest.
ChunkSizes chunk_sizes(const DataPartition& partition, std::uint32_t count) {
  ChunkSizes sizes{count, partition.chunk_bytes(0, 0, {0, 1}), true};
  const std::uint32_t last = partition.channels() - 1;
  const std::uint32_t loops = partition.loops(last);
  const std::uint32_t last_slice = partition.chunking().slices - 1;
  sizes.alike =
      loops == partition.loops(0) &&
      (loops == 0 || partition.chunk_bytes(last, loops - 1, {count - 1, 1}) == sizes.largest) &&
      partition.slice_bytes(sizes.largest, last_slice) == partition.slice_bytes(sizes.largest, 0);
  return sizes;
}

Trust trust_by(EstimateMethod method, Trust basis) {
  const bool only_near = method != EstimateMethod::closed_form && basis == Trust::exact;
  return only_near ? Trust::derived : basis;
}

std::optional<Estimate> closed_estimate(const Plan& plan, const Wiring& wiring,
                                        const Placement& placement, const DataPartition& partition,
                                        std::uint32_t chunks, const ProtocolConstants& cost) {
  if (plan.collective != Collective::all_reduce) return std::nullopt;
  if (!plan.schedule(0).agents().empty()) return std::nullopt;  // no form knows switches that add
  ClosedCall call{plan.algorithm,
                  &placement,
                  partition.channels(),
                  partition.loops(0),
                  static_cast<double>(partition.bytes_of(0).count),
                  chunk_sizes(partition, chunks),
                  partition.chunking(),
                  {},
                  wiring.capacities};
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      call.connections.push_back({channel, connections[i], &wiring.wires[channel][i]});
    }
  }
  return estimate_by_form(call, cost);
}

CriticalPath uncontended_critical_path(const Plan& plan, const DataPartition& partition,
                                       const Wiring& wiring, const Calibration& cost,
                                       Protocol protocol, std::uint32_t warps) {
  UncontendedFabric fabric;
  Timeline timeline;
  Execution execution{plan, partition, wiring, cost, protocol, warps};
  execution.steady = may_continue(execution);
  const ExecutionResult result = execute(execution, fabric, &timeline);
  CriticalPath path = critical_path(timeline, execution.startup());
  if (result.steady) grow(path, result.time);
  return path;
}

Estimate estimate(const Plan& plan, const Placement& placement, const DataPartition& partition,
                  const Wiring& wiring, const Calibration& cost, Protocol protocol,
                  const ModelFloor& floor, std::uint32_t warps) {
  const Seconds launch =
      cost.startup(protocol, plan.collective, busy_channels(plan, partition), warps);
  if (is_idle(partition) || plan.ranks() == 1) return {launch};
  auto form = may_have_closed_form(cost, protocol)
                  ? closed_estimate(plan, wiring, placement, partition, plan.schedule(0).chunks(),
                                    cost.of(protocol))
                  : std::nullopt;
  if (form) {
    if (launch.value > 0) form->form.reset();  // it knows no launch
    form->time += launch;
    return *form;
  }
  const CriticalPath path =
      uncontended_critical_path(plan, partition, wiring, cost, protocol, warps);
  const Seconds busiest = floor.busiest_resource() - launch;
  return {path.total() - path.transfer + std::max(path.transfer, busiest),
          EstimateMethod::critical_path, std::nullopt};
}

}  // namespace collsim
