#include <fmt/format.h>

#include <ostream>
#include <string>

#include "sim/base/input_error.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/topo/bandwidth_matrix.h"
#include "tools/collsim/topo/topo_actions.h"
#include "tools/collsim/topo/topology_graphviz.h"
#include "tools/collsim/topo/topology_report.h"

namespace collsim::command {

namespace {

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
        "Draws a machine: devices, links, fabric and the bandwidth between GPUs. --format svg "
        "needs Graphviz.",
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
