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

namespace po = boost::program_options;

namespace {

void show_machine(const Topology& topology, Format format, std::ostream& out) {
  if (format == Format::dot) {
    print_dot(topology, out);
  } else if (format == Format::svg) {
    print_svg(topology, out);
  } else if (format == Format::table) {
    show_topology(topology, out);
  } else {
    throw InputError(fmt::format("--format {} without --matrix", to_string(format)),
                     "table, dot or svg");
  }
}

void show_matrix(const Topology& topology, Format format, std::ostream& out) {
  if (format == Format::dot || format == Format::svg) {
    throw InputError(fmt::format("--format {} with --matrix", to_string(format)),
                     "table, csv, json or jsonl");
  }
  Answer answer;
  answer.draw([&](std::ostream& to) { print_matrix_table(topology, to); });
  answer.rows = matrix_rows(topology);
  answer.document = matrix_record(topology);
  write_answer(format, answer, out);
}

}  // namespace

int topo_show(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options("options");
  options.add_options()  //
      ("topology,t", po::value<std::string>(),
       "machine: a file, or a shipped name; -t may be omitted")  //
      ("matrix", po::bool_switch(),
       "print only the bandwidth between all GPUs (up to 1024 GPUs), not as dot or svg");
  add_format_option(
      options, {Format::table, Format::csv, Format::json, Format::jsonl, Format::dot, Format::svg});
  const auto values = parse_options(options, "collsim topo show MACHINE [--matrix] [--format F]",
                                    "", "topology", args, out);
  if (!values) return exit_ok;
  if (!values->contains("topology")) throw InputError("topo show: no machine", "one file or name");
  const Topology topology = load_with_warnings((*values)["topology"].as<std::string>(), err);
  const auto show = (*values)["matrix"].as<bool>() ? show_matrix : show_machine;
  show(topology, format_option(*values), out);
  return exit_ok;
}

}  // namespace collsim::command
