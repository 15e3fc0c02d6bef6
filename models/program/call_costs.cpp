#include "models/program/call_costs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"

namespace collsim {

namespace {

/// A call of so few bytes is latency alone: an element for every rank.
constexpr std::int64_t small_bytes_per_rank = 4;
constexpr std::int64_t call_element = 4;

/// The share of a node's NICs' nominal rate that calls at once can fill: headers of InfiniBand and
/// RoCE take the rest.
constexpr double filled_network = 0.95;

/// Which template the node of a GPU has, counted from 0 in the order in which they come.
std::uint32_t kind_of_node(const Topology& topology, DeviceId gpu) {
  const auto node = static_cast<std::uint32_t>(std::max(topology.node_of(gpu), 0));
  std::uint32_t kind = 0;
  const IndexedGraph* last = topology.node(0).graph;
  for (std::uint32_t i = 1; i <= node; ++i) {
    const IndexedGraph* const graph = topology.node(i).graph;
    if (graph != last) ++kind;
    last = graph;
  }
  return kind;
}

bool in_whole_elements(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
         collective == Collective::all_to_all || collective == Collective::scatter;
}

/// A size that every rank has a whole number of elements of.
Bytes whole_size(Collective collective, Bytes bytes, std::size_t ranks) {
  const std::int64_t unit = in_whole_elements(collective)
                                ? call_element * static_cast<std::int64_t>(ranks)
                                : call_element;
  return Bytes{std::max<std::int64_t>(1, bytes.count / unit) * unit};
}

/// Whether ranks are on the machine's first GPUs in their order.
bool is_prefix(const MachineCalls& calls) {
  const auto all = calls.topology->gpus();
  return calls.gpus.size() <= all.size() &&
         std::equal(calls.gpus.begin(), calls.gpus.end(), all.begin());
}

}  // namespace

const CallCost& ProgramCosts::of(const ProgramCall& call) {
  const std::tuple key{call.communicator, call.kind, call.bytes.count, call.root, call.peer};
  const auto [found, added] = known_.try_emplace(key);
  if (!added) return found->second;
  const ProgramCommunicator& communicator = program_.communicators[call.communicator];
  if (!is_message(call.kind) || communicator.ranks.size() <= 2) {
    return found->second = costs_.cost_of(communicator, call);
  }
  // Within a group every rank sends to the next.
  Rank to = place_of_group(program_, call.communicator, call.peer);
  if (to == call.root) to = static_cast<Rank>((to + 1) % communicator.ranks.size());
  ProgramCommunicator ends = communicator;
  ends.ranks = {communicator.ranks[call.root], communicator.ranks[to]};
  ends.instances.clear();
  ProgramCall message = call;
  message.root = 0;
  return found->second = costs_.cost_of(ends, message);
}

MachineCallCosts::MachineCallCosts(MachineCalls calls)
    : calls_(std::move(calls)),
      cost_(calibration_for(*calls_.topology)),
      mixed_(kind_of_node(*calls_.topology, calls_.topology->gpus().back()) != 0),
      scattered_(!is_prefix(calls_)),
      leaves_(*calls_.topology),
      network_(*calls_.topology, leaves_, filled_network),
      in_node_([this](Collective collective, const std::vector<DeviceId>& gpus, Rank root) {
        CallSpec spec = spec_of(collective, gpus);
        spec.root = root;
        return spec;
      }) {}

namespace {

/// Places of the ranks: nodes counted from 0 in the order in which they come, and the place there.
std::vector<std::uint32_t> places_of(const Topology& topology, const std::vector<DeviceId>& gpus) {
  std::vector<std::uint32_t> shape;
  std::vector<std::int32_t> nodes;
  shape.reserve(2 * gpus.size());
  for (const DeviceId gpu : gpus) {
    const std::int32_t node = topology.node_of(gpu);
    // Ranks of a node follow each other, or come back to nodes that came before in the same order.
    if (nodes.empty() || nodes.back() != node) {
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    }
    const auto found = std::find(nodes.rbegin(), nodes.rend(), node);
    shape.push_back(static_cast<std::uint32_t>(nodes.rend() - found));
    shape.push_back(gpu -
                    topology.node(static_cast<std::uint32_t>(std::max(node, 0))).first_device);
  }
  return shape;
}

/// The leaves of the ranks' nodes, counted from 0 in the order in which they come.
std::vector<std::uint32_t> leaves_of(const Topology& topology, const FabricLeaves& leaves,
                                     const std::vector<DeviceId>& gpus) {
  std::vector<std::uint32_t> numbers;
  std::map<std::uint32_t, std::uint32_t> known;
  std::int32_t last = -1;
  for (const DeviceId gpu : gpus) {
    const std::int32_t node = topology.node_of(gpu);
    if (node < 0 || node == last) continue;
    last = node;
    const std::uint32_t leaf = leaves.leaf_of(static_cast<std::uint32_t>(node));
    const auto next = static_cast<std::uint32_t>(known.size());
    numbers.push_back(known.try_emplace(leaf, next).first->second);
  }
  return numbers;
}
/// The places on the first node of a shape; nothing where other nodes have others.
std::vector<std::uint32_t> common_places(const std::vector<std::uint32_t>& shape) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> places;
  for (std::size_t i = 0; i < shape.size(); i += 2) places[shape[i]].push_back(shape[i + 1]);
  const auto& first = places.begin()->second;
  const bool alike = std::all_of(places.begin(), places.end(),
                                 [&](const auto& each) { return each.second == first; });
  return alike ? first : std::vector<std::uint32_t>();
}

std::vector<DeviceId> gpus_of(const MachineCalls& calls, const std::vector<Rank>& ranks) {
  std::vector<DeviceId> gpus;
  gpus.reserve(ranks.size());
  for (const Rank rank : ranks) gpus.push_back(calls.gpus.at(rank));
  return grouped_by_node(*calls.topology, std::move(gpus));
}

}  // namespace

