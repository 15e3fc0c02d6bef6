#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <utility>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/imports/import.h"
#include "models/imports/machine.h"
#include "models/nccl/system/system_topology.h"
#include "models/nccl/system/system_xml.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/node_template.h"
#include "sim/topologies/topology_writer.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/topo/topo_actions.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::uint32_t max_nics = 256;

void add_cluster_options(po::options_description& options) {
  options.add_options()                                                               //
      ("nodes", po::value<std::int64_t>()->default_value(1), "number of such nodes")  //
      ("fabric", po::value<std::string>(),
       "network between the nodes: a file, or a name from topologies/fabrics")  //
      ("output,o", po::value<OutputFile>(), "write to this file");
}

/// Writes a cluster of a node. Loads it first, to be sure that it is valid.
void write_cluster(ClusterText cluster, const po::variables_map& values, std::ostream& out,
                   std::ostream& err) {
  cluster.count = bounded_option(values, "nodes", 1, gpu_limit);
  if (values.contains("fabric")) {
    const auto& name = values["fabric"].as<std::string>();
    cluster.fabric = flow_text(load_yaml(find_data_file(name, "topologies/fabrics"), "fabric"));
    cluster.comments.push_back(fmt::format("Fabric: {}.", name));
  } else if (cluster.count > 1) {
    throw InputError(fmt::format("--nodes {}: no network between the nodes", cluster.count),
                     "--fabric NAME, such as ndr-fat-tree");
  }
  const Topology topology = read_machine({"the new topology", topology_text(cluster)});
  if (const auto warning = calibration_warning(calibration_for(topology))) {
    print_warning(*warning, err);
  } else {
    cluster.calibration = calibration_name(topology);
  }
  write_text(topology_text(cluster), values, out);
}

/// What `--gpu` says.
ImportOptions read_gpu(const po::variables_map& values) {
  if (!values.contains("gpu")) return {};
  const auto& name = values["gpu"].as<std::string>();
  const GpuModel* model = find_gpu_model(name);
  if (model == nullptr) {
    throw InputError(fmt::format("--gpu: unknown GPU '{}'", name),
                     fmt::format("a name with one of {}", gpu_model_names()));
  }
  return {model, is_card(name), 0};
}

}  // namespace

int topo_import(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options("options");
  options.add_options()  //
      ("file", po::value<std::string>(),
       "topology file of NCCL's (a dump of NCCL_TOPO_DUMP_FILE, or one that a cloud ships); "
       "`nvidia-smi topo -m`, also as Markdown or HTML; or `lstopo --of xml`")  //
      ("gpu", po::value<std::string>(),
       "model of the GPUs, such as H200, or \"H100 PCIe\" for cards; required for nvidia-smi's "
       "matrix and for files that name GPUs by PCI class alone")  //
      ("nics", po::value<std::int64_t>()->default_value(0), "number of NICs to add to a node");
  add_cluster_options(options);
  const auto values = parse_options(
      options, "collsim topo import FILE [--gpu NAME] [--nodes N --fabric F] [-o OUT]",
      "Makes a topology of a real machine, or of a cluster of such machines.", "file", args, out);
  if (!values) return exit_ok;
  if (!values->contains("file")) throw InputError("topo import: no file", "one file");
  const auto& file = (*values)["file"].as<std::string>();
  ImportOptions import = read_gpu(*values);
  import.added_nics = bounded_option(*values, "nics", 0, max_nics);
  ImportedNode imported =
      import_node(read_text_file(file, "a file of NCCL's, nvidia-smi's or lstopo's"), import);
  const std::filesystem::path path(file);
  ClusterText cluster{path.stem().string(),
                      {fmt::format("Imported from {}.", path.filename().string())},
                      std::move(imported.node),
                      1,
                      {},
                      {}};
  for (const auto* sentences : {&imported.notes, &imported.warnings}) {
    cluster.comments.insert(cluster.comments.end(), sentences->begin(), sentences->end());
  }
  print_warnings(imported.warnings, err);
  write_cluster(std::move(cluster), *values, out, err);
  return exit_ok;
}

int topo_compose(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options("options");
  options.add_options()("node", po::value<std::string>(),
                        "node template: a file, or a name from topologies/nodes");
  add_cluster_options(options);
  const auto values = parse_options(
      options, "collsim topo compose NODE [--nodes N --fabric F] [-o OUT]", "", "node", args, out);
  if (!values) return exit_ok;
  if (!values->contains("node")) throw InputError("topo compose: no node", "a node template");
  const auto& name = (*values)["node"].as<std::string>();
  ClusterText cluster{
      name,
      {fmt::format("Node: {}.", name)},
      load_node_template(find_data_file(name, "topologies/nodes"), shipped_library()),
      1,
      {},
      {}};
  write_cluster(std::move(cluster), *values, out, err);
  return exit_ok;
}

int topo_export(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options("options");
  options.add_options()  //
      ("topology,t", po::value<std::string>(),
       "machine: a file, or a shipped name; -t may be omitted")  //
      ("output,o", po::value<OutputFile>(), "write to this file");
  const auto values = parse_options(
      options, "collsim topo export MACHINE [-o OUT]",
      "Writes the machine's first node in the format of NCCL's topology dumps, for NCCL_TOPO_FILE.",
      "topology", args, out);
  if (!values) return exit_ok;
  if (!values->contains("topology"))
    throw InputError("topo export: no machine", "one file or name");
  const Topology topology = load_with_warnings((*values)["topology"].as<std::string>(), err);
  const NcclSystem system = system_from_topology(topology, newest_nccl_version);
  write_text(nccl_topology_text(system), *values, out);
  return exit_ok;
}

}  // namespace collsim::command
