#include "models/simulate/folded_exchange.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/bounds/estimate.h"
#include "models/bounds/min_latencies.h"
#include "models/estimate/node_grid.h"
#include "models/machine/plan_wiring.h"
#include "models/machine/resource_table.h"
#include "sim/cost/slice_cost.h"
#include "sim/cost/warps.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/plan/schedule_writer.h"
#include "sim/routing/routing.h"
#include "sim/topologies/like_nodes.h"

namespace collsim {

namespace {

/// Whether what a call costs tells equal ranks apart, whatever the machine.
bool keeps_equals(const CallCompiler& compiler) {
  const Calibration& cost = compiler.cost();
  return cost.jitter == 0 && !cost.proxy.used && !cost.memory.used && compiler.calls() == 1 &&
         compiler.spec().faults.empty();
}

bool is_direct_exchange(const CallCompiler& compiler) {
  return !compiler.is_nccl() && compiler.spec().collective == Collective::all_to_all &&
         compiler.spec().run.algorithm == "direct";
}

bool has_like_nodes(const CallCompiler& compiler) {
  const Topology& topology = compiler.topology();
  if (topology.takes_detours()) return false;
  const std::vector<std::uint32_t> firsts = first_like_nodes(topology);
  const std::vector<std::uint32_t>& nodes = compiler.placement().node_of_rank;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](std::uint32_t node) { return firsts[node] == firsts[nodes.front()]; });
}

/// From a rank of the first node to any rank, and so from the same rank of each other node to the
/// rank that is as far on.
struct Hop {
  Rank from = 0;
  Rank to = 0;
};

/// The hops of one node's ranks as connections between these ranks. Each node's are alike.
class FoldedHops {
 public:
  FoldedHops(NodeGrid grid) : grid_(grid), ranks_(grid.nodes * grid.per_node) {}

  Rank ranks() const { return ranks_; }
  Rank per_node() const { return grid_.per_node; }
  /// Hops between the same two ranks of nodes are told apart by how many nodes lie between.
  Connection connection(Hop hop) const {
    return {hop.from, hop.to % grid_.per_node, hop.to / grid_.per_node};
  }
  Hop hop(const Connection& connection) const {
    return {connection.src, connection.lane * grid_.per_node + connection.dst};
  }
  /// Seen from the first node, a hop from any rank.
  Hop from_first_node(Hop hop) const {
    const Rank place = hop.from % grid_.per_node;
    return {place, (hop.to + ranks_ - (hop.from - place)) % ranks_};
  }

 private:
  NodeGrid grid_;
  Rank ranks_;
};

/// What sim/algorithms/all_to_all_direct.cpp emits, of the first node's ranks.
Plan plan_of(const FoldedHops& hops, std::uint32_t channels) {
  const Rank ranks = hops.ranks();
  ScheduleWriter writer(hops.per_node(), 1, blocks(Collective::all_to_all, ranks));
  writer.phase("exchange");
  for (Rank rank = 0; rank < hops.per_node(); ++rank) {
    for (Rank distance = 1; distance < ranks; ++distance) {
      const Hop out{rank, (rank + distance) % ranks};
      const Hop in{(rank + ranks - distance) % ranks, rank};
      writer.append(rank, 0, PrimitiveKind::send, {out.from * ranks + out.to, 1}, 0,
                    writer.group(hops.connection(out)));
      writer.append(rank, 0, PrimitiveKind::recv, {in.from * ranks + in.to, 1},
                    writer.group(hops.connection(hops.from_first_node(in))), 0);
    }
  }
  Plan plan;
  plan.collective = Collective::all_to_all;
  plan.algorithm = "direct";
  plan.schedules.push_back(std::move(writer).build());
  plan.schedule_of_channel.assign(channels, 0);
  return plan;
}

/// Finds what stands in the first node of a call for the links of nodes like it.
class LinksOfFirstNode {
 public:
  LinksOfFirstNode(const Topology& topology, DeviceId gpu)
      : topology_(topology),
        first_(topology.node(static_cast<std::uint32_t>(topology.node_of(gpu)))) {}

  /// Nothing where a way has a cable between switches, loads something of the fabric's, or loads
  /// what stands for two different capacities.
  std::optional<std::vector<LinkId>> way(const std::vector<LinkId>& links) const;

