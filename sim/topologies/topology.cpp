#include "sim/topologies/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/base/number.h"
#include "sim/base/words.h"

namespace collsim {

namespace {

/// How many directed links a graph has.
std::uint32_t link_count(const Graph& graph) {
  return static_cast<std::uint32_t>(2 * graph.links.size());
}

Device device_of(const GraphDevice& device, std::int32_t node) {
  return {device.kind,      node,        device.model,  device.port_rate,
          device.gpudirect, device.card, device.reduces};
}

/// The last of the runs whose first id is not above the id; runs without such ids come before it.
template <typename Runs, typename FirstOf>
const typename Runs::value_type& run_with(const Runs& runs, std::uint32_t id, FirstOf first_of) {
  if (runs.size() == 1) return runs.front();
  const auto next = std::upper_bound(
      runs.begin(), runs.end(), id,
      [&](std::uint32_t wanted, const auto& run) { return wanted < first_of(run); });
  return *(next - 1);
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  return word_for(kind, {{DeviceKind::gpu, "gpu"},
                         {DeviceKind::nvswitch, "nvswitch"},
                         {DeviceKind::pcie_switch, "pcie_switch"},
                         {DeviceKind::cpu, "cpu"},
                         {DeviceKind::nic, "nic"},
                         {DeviceKind::network_switch, "network_switch"}});
}

std::string_view to_string(LinkKind kind) {
  return word_for(kind, {{LinkKind::nvlink, "nvlink"},
                         {LinkKind::pcie, "pcie"},
                         {LinkKind::cpu, "cpu"},
                         {LinkKind::network, "network"}});
}

NodePart Topology::NodeRun::part(std::uint32_t place) const {
  const Graph& graph = first.graph->graph();
  return {first.graph,
          first.first_device + place * static_cast<std::uint32_t>(graph.devices.size()),
          first.first_link + place * link_count(graph),
          first.first_share + place * static_cast<std::uint32_t>(graph.shares.size())};
}

const Topology::NodeRun& Topology::run_of_node(std::uint32_t number) const {
  return run_with(runs_, number, [](const NodeRun& each) { return each.first_node; });
}

NodePart Topology::node(std::uint32_t number) const {
  const NodeRun& run = run_of_node(number);
  return run.part(number - run.first_node);
}

std::shared_ptr<const IndexedGraph> Topology::node_template(std::uint32_t number) const {
  return templates_[static_cast<std::size_t>(&run_of_node(number) - runs_.data())];
}

Topology::Place Topology::place_of_device(DeviceId id) const {
  const NodeRun& run =
      run_with(runs_, id, [](const NodeRun& each) { return each.first.first_device; });
  const auto size = static_cast<std::uint32_t>(run.first.graph->graph().devices.size());
  const std::uint32_t place = (id - run.first.first_device) / size;
  const NodePart part = run.part(place);
  return {run.first_node + place, part, id - part.first_device};
}

Topology::Place Topology::place_of_link(LinkId id) const {
  const NodeRun& run =
      run_with(runs_, id, [](const NodeRun& each) { return each.first.first_link; });
  const std::uint32_t place = (id - run.first.first_link) / link_count(run.first.graph->graph());
  const NodePart part = run.part(place);
  return {run.first_node + place, part, id - part.first_link};
}

Topology::Place Topology::place_of_share(SharedResourceId id) const {
  const NodeRun& run =
      run_with(runs_, id, [](const NodeRun& each) { return each.first.first_share; });
  const auto size = static_cast<std::uint32_t>(run.first.graph->graph().shares.size());
  const std::uint32_t place = (id - run.first.first_share) / size;
  const NodePart part = run.part(place);
  return {run.first_node + place, part, id - part.first_share};
}

Device Topology::device(DeviceId id) const {
  if (id >= first_fabric_device()) {
    return device_of(fabric_devices_[id - first_fabric_device()], -1);
  }
  const Place place = place_of_device(id);
  return device_of(place.part.graph->graph().devices[place.number],
                   static_cast<std::int32_t>(place.node));
}

std::int32_t Topology::node_of(DeviceId id) const {
  if (id >= first_fabric_device()) return -1;
  const NodeRun& run =
      run_with(runs_, id, [](const NodeRun& each) { return each.first.first_device; });
  const auto size = static_cast<std::uint32_t>(run.first.graph->graph().devices.size());
  return static_cast<std::int32_t>(run.first_node + (id - run.first.first_device) / size);
}

Link Topology::link(LinkId id) const {
  const bool reversed = id % 2 == 1;
  const LinkId reverse = reversed ? id - 1 : id + 1;
  if (id >= first_fabric_link()) {
    const Cable& cable = cables_[(id - first_fabric_link()) / 2];
    const CableType& type = cable_types_[cable.type];
    return {reversed ? cable.to : cable.from,
            reversed ? cable.from : cable.to,
            type.kind,
            type.count,
            type.bandwidth,
            type.latency,
            reverse,
            type.burst};
  }
  const Place place = place_of_link(id);
  const GraphLink& link = place.part.graph->graph().links[place.number / 2];
  const DeviceId first = place.part.first_device;
  return {first + (reversed ? link.to : link.from),
          first + (reversed ? link.from : link.to),
          link.kind,
          link.count,
          link.bandwidth,
          link.latency,
          reverse,
          link.burst};
}

SharedResource Topology::shared_resource(SharedResourceId id) const {
  if (id >= first_fabric_share()) {
    const FabricShare& share = fabric_shares_[id - first_fabric_share()];
    return {share.bandwidth, {{}, 0, share.links}};
  }
  const Place place = place_of_share(id);
  return {place.part.graph->graph().shares[place.number].bandwidth,
          {place.part.graph->links_of_share(place.number), place.part.first_link, {}}};
}

Topology::Devices Topology::devices() const {
  return {*this, first_fabric_device() + fabric_devices_.size()};
}

Topology::Links Topology::links() const {
  return {*this, first_fabric_link() + 2 * cables_.size()};
}

Topology::SharedResources Topology::shared_resources() const {
  return {*this, first_fabric_share() + fabric_shares_.size()};
}

IdList Topology::links_from(DeviceId id) const {
  if (id >= first_fabric_device()) return {{}, 0, fabric_from_[id]};
  const Place place = place_of_device(id);
  return {place.part.graph->links_from(place.number), place.part.first_link, fabric_from_[id]};
}

IdList Topology::shares_of_link(LinkId id) const {
  if (id >= first_fabric_link()) {
    return {{}, 0, fabric_shares_of_link_[id - first_fabric_link()]};
  }
  const Place place = place_of_link(id);
  return {place.part.graph->shares_of_link(place.number), place.part.first_share, {}};
}

std::string Topology::device_name(DeviceId id) const {
  if (id >= first_fabric_device()) return fabric_devices_[id - first_fabric_device()].name;
  const Place place = place_of_device(id);
  return fmt::format("node{}/{}", place.node, place.part.graph->graph().devices[place.number].name);
}

std::optional<DeviceId> Topology::find_device(std::string_view name) const {
  const auto place_of = [](const std::vector<GraphDevice>& devices, std::string_view wanted) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const GraphDevice& each) { return each.name == wanted; });
    return found == devices.end() ? std::nullopt
                                  : std::optional(static_cast<DeviceId>(found - devices.begin()));
  };
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) {
    const auto place = place_of(fabric_devices_, name);
    return place ? std::optional(first_fabric_device() + *place) : std::nullopt;
  }
  if (!name.starts_with("node")) return std::nullopt;
  const std::string_view digits = name.substr(4, slash - 4);
  const std::uint32_t number = leading_number<std::uint32_t>(digits).value_or(0);
  // No other spelling of a number will do.
  if (number >= node_count_ || fmt::format("{}", number) != digits) return std::nullopt;
  const NodePart part = node(number);
  const auto place = place_of(part.graph->graph().devices, name.substr(slash + 1));
  return place ? std::optional(part.first_device + *place) : std::nullopt;
}

