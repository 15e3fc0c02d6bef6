#include "tools/collsim/topology_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <ostream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/topologies/routing.h"

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

/// Names that count up: "gpu[0..7]", or one name.
struct NameRun {
  std::string stem;
  int first = -1;  ///< -1: the name has no number
  int last = -1;

  std::string text() const {
    if (first < 0) return stem;
    return first == last ? fmt::format("{}{}", stem, first)
                         : fmt::format("{}[{}..{}]", stem, first, last);
  }
};

NameRun run_of(std::string_view name) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  NameRun run{std::string(name.substr(0, digits)), -1, -1};
  const std::string_view number = name.substr(digits);
  std::from_chars(number.data(), number.data() + number.size(), run.first);
  run.last = run.first;
  // "gpu007", and numbers that no int holds, are names as they stand.
  if (run.text() != name) return {std::string(name), -1, -1};
  return run;
}

/// Links that stand in one line: their ends count up together, or one end does.
struct LinkRun {
  NameRun from;
  NameRun to;
  std::string properties;
};

bool try_extend(LinkRun& run, const LinkRun& next) {
  if (run.properties != next.properties || run.from.stem != next.from.stem ||
      run.to.stem != next.to.stem) {
    return false;
  }
  const int from_step = next.from.first - run.from.last;
  const int to_step = next.to.first - run.to.last;
  const bool counts_up =
      (from_step == 1 && (to_step == 0 || to_step == 1)) || (from_step == 0 && to_step == 1);
  const bool from_moves = run.from.first != run.from.last;
  const bool to_moves = run.to.first != run.to.last;
  const bool same_way =
      (from_moves == (from_step == 1) && to_moves == (to_step == 1)) || (!from_moves && !to_moves);
  if (!counts_up || !same_way) return false;
  run.from.last = next.from.first;
  run.to.last = next.to.first;
  return true;
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
    // Which leaf it is differs from node to node; that it is the network does not.
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
  return text;
}

/// Each way a node can be wired, with the nodes that are wired so.
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
    if (nodes.size() > 1) out << fmt::format(", and {} more wired like it", nodes.size() - 1);
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

/// The fabric as counts: so many cables of a kind between one kind of device and another.
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
  const bool one_node = topology.node_count() == 1 || !all;
  const auto label = [&](DeviceId id) {
    const Device& device = topology.device(id);
    return std::string(one_node ? name_in_node(device) : std::string_view(device.name));
  };
  std::size_t width = 6;
  for (const DeviceId id : gpus) width = std::max(width, label(id).size());
  Router router(topology);
  if (gpus.size() > 1) {
    out << fmt::format("\nbandwidth between GPUs{}, GB/s\n  {:<{}}", all ? "" : " of node0", "",
                       width);
    for (const DeviceId to : gpus) out << fmt::format(" {:>{}}", label(to), width);
    out << "\n";
    for (const DeviceId from : gpus) {
      out << fmt::format("  {:<{}}", label(from), width);
      for (const DeviceId to : gpus) {
        const BytesPerSecond rate = router.route(from, to).bandwidth;
        const std::string text =
            from == to ? "-" : fmt::format("{:.4g}", in_gigabytes_per_second(rate));
        out << fmt::format(" {:>{}}", text, width);
      }
      out << "\n";
    }
  }
  if (!all) {
    const DeviceId first = topology.gpus().front();
    const DeviceId last = topology.gpus().back();
    const Route route = router.route(first, last);
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
  out << "calibration: " << (topology.calibration().empty() ? "none named" : topology.calibration())
      << "\n";
  show_nodes(topology, out);
  show_shared_resources(topology, out);
  show_fabric(topology, out);
  show_matrix(topology, out);
}

}  // namespace collsim::command
