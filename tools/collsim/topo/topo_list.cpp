#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "models/imports/machine.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/routing/routing.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/topo/topo_actions.h"

namespace collsim::command {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

/// A shipped machine in one line.
struct MachineRow {
  std::string name;
  std::string title;
  std::size_t gpus = 0;
  std::size_t nodes = 0;
  std::size_t links = 0;
  double nearest =
      0;  ///< GB/s from the first GPU to the best connected GPU of its node; 0: no other
  double farthest = 0;  ///< to the worst connected GPU
  double network = 0;   ///< GB/s of a node's cables, divided by its GPUs; 0: no fabric
  std::string node;     ///< its template; empty: inline
  std::string fabric;   ///< its template or kind
};

/// The text under the first of these keys that the mapping has.
std::string named(const YamlValue& value, std::initializer_list<const char*> keys) {
  if (!value.is_mapping()) return {};
  const YamlMapping mapping = value.free_mapping();
  for (const char* key : keys) {
    if (const auto found = mapping.find(key)) return found->string();
  }
  return {};
}

void measure(const Topology& topology, MachineRow& row) {
  const DeviceId first = topology.gpus().front();
  const std::int32_t node = topology.node_of(first);
  Router router(topology);
  std::size_t gpus_of_node = 0;
  for (const DeviceId gpu : topology.gpus()) {
    if (topology.node_of(gpu) != node) continue;
    if (++gpus_of_node == 1) continue;
    const double rate = in_gigabytes_per_second(router.route(first, gpu).bandwidth);
    row.nearest = std::max(row.nearest, rate);
    row.farthest = gpus_of_node == 2 ? rate : std::min(row.farthest, rate);
  }
  const NodePart part = topology.node(static_cast<std::uint32_t>(node));
  const auto size = static_cast<DeviceId>(part.graph->graph().devices.size());
  for (DeviceId id = part.first_device; id < part.first_device + size; ++id) {
    for (const LinkId number : topology.links_from(id)) {
      const Link link = topology.link(number);
      if (link.kind != LinkKind::network) continue;
      row.network += in_gigabytes_per_second(link.bandwidth) / static_cast<double>(gpus_of_node);
    }
  }
}

MachineRow row_of(const fs::path& file) {
  const Topology topology = load_machine(file.string()).topology;
  MachineRow row;
  row.name = file.stem().string();
  row.title = topology.name();
  row.gpus = topology.gpus().size();
  row.nodes = topology.node_count();
  row.links = topology.links().size() / 2;
  const YamlMapping keys = load_yaml(file, "topology").free_mapping();
  row.node = named(keys.at("nodes"), {"template"});
  if (const auto fabric = keys.find("fabric")) row.fabric = named(*fabric, {"template", "kind"});
  measure(topology, row);
  return row;
}

std::string inside_text(const MachineRow& row) {
  if (row.nearest <= 0) return "-";
  return row.nearest == row.farthest ? fmt::format("{:.4g}", row.nearest)
                                     : fmt::format("{:.4g} to {:.4g}", row.farthest, row.nearest);
}

std::string network_text(const MachineRow& row) {
  return row.network > 0 ? fmt::format("{:.4g}", row.network) : "-";
}

std::vector<MachineRow> all_rows() {
  std::vector<MachineRow> rows;
  for (const fs::path& file : yaml_files(data_directory() / "topologies"))
    rows.push_back(row_of(file));
  return rows;
}

/// Names, sizes and descriptions, in lines of a terminal.
std::vector<Note> machine_notes(const std::vector<MachineRow>& rows) {
  const auto begin = [](std::string_view name, const auto& gpus, const auto& nodes) {
    return fmt::format("{:<27} {:>5} {:>5}  ", name, gpus, nodes);
  };
  const std::string indent = begin("", "", "");
  std::vector<Note> notes{
      {"description (--wide: links and rates)", begin("name", "GPUs", "nodes"), indent}};
  for (const MachineRow& row : rows) {
    notes.emplace_back(row.title, begin(row.name, row.gpus, row.nodes), indent);
  }
  return notes;
}

Table machine_table(const std::vector<MachineRow>& rows) {
  Table table;
  for (const MachineRow& row : rows) {
    NewRow add(table);
    add({"name", "name"}, row.name);
    add({"title", "description"}, row.title);
    add({"gpus", "GPUs"}, row.gpus);
    add({"nodes", "nodes"}, row.nodes);
    add({"links", "links"}, row.links);
    add.data("farthest_gpu_GBps", row.farthest);
    add.data("nearest_gpu_GBps", row.nearest);
    add.data("network_per_gpu_GBps", row.network);
    add.data("node", row.node);
    add.data("fabric", row.fabric);
    add.data("collsim_version", COLLSIM_VERSION);
  }
  return table;
}

/// The same with rates as people read them, and the descriptions at the end.
Table with_rates(Table table, const std::vector<MachineRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.rows[i]["inside"] = inside_text(rows[i]);
    table.rows[i]["network"] = network_text(rows[i]);
  }
  table.columns.push_back({"inside", "GPU to GPU", "(GB/s)"});
  table.columns.push_back({"network", "network", "(GB/s)"});
  std::rotate(table.columns.begin() + 1, table.columns.begin() + 2, table.columns.end());
  return table;
}