 private:
  /// A link at a node, or the cable from or to it.
  struct AtNode {
    std::int32_t node = -1;
    LinkId link = 0;  ///< of the first node in its place
  };
  std::optional<AtNode> at_node(LinkId id) const;
  LinkId cable_in_place(DeviceId device, LinkId cable) const;

  const Topology& topology_;
  NodePart first_;
};

/// Like nodes list their cables in one order.
LinkId LinksOfFirstNode::cable_in_place(DeviceId device, LinkId cable) const {
  const NodePart part = topology_.node(static_cast<std::uint32_t>(topology_.node_of(device)));
  const auto cables = topology_.fabric_links_from(device);
  const auto place =
      static_cast<std::size_t>(std::find(cables.begin(), cables.end(), cable) - cables.begin());
  return topology_.fabric_links_from(first_.first_device + (device - part.first_device))[place];
}

std::optional<LinksOfFirstNode::AtNode> LinksOfFirstNode::at_node(LinkId id) const {
  const Link link = topology_.link(id);
  const std::int32_t from = topology_.node_of(link.from);
  const std::int32_t to = topology_.node_of(link.to);
  if (id < topology_.first_fabric_link()) {
    const NodePart part = topology_.node(static_cast<std::uint32_t>(from));
    return AtNode{from, first_.first_link + (id - part.first_link)};
  }
  if ((from < 0) == (to < 0)) return std::nullopt;
  if (to < 0) return AtNode{from, cable_in_place(link.from, id)};
  return AtNode{to, topology_.link(cable_in_place(link.to, link.reverse)).reverse};
}

std::optional<std::vector<LinkId>> LinksOfFirstNode::way(const std::vector<LinkId>& links) const {
  std::vector<LinkId> way;
  std::map<SharedResourceId, std::int32_t> node_of_share;
  for (const LinkId id : links) {
    const auto found = at_node(id);
    if (!found || std::find(way.begin(), way.end(), found->link) != way.end()) return std::nullopt;
    way.push_back(found->link);
    for (const SharedResourceId share : topology_.shares_of_link(found->link)) {
      if (share >= topology_.first_fabric_share()) return std::nullopt;
      if (node_of_share.try_emplace(share, found->node).first->second != found->node) {
        return std::nullopt;
      }
    }
  }
  return way;
}

/// Nothing where hops have several ways, or ways that do not fold.
std::optional<std::vector<Wire>> wires_of(const CallCompiler& compiler, const FoldedHops& hops,
                                          const Schedule& schedule, Wiring& wiring) {
  const Topology& topology = compiler.topology();
  const std::vector<DeviceId>& gpus = compiler.spec().gpus;
  const LinksOfFirstNode links(topology, gpus.front());
  Router router(topology);
  ResourceTable table(topology, wiring);
  std::vector<Wire> wires;
  for (const Connection& connection : schedule.connections()) {
    const Hop hop = hops.hop(connection);
    const std::vector<Route> routes = router.all_shortest(gpus[hop.from], gpus[hop.to]);
    if (routes.size() != 1) return std::nullopt;
    const auto way = links.way(routes.front().links);
    if (!way) return std::nullopt;
    wires.push_back(wire_along(topology, *way));
    table.load(wires.back(), *way, false);
  }
  return wires;
}

/// Who is first at an instant gets more of an NVLink.
bool contends(const CallCompiler& compiler, const Schedule& schedule,
              const std::vector<Wire>& wires) {
  if (!contends_for_links(compiler.cost())) return false;
  const std::vector<LinkKind> slowest = slowest_links(schedule, wires);
  return std::find(slowest.begin(), slowest.end(), LinkKind::nvlink) != slowest.end();
}

/// Nothing where the call does not fold.
std::optional<Layout> layout_of(const CallCompiler& compiler, const FoldedHops& hops) {
  const std::uint32_t channels = compiler.spec().run.channels.value_or(1);
  Layout layout{plan_of(hops, channels), {}};
  const Schedule& schedule = layout.plan.schedules.front();
  const auto wires = wires_of(compiler, hops, schedule, layout.wiring);
  if (!wires || !layout.wiring.bursts.empty() || contends(compiler, schedule, *wires)) {
    return std::nullopt;
  }
  layout.wiring.wires.assign(channels, *wires);
  set_efficiency(layout.wiring, compiler.cost());
  return layout;
}