/// Calls of one shape take the same time: as many ranks on the same places of as many nodes of the
/// same kinds, on leaves alike where nodes are scattered, or, on a machine with faults, the same
/// GPUs.
MachineCallCosts::Shape MachineCallCosts::shape_of(const ProgramCommunicator& communicator,
                                                   const ProgramCall& call) const {
  const std::vector<DeviceId> gpus = gpus_of(calls_, communicator.ranks);
  std::vector<std::uint32_t> shape = places_of(*calls_.topology, gpus);
  if (has_root(collective_of(call.kind))) {
    shape.push_back(root_among(gpus, communicator, call));
  }
  if (!calls_.faults.empty()) shape.insert(shape.end(), gpus.begin(), gpus.end());
  if (scattered_) {
    const auto leaves = leaves_of(*calls_.topology, leaves_, gpus);
    shape.insert(shape.end(), leaves.begin(), leaves.end());
  }
  if (mixed_) {
    for (const DeviceId gpu : gpus) shape.push_back(kind_of_node(*calls_.topology, gpu));
  }
  return {collective_of(call.kind), std::move(shape)};
}

/// The place of a call's root among GPUs that are grouped by node.
Rank MachineCallCosts::root_among(const std::vector<DeviceId>& gpus,
                                  const ProgramCommunicator& communicator,
                                  const ProgramCall& call) const {
  const DeviceId root = calls_.gpus.at(communicator.ranks.at(call.root));
  return static_cast<Rank>(std::find(gpus.begin(), gpus.end(), root) - gpus.begin());
}

/// What has been found for GPUs of the same places; where nothing is known of them yet, null.
const Nccl*& MachineCallCosts::searched_for(const std::vector<DeviceId>& gpus) {
  const std::vector<std::uint32_t> shape = places_of(*calls_.topology, gpus);
  std::vector<std::uint32_t> places = common_places(shape);
  const bool several = 2 * places.size() < shape.size();
  return searched_[{several, std::move(places)}];
}

