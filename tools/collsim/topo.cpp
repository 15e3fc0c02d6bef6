#include <fmt/format.h>

#include <array>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/data_directory.h"
#include "sim/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/options.h"
#include "tools/collsim/subcommand.h"
#include "tools/collsim/topology_report.h"

namespace collsim::command {

namespace {

/// What `collsim topo` can do with files; a new action is a function and a line in `actions`.
struct TopoAction {
  std::string_view name;
  std::string_view summary;
  std::size_t most_files;
  int (*run)(std::span<const std::string> files, std::ostream& out, std::ostream& err);
};

Topology load(const std::string& name) {
  return load_topology(find_data_file(name, "topologies"));
}

int show(std::span<const std::string> files, std::ostream& out, std::ostream&) {
  show_topology(load(files.front()), out);
  return exit_ok;
}

/// Says something about every file, also after a broken one.
int check(std::span<const std::string> files, std::ostream& out, std::ostream& err) {
  int result = exit_ok;
  for (const std::string& file : files) {
    try {
      out << fmt::format("{}: ok, {}\n", file, topology_summary(load(file)));
    } catch (const InputError& error) {
      err << error.what() << "\n";
      result = exit_bad_input;
    }
  }
  return result;
}

constexpr std::array<TopoAction, 2> actions{{
    {"show", "draw a machine: devices, links, fabric and the bandwidth between GPUs", 1, show},
    {"check", "load each file, prove that all GPUs reach each other, and say what it is", 4096,
     check},
}};

std::string action_help() {
  std::string text = "actions:\n";
  for (const TopoAction& action : actions) {
    text += fmt::format("  {:<6} {}\n", action.name, action.summary);
  }
  return text +
         "\nFILE is a topology, or the name of a shipped one (collsim list); docs/formats.md has "
         "the "
         "format.";
}

const TopoAction& find_action(const std::string& name) {
  std::string names;
  for (const TopoAction& action : actions) {
    if (action.name == name) return action;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", action.name);
  }
  throw InputError(fmt::format("topo: '{}' is not an action", name),
                   fmt::format("actions are {}", names));
}

}  // namespace

int run_topo(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  namespace po = boost::program_options;
  const bool has_action = !args.empty() && !args.front().starts_with('-');
  // Everything after the action is a file, unless it asks for an option.
  std::vector<std::string> files;
  std::vector<std::string> options;
  for (const std::string& arg : args.subspan(has_action ? 1 : 0)) {
    (arg.starts_with('-') ? options : files).push_back(arg);
  }
  if (!parse_options(po::options_description(), "collsim topo <action> FILE...", action_help(), "",
                     options, out)) {
    return exit_ok;
  }
  if (!has_action) throw InputError("topo: no action", "collsim topo show FILE, or --help");
  const TopoAction& action = find_action(args.front());
  if (files.empty() || files.size() > action.most_files) {
    throw InputError(fmt::format("topo {}: {} files", action.name, files.size()),
                     action.most_files == 1 ? "one file" : "one file or more");
  }
  return action.run(files, out, err);
}

}  // namespace collsim::command
