#include "tools/collsim/topo/topology_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "sim/routing/routing.h"
#include "sim/topologies/name_run.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/topo/bandwidth_matrix.h"

namespace collsim::command {

namespace {

/// Devices with equal branches.
struct Branch {
  NameRun name;
  std::string link;  ///< the link upwards
  std::vector<Branch> below;
};

/// Whether `next` continues the names of `branch` and of all devices below it.
bool continues(const Branch& branch, const Branch& next) {
  if (branch.link != next.link || branch.name.stem != next.name.stem || next.name.first < 0 ||
      branch.name.last + 1 != next.name.first || branch.below.size() != next.below.size()) {
    return false;
  }
  for (std::size_t i = 0; i < branch.below.size(); ++i) {
    if (!continues(branch.below[i], next.below[i])) return false;
  }
  return true;
}

void append(Branch& branch, const Branch& next) {
  branch.name.last = next.name.last;
  for (std::size_t i = 0; i < branch.below.size(); ++i) append(branch.below[i], next.below[i]);
}

Branch branch_of(const Topology& topology, DeviceId device, std::set<DeviceId>& seen) {
  const std::string name = topology.device_name(device);
  Branch branch{run_of(std::string_view(name).substr(name.find('/') + 1)), {}, {}};
  for (const LinkId id : topology.links_from(device)) {
    const Link link = topology.link(id);
    const DeviceKind kind = topology.device(link.to).kind;
    if (link.kind != LinkKind::pcie || kind == DeviceKind::cpu) continue;
    // GPUs and NICs with a PCIe link to each other do not form a tree.
    if (topology.device(device).kind == DeviceKind::gpu) continue;
    if (!seen.insert(link.to).second) continue;
    Branch next = branch_of(topology, link.to, seen);
    next.link = to_string(link.bandwidth);
    if (!branch.below.empty() && continues(branch.below.back(), next)) {
      append(branch.below.back(), next);
    } else {
      branch.below.push_back(std::move(next));
    }
  }
  return branch;
}

void print(const std::vector<Branch>& branches, const std::string& indent, std::string& text) {
  constexpr std::size_t width = 24;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const bool last = i + 1 == branches.size();
    const std::string name = branches[i].name.text();
    const std::size_t used = indent.size() + 3 + name.size();
    text += fmt::format("{}{} {}{:>{}}\n", indent, last ? "`-" : "|-", name, branches[i].link,
                        used + 2 < width ? width - used + 8 : 10);
    print(branches[i].below, indent + (last ? "   " : "|  "), text);
  }
}

/// The tree of PCIe devices below the CPUs of one node, with the bandwidth of each link upwards.
/// Equal branches share lines:
///
///     cpu0
///     `- pcie[0..1]        31.5 GB/s
///        |- gpu[0..3]      31.5 GB/s
///        `- nic[0..1]      31.5 GB/s
///
/// Empty if no CPU has PCIe links.
std::string pcie_tree_text(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::string text;
  std::set<DeviceId> seen;
  for (const DeviceId device : devices) {
    if (topology.device(device).kind != DeviceKind::cpu) continue;
    const Branch branch = branch_of(topology, device, seen);
    if (branch.below.empty()) continue;
    text += fmt::format("  {}\n", branch.name.text());
    print(branch.below, "  ", text);
  }
  return text;
}

/// GPUs that a bandwidth matrix has columns for.
constexpr std::size_t matrix_limit = 16;

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "gpu0" of "node3/gpu0".
std::string name_in_node(const Topology& topology, DeviceId device) {
  const std::string name = topology.device_name(device);
  const auto slash = name.find('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::string bandwidth_text(BytesPerSecond bandwidth, std::uint32_t count) {
  if (count == 1) return to_string(bandwidth);
  return fmt::format("{} x {}", count, to_string((1.0 / count) * bandwidth));
}

/// "gpu[0..7] (H200), nvswitch0".
std::string device_list(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    const std::string_view model = topology.device(devices[i]).model;
    NameRun run = run_of(name_in_node(topology, devices[i]));
    for (++i; i < devices.size(); ++i) {
      const NameRun next = run_of(name_in_node(topology, devices[i]));
      if (next.stem != run.stem || next.first != run.last + 1 ||
          topology.device(devices[i]).model != model) {
        break;
      }
      run.last = next.first;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", run.text());
    if (!model.empty()) text += fmt::format(" ({})", model);
  }
  return text;
}

/// The links of a node, each once and in the order of the file; those to the fabric come last.
std::vector<LinkId> drawn_links(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::vector<LinkId> drawn;
  for (const DeviceId device : devices) {
    for (const LinkId id : topology.links_from(device)) {
      const bool in_node = topology.node_of(topology.link(id).to) == topology.node_of(device);
      if (!in_node || id < topology.link(id).reverse) drawn.push_back(id);
    }
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

std::string node_drawing(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::vector<LinkRun> runs;
  for (const LinkId id : drawn_links(topology, devices)) {
    const Link link = topology.link(id);
    const bool inside = topology.node_of(link.to) == topology.node_of(link.from);
    // The leaf differs from node to node, so equal nodes show "network".
    const NameRun target =
        inside ? run_of(name_in_node(topology, link.to)) : NameRun{"network", -1, -1};
    LinkRun next{run_of(name_in_node(topology, link.from)), target,
                 fmt::format("{:<8} {:>16}  {}", to_string(link.kind),
                             bandwidth_text(link.bandwidth, link.count), to_string(link.latency))};
    if (runs.empty() || !try_extend(runs.back(), next)) runs.push_back(std::move(next));
  }
  std::string text = fmt::format("  {}\n", device_list(topology, devices));
  for (const LinkRun& run : runs) {
    text += fmt::format("  {:<12} - {:<12} {}\n", run.from.text(), run.to.text(), run.properties);
  }
  return text + pcie_tree_text(topology, devices);
}

std::vector<DeviceId> devices_of_node(const Topology& topology, std::uint32_t node) {
  const NodePart part = topology.node(node);
  std::vector<DeviceId> devices(part.graph->graph().devices.size());
  std::iota(devices.begin(), devices.end(), part.first_device);
  return devices;
}

/// What a node's drawing depends on: its template, and its cables in order: the devices that they
/// join, or `elsewhere`, and what they are like.
using CableKey = std::tuple<std::uint32_t, std::uint32_t, LinkKind, std::uint32_t, double, double>;
using WiringKey = std::pair<const IndexedGraph*, std::vector<CableKey>>;

WiringKey wiring_key(const Topology& topology, std::uint32_t node,
                     const std::vector<DeviceId>& devices) {
  constexpr std::uint32_t elsewhere = std::numeric_limits<std::uint32_t>::max();
  std::vector<LinkId> cables;
  for (const DeviceId device : devices) {
    const auto links = topology.fabric_links_from(device);
    cables.insert(cables.end(), links.begin(), links.end());
  }
  std::sort(cables.begin(), cables.end());
  WiringKey key{topology.node(node).graph, {}};
  for (const LinkId id : cables) {
    const Link link = topology.link(id);
    const bool inside = topology.node_of(link.to) == static_cast<std::int32_t>(node);
    key.second.emplace_back(link.from - devices.front(),
                            inside ? link.to - devices.front() : elsewhere, link.kind, link.count,
                            link.bandwidth.value, link.latency.value);
  }
  return key;
}

/// Each different wiring, with the nodes that have it.
std::vector<std::pair<std::string, std::vector<std::size_t>>> distinct_nodes(
    const Topology& topology) {
  std::map<WiringKey, std::size_t> place_of_key;
  std::map<std::string, std::size_t> place_of_drawing;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> distinct;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    const std::vector<DeviceId> devices = devices_of_node(topology, node);
    const auto [known, is_new] = place_of_key.try_emplace(wiring_key(topology, node, devices));
    if (is_new) {
      std::string drawing = node_drawing(topology, devices);
      const auto [entry, added] = place_of_drawing.emplace(drawing, distinct.size());
      if (added) distinct.emplace_back(std::move(drawing), std::vector<std::size_t>{});
      known->second = entry->second;
    }
    distinct[known->second].second.push_back(node);
  }
  return distinct;
}

void show_nodes(const Topology& topology, std::ostream& out) {
  for (const auto& [drawing, nodes] : distinct_nodes(topology)) {
    out << fmt::format("\nnode{}", nodes.front());
    if (nodes.size() > 1)
      out << fmt::format(", and {} more with the same wiring", nodes.size() - 1);
    out << "\n" << drawing;
  }
}

void show_shared_resources(const Topology& topology, std::ostream& out) {
  if (topology.shared_resources().empty()) return;
  out << "\nshared\n";
  for (SharedResourceId id = 0; id < topology.shared_resources().size(); ++id) {
    const SharedResource resource = topology.shared_resource(id);
    out << fmt::format("  {:<24} {:>12}  {}\n", topology.shared_resource_name(id),
                       to_string(resource.bandwidth), plural(resource.links.size(), "link"));
  }
}

/// The letters of a name like "leaf12".
std::string stem(std::string_view name) {
  return std::string(name.substr(0, name.find_last_not_of("0123456789") + 1));
}

/// The stems of devices' names, each found once for equal devices of nodes.
class Stems {
 public:
  explicit Stems(const Topology& topology) : topology_(topology) {
    for (const GraphDevice& device : topology.fabric_devices()) {
      of_fabric_.push_back(number_of(stem(device.name)));
    }
  }
  std::size_t of(DeviceId device) {
    const std::int32_t node = topology_.node_of(device);
    if (node < 0) return of_fabric_[device - topology_.first_fabric_device()];
    const NodePart part = topology_.node(static_cast<std::uint32_t>(node));
    std::vector<std::size_t>& numbers = of_template_[part.graph];
    if (numbers.empty()) {
      for (const GraphDevice& each : part.graph->graph().devices) {
        numbers.push_back(number_of(stem(each.name)));
      }
    }
    return numbers[device - part.first_device];
  }
  const std::string& text(std::size_t number) const { return texts_[number]; }

 private:
  std::size_t number_of(const std::string& text) {
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found == texts_.end()) texts_.push_back(text);
    return static_cast<std::size_t>(std::find(texts_.begin(), texts_.end(), text) - texts_.begin());
  }

  const Topology& topology_;
  std::vector<std::string> texts_;
  std::vector<std::size_t> of_fabric_;
  std::map<const IndexedGraph*, std::vector<std::size_t>> of_template_;
};

/// The fabric as counts of cables between two kinds of devices.
void show_fabric(const Topology& topology, std::ostream& out) {
  Stems stems(topology);
  std::map<std::string, std::size_t> switches;
  for (DeviceId id = topology.first_fabric_device(); id < topology.devices().size(); ++id) {
    ++switches[stems.text(stems.of(id))];
  }
  // Cables that are alike follow each other mostly, and numbers compare faster than texts.
  using Key = std::tuple<std::size_t, std::size_t, std::uint32_t, double, double>;
  std::map<Key, std::size_t> cables;
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); id += 2) {
    const Link link = topology.link(id);
    const std::int32_t node = topology.node_of(link.from);
    if (node >= 0 && node == topology.node_of(link.to)) continue;
    ++cables[{stems.of(link.from), stems.of(link.to), link.count, link.bandwidth.value,
              link.latency.value}];
  }
  using Row = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Row, std::size_t> rows;
  for (const auto& [key, number] : cables) {
    const auto& [from, to, count, bandwidth, latency] = key;
    rows[{stems.text(from), stems.text(to), bandwidth_text({bandwidth}, count),
          to_string(Seconds{latency})}] += number;
  }
  if (rows.empty()) return;
  out << "\nfabric\n";
  for (const auto& [name, count] : switches) out << fmt::format("  {:>6} x {}\n", count, name);
  for (const auto& [row, count] : rows) {
    const auto& [from, to, bandwidth, latency] = row;
    out << fmt::format("  {:>6} x {} - {}  {}  {}\n", count, from, to, bandwidth, latency);
  }
}