/// The first lines of comment of a file, which describe it.
std::string opening_comment(const fs::path& file) {
  std::string comment;
  std::istringstream text(read_text_file(file, "a YAML file").content);
  for (std::string line; std::getline(text, line) && line.starts_with("# ");) {
    if (!comment.empty()) comment += ' ';
    comment.append(line, 2);
  }
  return comment;
}

void print_templates(const char* title, const char* folder, std::ostream& out) {
  fmt::print(out, "\n## {}\n\n| name | description, and origin of its numbers |\n|---|---|\n",
             title);
  for (const fs::path& file : yaml_files(data_directory() / "topologies" / folder)) {
    fmt::print(out, "| [{0}](../topologies/{1}/{0}.yaml) | {2} |\n", file.stem().string(), folder,
               opening_comment(file));
  }
}

constexpr std::string_view routing_text = R"(
## Routing

A fabric's `routing` says how its switches choose among the ways that lead on ([formats.md](formats.md#fabric)).

| fabric | `routing` | what a flow does |
|---|---|---|
| `fat_tree`, `rails` | `ecmp` (default) | A hash of sender, receiver and channel chooses a spine, and a core. The flow keeps to it, so flows collide: of N flows on N equal cables the busiest carries 2.1 on average for N = 4, and 2.6 for N = 8 |
| `fat_tree`, `rails` | `adaptive` | Packets go where least is, so that every flow has an even share of all cables upwards. The spines of a pod are one switch then, and so are the cores: `spine0` is all of them |
| `dragonfly` | `minimal` (default) | The shortest way: one cable between groups. A hash chooses among several |
| `dragonfly` | `adaptive` | A flow leaves the shortest way where a cable on it would be busier than its own ports, and goes over any other switch (Valiant's way), so that the busiest cable is as idle as can be. It then keeps to it |

If every group of a dragonfly of g groups sends to the next one, and c cables of rate B join every two groups, a group
gets c B out by `minimal`. By `adaptive` it gets c B g / 2: x = 2/g of the flows go straight, and the others, over two
cables each, fill those of the other groups as far. If only one group sends, it gets c B (g - 1).

Ways that adapt depend on all flows of the call, in the order in which its connections are laid out. A dragonfly that
adapts is simulated with all its ranks: no smaller cluster takes its place. `collsim estimate` lays out only the hops that
it looks at. Fat-trees that adapt make ranks equal, so that calls of NVLS and trees over nodes fold.

Several NICs of a GPU are shared out as NCCL's channels do it: each channel leaves by the NIC that NCCL's search gives
it. The two ports of a NIC of `oci-h100-x4` are one NIC to it.
)";

void print_markdown(std::ostream& out) {
  out << "# Machines\n\n"
         "`tools/dev/update-topologies-page` makes this page from the files in `topologies/`.\n"
         "*GPU to GPU* is the rate of one transfer inside a node, from the first GPU to the "
         "others.\n"
         "*network* is the bandwidth of a node's cables, divided by its GPUs. Both are in GB/s, "
         "one\n"
         "direction. `collsim topo compose` combines these nodes and fabrics into more "
         "machines.\n\n"
         "| name | machine | GPUs | nodes | links | GPU to GPU | network | node | fabric |\n"
         "|---|---|---|---|---|---|---|---|---|\n";
  for (const MachineRow& row : all_rows()) {
    fmt::print(
        out, "| [{0}](../topologies/{0}.yaml) | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} |\n",
        row.name, row.title, row.gpus, row.nodes, row.links, inside_text(row), network_text(row),
        row.node, row.fabric);
  }
  out << routing_text;
  print_templates("Nodes", "nodes", out);
  print_templates("Fabrics", "fabrics", out);
}

int topo_list(std::span<const std::string> args, std::ostream& out, std::ostream& /*err*/) {
  const auto values = parse_options(topo_list_subcommand, args, out);
  if (!values) return exit_ok;
  heed_only(*values, topo_list_subcommand, {""});
  const Format format = format_option(*values);
  if (format == Format::markdown) {
    print_markdown(out);
    return exit_ok;
  }
  const std::vector<MachineRow> rows = all_rows();
  Answer answer;
  Table table = machine_table(rows);
  answer.rows = table.rows;
  if ((*values)["wide"].as<bool>()) {
    answer.sections.push_back({"", {}, {}, {with_rates(std::move(table), rows)}});
  } else {
    answer.head(machine_notes(rows));
  }
  write_answer(format, answer, out);
  return exit_ok;
}

}  // namespace

const Subcommand topo_list_subcommand{
    .name = "topo list",
    .summary = "list the shipped machines with their sizes and rates",
    .usages = {"[--wide] [--format F]"},
    .answers =
        "Says which machines are shipped, with their sizes, links and rates, and which templates "
        "of nodes and fabrics.",
    .manual = "",
    .examples = {"topo list", "topo list --wide", "topo list --format csv"},
    .argument = "",
    .first = "wide format",
    .modes = {{"", "", "wide"}},
    .formats = {Format::table, Format::csv, Format::json, Format::markdown},
    .run = topo_list,
};

}  // namespace collsim::command
