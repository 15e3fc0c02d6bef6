#include "tools/collsim/topology_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "sim/topologies/name_run.h"
#include "sim/topologies/routing.h"
#include "tools/collsim/bandwidth_matrix.h"
#include "tools/collsim/pcie_tree.h"

namespace collsim::command {

namespace {

/// GPUs that a bandwidth matrix has columns for.
constexpr std::size_t matrix_limit = 16;

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "gpu0" of "node3/gpu0".
std::string_view name_in_node(const Device& device) {
  const std::string_view name = device.name;
  const auto slash = name.find('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

std::string bandwidth_text(const Link& link) {
  if (link.count == 1) return to_string(link.bandwidth);
  return fmt::format("{} x {}", link.count, to_string((1.0 / link.count) * link.bandwidth));
}

/// "gpu[0..7] (H200), nvswitch0".
std::string device_list(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    const std::string& model = topology.device(devices[i]).model;
    NameRun run = run_of(name_in_node(topology.device(devices[i])));
    for (++i; i < devices.size(); ++i) {
      const NameRun next = run_of(name_in_node(topology.device(devices[i])));
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
      const bool in_node =
          topology.device(topology.link(id).to).node == topology.device(device).node;
      if (!in_node || id < topology.link(id).reverse) drawn.push_back(id);
    }
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

std::string node_drawing(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::vector<LinkRun> runs;
  for (const LinkId id : drawn_links(topology, devices)) {
    const Link& link = topology.link(id);
    const Device& from = topology.device(link.from);
    const Device& to = topology.device(link.to);
    // The leaf differs from node to node, so equal nodes show "network".
    const NameRun target =
        to.node == from.node ? run_of(name_in_node(to)) : NameRun{"network", -1, -1};
    LinkRun next{run_of(name_in_node(from)), target,
                 fmt::format("{:<8} {:>16}  {}", to_string(link.kind), bandwidth_text(link),
                             to_string(link.latency))};
    if (runs.empty() || !try_extend(runs.back(), next)) runs.push_back(std::move(next));
  }
  std::string text = fmt::format("  {}\n", device_list(topology, devices));
  for (const LinkRun& run : runs) {
    text += fmt::format("  {:<12} - {:<12} {}\n", run.from.text(), run.to.text(), run.properties);
  }
  return text + pcie_tree_text(topology, devices);
}

/// Each different wiring, with the nodes that have it.
std::vector<std::pair<std::string, std::vector<std::size_t>>> distinct_nodes(
    const Topology& topology) {
  std::vector<std::vector<DeviceId>> devices(topology.node_count());
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    const std::int32_t node = topology.device(id).node;
    if (node >= 0) devices[static_cast<std::size_t>(node)].push_back(id);
  }
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> distinct;
  for (std::size_t node = 0; node < devices.size(); ++node) {
    std::string drawing = node_drawing(topology, devices[node]);
    const auto [entry, added] = known.emplace(drawing, distinct.size());
    if (added) distinct.emplace_back(std::move(drawing), std::vector<std::size_t>{});
    distinct[entry->second].second.push_back(node);
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
  for (const SharedResource& resource : topology.shared_resources()) {
    out << fmt::format("  {:<24} {:>12}  {}\n", resource.name, to_string(resource.bandwidth),
                       plural(resource.links.size(), "link"));
  }
}

/// The letters of a name like "leaf12".
std::string stem(std::string_view name) {
  return std::string(name.substr(0, name.find_last_not_of("0123456789") + 1));
}

/// The fabric as counts of cables between two kinds of devices.
void show_fabric(const Topology& topology, std::ostream& out) {
  std::map<std::string, std::size_t> switches;
  for (const Device& device : topology.devices()) {
    if (device.node < 0) ++switches[stem(device.name)];
  }
  using Row = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Row, std::size_t> rows;
  for (LinkId id = 0; id < topology.links().size(); ++id) {
    const Link& link = topology.link(id);
    const Device& from = topology.device(link.from);
    const Device& to = topology.device(link.to);
    const bool inside = from.node >= 0 && from.node == to.node;
    if (inside || link.reverse < id) continue;
    ++rows[{stem(name_in_node(from)), stem(name_in_node(to)), bandwidth_text(link),
            to_string(link.latency)}];
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
    const std::int32_t node = topology.device(gpus.front()).node;
    std::erase_if(gpus, [&](DeviceId id) { return topology.device(id).node != node; });
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
    out << fmt::format("\n{} to {}: {}, {}, {}\n", topology.device(first).name,
                       topology.device(last).name, to_string(route.bandwidth),
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
  out << fmt::format("calibration: {}{}\n", calibration_name(topology),
                     topology.calibration().empty() ? " (by its GPUs and links)" : "");
  show_nodes(topology, out);
  show_shared_resources(topology, out);
  show_fabric(topology, out);
  show_matrix(topology, out);
}

}  // namespace collsim::command