std::string Topology::link_name(LinkId id) const {
  const Link each = link(id);
  return fmt::format("{} -> {}", device_name(each.from), device_name(each.to));
}

std::string Topology::shared_resource_name(SharedResourceId id) const {
  if (id >= first_fabric_share()) return fabric_shares_[id - first_fabric_share()].name;
  const Place place = place_of_share(id);
  return fmt::format("node{}/{}", place.node, place.part.graph->graph().shares[place.number].name);
}

TopologyBuilder::TopologyBuilder(std::string name, std::string calibration) {
  topology_.name_ = std::move(name);
  topology_.calibration_ = std::move(calibration);
}

void TopologyBuilder::add_nodes(Graph node, std::uint32_t count) {
  add_nodes(std::make_shared<const IndexedGraph>(std::move(node)), count);
}

void TopologyBuilder::add_nodes(std::shared_ptr<const IndexedGraph> node, std::uint32_t count) {
  assert(topology_.fabric_devices_.empty() && topology_.cables_.empty());
  NodePart& end = topology_.first_fabric_;
  const Topology::NodeRun run{topology_.node_count_,
                              count,
                              {node.get(), end.first_device, end.first_link, end.first_share}};
  for (std::uint32_t place = 0; place < count; ++place) {
    const DeviceId first = run.part(place).first_device;
    for (const std::uint32_t gpu : node->gpus()) topology_.gpus_.push_back(first + gpu);
  }
  end = run.part(count);
  end.graph = nullptr;
  topology_.node_count_ += count;
  topology_.runs_.push_back(run);
  topology_.templates_.push_back(std::move(node));
}