/// As ModelFloor::latency has it, over all ranks: from the rank that is farthest from the first one
/// to the one that is farthest from it.
Seconds latency_of(const Layout& layout, const FoldedHops& hops, const ProtocolConstants& cost) {
  const Schedule& schedule = layout.plan.schedules.front();
  const auto connections = schedule.connections();
  std::vector<std::vector<std::pair<Rank, double>>> edges(hops.per_node());  // to how far on
  const Seconds serial = cost.flags_lines() ? Seconds{} : slice_step({&cost}, false, false);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Wire& wire = layout.wiring.wires.front()[i];
    const Seconds alpha = hop_alpha(schedule, connections[i], wire.kind, cost, false);
    edges[connections[i].src].emplace_back(hops.hop(connections[i]).to,
                                           (wire.latency + alpha + serial).value);
  }
  const auto farthest_from = [&](std::size_t origin) {
    const std::vector<double> times =
        min_latencies(hops.ranks(), origin, [&](std::size_t rank, const auto& visit) {
          const std::size_t place = rank % hops.per_node();
          for (const auto& [to, latency] : edges[place]) {
            visit((rank - place + to) % hops.ranks(), latency);
          }
        });
    const auto farthest = std::max_element(times.begin(), times.end());
    return std::pair(static_cast<std::size_t>(farthest - times.begin()), *farthest);
  };
  return Seconds{farthest_from(farthest_from(0).first).second};
}

/// Fewer ranks are laid out in some milliseconds, pair by pair.
constexpr Rank min_ranks_to_fold = 128;

}  // namespace

std::optional<FoldedCall> folded_call(const CallCompiler& compiler, Bytes size,
                                      LayoutCache& cache) {
  if (!is_direct_exchange(compiler) || !keeps_equals(compiler)) return std::nullopt;
  const DataPartition partition = compiler.textbook_binding(size);
  if (!chunk_sizes(partition, compiler.textbook_chunks()).alike) return std::nullopt;
  const auto grid = grid_of(compiler);
  if (!grid || grid->nodes < 2) return std::nullopt;
  const FoldedHops hops(*grid);
  // A textbook's call has no other layout there. Null: it does not fold.
  const auto [known, is_new] = cache.layouts.try_emplace(LayoutCache::Key{std::nullopt, 0});
  if (is_new && has_like_nodes(compiler)) {
    if (auto layout = layout_of(compiler, hops)) {
      known->second = std::make_shared<const Layout>(std::move(*layout));
    }
  }
  if (!known->second) return std::nullopt;
  const RunSpec& run = compiler.spec().run;
  const Protocol protocol = run.protocol.value_or(Protocol::simple);
  return FoldedCall{
      {&compiler, size, known->second, partition, protocol, full_warps(protocol), run.algorithm},
      grid->nodes,
      latency_of(*known->second, hops, compiler.cost().fastest(protocol))};
}

/// What the ranks of one node say of all.
std::optional<Prediction> FoldedExchange::predict(AskedCall& asked) {
  const CallCompiler& compiler = model().compiler();
  const bool may_fold =
      model().method().simulation.engine == Engine::native && compiler.ranks() >= min_ranks_to_fold;
  if (!may_fold || asked.given()) return std::nullopt;
  const auto folded = folded_call(compiler, asked.size(), model().layouts());
  if (!folded) return std::nullopt;
  Prediction prediction = model().run(folded->call);
  const Calibration& cost = compiler.cost();
  const Seconds launch = cost.startup(prediction.protocol, Collective::all_to_all, 1, 0);
  const Seconds issue = cost.issue_of(Collective::all_to_all, compiler.ranks(), 1);
  prediction.floor.latency = launch + folded->latency;
  prediction.time = std::max(prediction.time, issue);
  prediction.mean_over_ranks = std::max(prediction.mean_over_ranks, issue);
  prediction.transfers *= folded->copies;
  return prediction;
}

}  // namespace collsim
