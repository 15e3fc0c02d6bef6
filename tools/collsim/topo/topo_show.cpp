#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string>

#include "sim/base/input_error.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/topo/bandwidth_matrix.h"
#include "tools/collsim/topo/topo_actions.h"
#include "tools/collsim/topo/topology_graphviz.h"
#include "tools/collsim/topo/topology_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// An output format for a machine, or for the bandwidth between its GPUs.
struct ShowFormat {
  std::string_view name;
  bool matrix;
  void (*print)(const Topology& topology, std::ostream& out);
};

constexpr std::array formats{
    ShowFormat{"table", false, show_topology}, ShowFormat{"dot", false, print_dot},
    ShowFormat{"svg", false, print_svg},       ShowFormat{"table", true, print_matrix_table},
    ShowFormat{"csv", true, print_matrix_csv}, ShowFormat{"json", true, print_matrix_json},
};

}  // namespace

int topo_show(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options("options");
  options.add_options()  //
      ("topology,t", po::value<std::string>(),
       "machine: a file, or a shipped name; -t may be omitted")  //
      ("matrix", po::bool_switch(),
       "print only the bandwidth between all GPUs (up to 1024 GPUs)")  //
      ("format", po::value<std::string>()->default_value("table"),
       "table, dot (Graphviz) or svg (needs Graphviz); with --matrix: table, csv or json");
  const auto values = parse_options(options, "collsim topo show MACHINE [--matrix] [--format F]",
                                    "", "topology", args, out);
  if (!values) return exit_ok;
  if (!values->contains("topology")) throw InputError("topo show: no machine", "one file or name");
  const bool matrix = (*values)["matrix"].as<bool>();
  const auto& format = (*values)["format"].as<std::string>();
  std::string names;
  for (const ShowFormat& each : formats) {
    if (each.matrix != matrix) continue;
    if (each.name == format) {
      each.print(load_with_warnings((*values)["topology"].as<std::string>(), err), out);
      return exit_ok;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw InputError(
      fmt::format("--format: there is no '{}'{}", format, matrix ? " with --matrix" : ""), names);
}

}  // namespace collsim::command