void show_matrix(const Topology& topology, std::ostream& out) {
  std::vector<DeviceId> gpus(topology.gpus().begin(), topology.gpus().end());
  const bool all = gpus.size() <= matrix_limit;
  if (!all) {
    const std::int32_t node = topology.node_of(gpus.front());
    std::erase_if(gpus, [&](DeviceId id) { return topology.node_of(id) != node; });
    gpus.resize(std::min(gpus.size(), matrix_limit));
  }
  if (gpus.size() > 1) {
    out << fmt::format("\nbandwidth between GPUs{}, GB/s\n", all ? "" : " of node0")
        << matrix_text(bandwidth_matrix(topology, gpus));
  }
  if (!all) {
    const DeviceId first = topology.gpus().front();
    const DeviceId last = topology.gpus().back();
    const Route route = Router(topology).route(first, last);
    out << fmt::format("\n{} to {}: {}, {}, {}\n", topology.device_name(first),
                       topology.device_name(last), to_string(route.bandwidth),
                       to_string(route.latency), plural(route.links.size(), "link"));
  }
}

}  // namespace

std::string topology_summary(const Topology& topology) {
  return fmt::format("{} on {}, {}, {}", plural(topology.gpus().size(), "GPU"),
                     plural(topology.node_count(), "node"),
                     plural(topology.devices().size(), "device"),
                     plural(topology.links().size() / 2, "link"));
}

void show_topology(const Topology& topology, std::ostream& out) {
  out << topology.name() << "\n" << topology_summary(topology) << "\n";
  out << fmt::format("calibration: {}{}\n", calibration_for(topology).name,
                     topology.calibration().empty() ? " (by its GPUs and links)" : "");
  show_nodes(topology, out);
  show_shared_resources(topology, out);
  show_fabric(topology, out);
  show_matrix(topology, out);
}

}  // namespace collsim::command
