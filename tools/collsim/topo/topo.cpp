#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/imports/machine.h"
#include "models/machine/odd_links.h"
#include "models/machine/slot_limits.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/topo/topo_actions.h"
#include "tools/collsim/topo/topology_report.h"

namespace collsim::command {

namespace {

constexpr std::array<std::reference_wrapper<const Subcommand>, 6> actions{
    topo_show_subcommand,   topo_check_subcommand,   topo_list_subcommand,
    topo_import_subcommand, topo_compose_subcommand, topo_export_subcommand};

Subcommands topo_actions() {
  return actions;
}

}  // namespace

void write_text(const std::string& text, const boost::program_options::variables_map& values,
                std::ostream& out) {
  if (values.contains("output")) {
    replace_file(values["output"].as<OutputFile>().name, text);
  } else {
    out << text;
  }
}

namespace {

/// What was odd when the machine was read, and what its nodes' links are: each kind of node once.
void print_warnings_of(const std::string& file, const Machine& machine, std::ostream& err) {
  std::vector<std::string> warnings = machine.warnings;
  const IndexedGraph* last = nullptr;
  for (std::uint32_t node = 0; node < machine.topology.node_count(); ++node) {
    const NodePart part = machine.topology.node(node);
    if (part.graph == last) continue;
    last = part.graph;
    for (std::string& sentence : odd_links(part.graph->graph())) {
      const bool known = std::find(warnings.begin(), warnings.end(), sentence) != warnings.end();
      if (!known) warnings.push_back(std::move(sentence));
    }
  }
  std::vector<std::uint32_t> nodes(machine.topology.node_count());
  std::iota(nodes.begin(), nodes.end(), 0U);
  for (std::string& sentence : slot_limits(machine.topology, nodes, true)) {
    warnings.push_back(std::move(sentence));
  }
  for (const std::string& warning : warnings) {
    print_warning(fmt::format("{}: {}", file, warning), err);
  }
}

/// Checks every file, also those after a wrong one.
int topo_check(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(topo_check_subcommand, args, out);
  if (!values) return exit_ok;
  int result = exit_ok;
  for (const std::string& file : (*values)["file"].as<std::vector<std::string>>()) {
    try {
      const Machine machine = load_machine(file);
      print_warnings_of(file, machine, err);
      out << fmt::format("{}: ok, {}\n", file, topology_summary(machine.topology));
    } catch (const InputError& error) {
      err << error.what() << "\n";
      result = exit_bad_input;
    }
  }
  return result;
}

}  // namespace

const Subcommand topo_check_subcommand{
    .name = "topo check",
    .summary = "check files: load each, prove that all GPUs reach each other, summarise it",
    .usages = {"FILE..."},
    .answers =
        "Says whether machine files, or shipped machines by their names, are right: loads each, "
        "proves that all GPUs reach each other, and summarises it.",
    .manual = "",
    .examples = {"topo check my-machine.yaml", "topo check topologies/*.yaml"},
    .argument = "file",
    .needs = "file",
    .first = "file",
    .modes = {{"", "file"}},
    .values = {{"file", texts("FILE")}},
    .run = topo_check,
};

int run_topo(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const bool has_action = !args.empty() && !args.front().starts_with('-');
  if (has_action) {
    const std::string& name = args.front();
    return known_subcommand(actions, name, fmt::format("topo: '{}' is not an action", name))
        .run(args.subspan(1), out, err);
  }
  if (parse_options(topo_subcommand, args, out)) {
    throw InputError("topo: no action", "collsim topo show FILE, or --help");
  }
  return exit_ok;
}

const Subcommand topo_subcommand{
    .name = "topo",
    .summary = "show, check, list, import and compose machines",
    .usages = {"ACTION [options]"},
    .answers =
        "Says what a machine looks like and whether its file is right; lists, imports and composes "
        "machines.",
    .actions = topo_actions,
    .manual =
        "Each action has --help. docs/topo.md has examples, docs/formats.md the format of "
        "topologies.",
    .examples = {"topo show hgx-h200", "topo list", "topo check my-machine.yaml"},
    .argument = "",
    .first = "",
    .modes = {},
    .run = run_topo,
};

}  // namespace collsim::command