CallSpec MachineCallCosts::spec_of(Collective collective, std::vector<DeviceId> gpus) {
  CallSpec spec;
  spec.topology = calls_.topology;
  spec.cost = cost_;
  spec.collective = collective;
  spec.run = with_defaults(calls_.run, collective, *calls_.topology);
  const bool shares = !mixed_ && !common_places(places_of(*calls_.topology, gpus)).empty();
  if (shares) spec.like = searched_for(gpus);
  spec.gpus = std::move(gpus);
  spec.faults = calls_.faults;
  return spec;
}

Predictor& MachineCallCosts::predictor(const ProgramCommunicator& communicator,
                                       const ProgramCall& call) {
  auto& known = predictors_[shape_of(communicator, call)];
  if (!known) {
    std::vector<DeviceId> gpus = gpus_of(calls_, communicator.ranks);
    const Nccl*& searched = searched_for(gpus);
    const Rank root = root_among(gpus, communicator, call);
    CallSpec spec = spec_of(collective_of(call.kind), std::move(gpus));
    spec.root = root;
    known = std::make_unique<Predictor>(std::move(spec),
                                        calls_.simulate ? by_simulation() : by_formulas());
    if (searched == nullptr) searched = known->compiler().nccl();
  }
  return *known;
}

void MachineCallCosts::add_traffic(const ProgramCommunicator& communicator, const ProgramCall& call,
                                   Bytes bytes, CallCost& cost) {
  const double work = (cost.alone - cost.latency).value;
  if (work <= 0) return;
  const auto ranks = static_cast<Rank>(communicator.ranks.size());
  const double moved =
      busbw_factor(collective_of(call.kind), ranks) * static_cast<double>(bytes.count);
  NodeTraffic own;
  add_node_traffic(communicator.ranks, call, moved, own);
  if (own.empty()) return;
  NodeTraffic all;
  for (const std::vector<Rank>& each : equal_communicators(communicator)) {
    add_node_traffic(each, call, moved, all);
  }
  // One of them has met the cables already, by itself. Equal communicators call at the same time:
  // NICs, and cables between switches, carry all of them.
  const double met = std::max(1.0, network_.busy_time(own).value / work);
  const double busy = network_.busy_time(all).value / work / met;
  if (busy > 1) cost.alone = cost.latency + Seconds{work * busy};
  cost.network = std::min(1.0, busy);
}

/// What goes from node to node: each rank sends so much, to the next one, as rings do, or to all
/// others; of a message its root alone.
void MachineCallCosts::add_node_traffic(const std::vector<Rank>& ranks, const ProgramCall& call,
                                        double moved, NodeTraffic& traffic) const {
  std::vector<std::pair<std::uint32_t, double>> nodes;  // and how many ranks are there
  for (const DeviceId gpu : gpus_of(calls_, ranks)) {
    const std::int32_t node = calls_.topology->node_of(gpu);
    if (node < 0) return;
    const auto number = static_cast<std::uint32_t>(node);
    if (nodes.empty() || nodes.back().first != number) nodes.emplace_back(number, 0);
    ++nodes.back().second;
  }
  if (nodes.size() < 2) return;
  if (is_message(call.kind)) {
    const std::int32_t sender = calls_.topology->node_of(calls_.gpus.at(ranks[call.root]));
    const std::size_t from = nodes.front().first == static_cast<std::uint32_t>(sender) ? 0 : 1;
    traffic[{nodes[from].first, nodes[1 - from].first}] += moved;
    return;
  }
  const bool to_all = call.kind == ProgramCallKind::all_to_all;
  const auto others = static_cast<double>(ranks.size() - 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!to_all) traffic[{nodes[i].first, nodes[(i + 1) % nodes.size()].first}] += moved;
    for (std::size_t j = 0; to_all && j < nodes.size(); ++j) {
      if (i == j) continue;
      traffic[{nodes[i].first, nodes[j].first}] +=
          moved * nodes[i].second * nodes[j].second / others;
    }
  }
}

