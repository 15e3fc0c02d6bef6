#include <fmt/format.h>
#include <fmt/ostream.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cstdio>
#include <iosfwd>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/base/input_error.h"
#include "sim/base/words.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/topo/bandwidth_matrix.h"
#include "tools/collsim/topo/topo_actions.h"
#include "tools/collsim/topo/topology_report.h"

namespace collsim::command {

namespace {

constexpr std::size_t device_limit = 2'000;

// Okabe and Ito's colours, which colour-blind people can distinguish.
std::string_view color_of(DeviceKind kind) {
  return word_for(kind, {{DeviceKind::gpu, "#009E73"},
                         {DeviceKind::nvswitch, "#56B4E9"},
                         {DeviceKind::pcie_switch, "#F0E442"},
                         {DeviceKind::cpu, "#CC79A7"},
                         {DeviceKind::nic, "#E69F00"},
                         {DeviceKind::network_switch, "#D55E00"}});
}

std::string_view style_of(LinkKind kind) {
  return word_for(kind, {{LinkKind::nvlink, "color=\"#009E73\", penwidth=2"},
                         {LinkKind::pcie, "color=\"#000000\""},
                         {LinkKind::cpu, "color=\"#CC79A7\", style=dashed"},
                         {LinkKind::network, "color=\"#D55E00\""}});
}

/// Text between quotes in Graphviz' language.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return safe;
}

void print_device(const Topology& topology, DeviceId id, std::ostream& out) {
  const Device device = topology.device(id);
  const std::string full_name = topology.device_name(id);
  const std::string name = full_name.substr(full_name.find('/') + 1);
  const std::string model = device.model.empty() ? "" : "\\n" + escaped(device.model);
  fmt::print(out, "    d{} [label=\"{}{}\", fillcolor=\"{}\"];\n", id, escaped(name), model,
             color_of(device.kind));
}

void print_devices(const Topology& topology, std::ostream& out) {
  std::int32_t open_node = -1;
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    const std::int32_t node = topology.node_of(id);
    if (node != open_node) {
      if (open_node >= 0) out << "  }\n";
      if (node >= 0)
        fmt::print(out, "  subgraph cluster_node{0} {{\n    label=\"node{0}\";\n", node);
      open_node = node;
    }
    print_device(topology, id, out);
  }
  if (open_node >= 0) out << "  }\n";
}

/// The output of `dot -Tsvg` on a text; empty if the program is missing or fails.
std::string laid_out(const std::string& dot) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File input(std::tmpfile(), std::fclose);
  const File output(std::tmpfile(), std::fclose);
  if (!input || !output) return {};
  if (std::fwrite(dot.data(), 1, dot.size(), input.get()) != dot.size()) return {};
  std::rewind(input.get());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, fileno(input.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(output.get()), STDOUT_FILENO);
  std::array<std::string, 2> words{"dot", "-Tsvg"};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t process = 0;
  const int failed = posix_spawnp(&process, "dot", &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (failed != 0 || waitpid(process, &status, 0) != process || status != 0) return {};
  std::string text;
  std::array<char, 65'536> piece{};
  std::rewind(output.get());
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), output.get())) {
    text.append(piece.data(), count);
  }
  return text;
}

/// The machine in Graphviz' language: a box per node with its devices, links labelled with their
/// bandwidth. Throws InputError for more than 2000 devices, which would be unreadable.
void print_dot(const Topology& topology, std::ostream& out) {
  if (topology.devices().size() > device_limit) {
    throw InputError(fmt::format("a drawing would show {} devices", topology.devices().size()),
                     "at most 2000; --format table shows machines of any size");
  }
  fmt::print(out,
             "graph machine {{\n"
             "  label=\"{}\";\n"
             "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
             "  edge [fontname=\"sans-serif\", fontsize=9];\n",
             escaped(topology.name()));
  print_devices(topology, out);
  for (LinkId id = 0; id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    if (link.reverse < id) continue;
    const std::string rate = to_string((1.0 / link.count) * link.bandwidth);
    fmt::print(out, "  d{} -- d{} [label=\"{}{}\", {}];\n", link.from, link.to,
               link.count > 1 ? fmt::format("{} x ", link.count) : "", rate, style_of(link.kind));
  }
  out << "}\n";
}

/// The same, laid out by Graphviz' program `dot`. Throws InputError if it is not installed.
void print_svg(const Topology& topology, std::ostream& out) {
  std::ostringstream dot;
  print_dot(topology, dot);
  const std::string svg = laid_out(dot.str());
  if (svg.empty()) {
    throw InputError("--format svg: Graphviz' program 'dot' does not run",
                     "install graphviz, or use --format dot on a machine that has it");
  }
  out << svg;
}

void show_machine(const Topology& topology, Format format, std::ostream& out) {
  if (format == Format::dot) {
    print_dot(topology, out);
  } else if (format == Format::svg) {
    print_svg(topology, out);
  } else if (format == Format::table) {
    show_topology(topology, out);
  } else {
    throw InputError(fmt::format("--format {} without --pairs", to_string(format)),
                     "table, dot or svg");
  }
}

void show_matrix(const Topology& topology, Format format, std::ostream& out) {
  if (format == Format::dot || format == Format::svg) {
    throw InputError(fmt::format("--format {} with --pairs", to_string(format)),
                     "table, csv, json or jsonl");
  }
  Answer answer;
  answer.draw([&](std::ostream& to) { print_matrix_table(topology, to); });
  answer.rows = matrix_rows(topology);
  answer.document = matrix_record(topology);
  write_answer(format, answer, out);
}

int topo_show(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(topo_show_subcommand, args, out);
  if (!values) return exit_ok;
  const Topology topology = load_with_warnings((*values)["topology"].as<std::string>(), err);
  const auto show = (*values)["pairs"].as<bool>() ? show_matrix : show_machine;
  show(topology, format_option(*values), out);
  return exit_ok;
}

}  // namespace

const Subcommand topo_show_subcommand{
    .name = "topo show",
    .summary = "draw a machine: devices, links, fabric and the bandwidth between GPUs",
    .usages = {"MACHINE [--pairs] [--format F]"},
    .answers =
        "Says what a machine looks like: devices, links, fabric and the bandwidth between GPUs. "
        "--format svg needs Graphviz.",
    .manual = "",
    .examples = {"topo show hgx-h200", "topo show dgx-h100-x4 --format svg > machine.svg",
                 "topo show hgx-h200 --pairs --format csv"},
    .argument = "topology",
    .needs = "machine",
    .first = "topology pairs format",
    .modes = {{"", "topology pairs"}},
    .formats = {Format::table, Format::csv, Format::json, Format::jsonl, Format::dot, Format::svg},
    .run = topo_show,
};

}  // namespace collsim::command