DeviceId TopologyBuilder::add_device(GraphDevice device) {
  topology_.fabric_devices_.push_back(std::move(device));
  return static_cast<DeviceId>(topology_.devices().size() - 1);
}

std::uint32_t TopologyBuilder::find_type(const Topology::CableType& type) {
  const TypeKey key{type.kind,
                    type.count,
                    type.bandwidth.value,
                    type.latency.value,
                    type.burst.size.count,
                    type.burst.peak.value};
  const auto next = static_cast<std::uint32_t>(topology_.cable_types_.size());
  const auto [known, added] = types_.emplace(key, next);
  if (added) topology_.cable_types_.push_back(type);
  return known->second;
}

LinkId TopologyBuilder::add_link(DeviceId from, DeviceId to, LinkKind kind,
                                 BytesPerSecond bandwidth, Seconds latency, std::uint32_t count,
                                 Burst burst) {
  assert(from < topology_.devices().size() && to < topology_.devices().size() && from != to);
  const std::uint32_t type = find_type({kind, count, bandwidth, latency, burst});
  const auto forward = static_cast<LinkId>(topology_.links().size());
  topology_.cables_.push_back({from, to, type});
  return forward;
}

SharedResourceId TopologyBuilder::add_shared_resource(std::string name, BytesPerSecond bandwidth,
                                                      std::vector<LinkId> links) {
  assert(std::all_of(links.begin(), links.end(), [this](LinkId link) {
    return link >= topology_.first_fabric_link() && link < topology_.links().size();
  }));
  topology_.fabric_shares_.push_back({std::move(name), bandwidth, std::move(links)});
  return static_cast<SharedResourceId>(topology_.shared_resources().size() - 1);
}

void TopologyBuilder::let_network_reduce() {
  for (GraphDevice& device : topology_.fabric_devices_) {
    if (device.kind == DeviceKind::network_switch) device.reduces = true;
  }
}

void TopologyBuilder::index_fabric() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> starts;
  starts.reserve(2 * topology_.cables_.size());
  LinkId id = topology_.first_fabric_link();
  for (const Topology::Cable& cable : topology_.cables_) {
    starts.emplace_back(cable.from, id++);
    starts.emplace_back(cable.to, id++);
  }
  topology_.fabric_from_ = Rows(topology_.devices().size(), starts);
  if (topology_.fabric_shares_.empty()) return;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shares;
  for (std::uint32_t share = 0; share < topology_.fabric_shares_.size(); ++share) {
    for (const LinkId link : topology_.fabric_shares_[share].links) {
      shares.emplace_back(link - topology_.first_fabric_link(),
                          topology_.first_fabric_share() + share);
    }
  }
  topology_.fabric_shares_of_link_ = Rows(2 * topology_.cables_.size(), shares);
}

Topology TopologyBuilder::build() && {
  index_fabric();
  topology_.gpus_.shrink_to_fit();
  topology_.cables_.shrink_to_fit();
  topology_.fabric_devices_.shrink_to_fit();
  return std::move(topology_);
}

}  // namespace collsim