/// The communicator and those of the same pattern of ranks that the rest of the ranks make up, as
/// many on a node as are alike there.
std::vector<std::vector<Rank>> MachineCallCosts::equal_communicators(
    const ProgramCommunicator& communicator) const {
  if (!communicator.instances.empty()) return communicator.instances;
  const std::vector<Rank>& pattern = communicator.ranks;
  const Rank lowest = *std::min_element(pattern.begin(), pattern.end());
  std::vector<bool> taken(calls_.gpus.size());
  std::map<std::int32_t, std::uint32_t> on_node;
  std::vector<std::vector<Rank>> all;
  // Ranks before those of this communicator are of ones like it, or of none.
  for (Rank start = 0; start < calls_.gpus.size(); ++start) {
    if (taken[start]) continue;
    std::vector<Rank> ranks;
    ranks.reserve(pattern.size());
    for (const Rank rank : pattern) {
      const Rank shifted = rank - lowest + start;
      if (shifted >= taken.size() || taken[shifted]) break;
      ranks.push_back(shifted);
    }
    if (ranks.size() < pattern.size()) continue;
    std::uint32_t& there = on_node[calls_.topology->node_of(calls_.gpus[start])];
    if (there >= communicator.alike) continue;
    ++there;
    for (const Rank rank : ranks) taken[rank] = true;
    all.push_back(std::move(ranks));
  }
  return all;
}

/// Nothing of a call between nodes, whose rate is the network's.
std::optional<std::uint32_t> MachineCallCosts::number_in_node(
    const ProgramCommunicator& communicator, const ProgramCall& call, Bytes size) {
  const auto node_of = [&](Rank rank) { return calls_.topology->node_of(calls_.gpus.at(rank)); };
  const std::int32_t home = node_of(communicator.ranks.front());
  const auto is_home = [&](Rank rank) { return node_of(rank) == home; };
  if (!std::all_of(communicator.ranks.begin(), communicator.ranks.end(), is_home)) return {};
  CallsInNode::Call there{collective_of(call.kind), size, 0, {gpus_of(calls_, communicator.ranks)}};
  there.root = root_among(there.gpus.front(), communicator, call);
  const std::vector<Rank>& beside = communicator.beside;
  for (const std::vector<Rank>& ranks : equal_communicators(communicator)) {
    const bool is_beside = std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
      return is_home(rank) && std::binary_search(beside.begin(), beside.end(), rank);
    });
    if (is_beside && ranks != communicator.ranks) there.gpus.push_back(gpus_of(calls_, ranks));
  }
  return in_node_.number_of(there);
}

CallCost MachineCallCosts::cost_of_shape(const ProgramCommunicator& communicator,
                                         const ProgramCall& call, Bytes size) {
  const auto key = std::tuple{shape_of(communicator, call), size.count, communicator.alike,
                              communicator.instances.size()};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  Predictor& predict = predictor(communicator, call);
  const Prediction whole = predict.predict(size);
  const Bytes few{small_bytes_per_rank * static_cast<std::int64_t>(communicator.ranks.size())};
  const Seconds latency = predict.predict(whole_size(collective_of(call.kind), few, 1)).time;
  CallCost cost{whole.time, std::min(latency, whole.time), 0, whole.channels};
  add_traffic(communicator, call, size, cost);
  known_[key] = cost;
  return cost;
}

CallCost MachineCallCosts::cost_of(const ProgramCommunicator& communicator,
                                   const ProgramCall& call) {
  if (communicator.ranks.size() < 2) return {};
  // Of what a scatter's root has, its other rank gets half.
  const Bytes bytes{(is_message(call.kind) ? 2 : 1) * call.bytes.count};
  const Bytes size = whole_size(collective_of(call.kind), bytes, communicator.ranks.size());
  CallCost cost = cost_of_shape(communicator, call, size);
  cost.in_node = number_in_node(communicator, call, size);
  return cost;
}

}  // namespace collsim
