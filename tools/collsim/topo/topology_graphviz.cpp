#include "tools/collsim/topo/topology_graphviz.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/base/input_error.h"
#include "sim/base/words.h"

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

}  // namespace

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

}  // namespace collsim::command
