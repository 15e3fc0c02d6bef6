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

int topo_import(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(topo_import_subcommand, args, out);
  if (!values) return exit_ok;
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

}  // namespace

const Subcommand topo_import_subcommand{
    .name = "topo import",
    .summary = "make a topology from a file of NCCL's, nvidia-smi's or lstopo's",
    .usages = {"FILE [--gpu NAME] [--nodes N --fabric F] [-o OUT]"},
    .answers = "Makes a topology of a real machine, or of a cluster of such machines.",
    .manual =
        "FILE is a topology file of NCCL's (a dump of NCCL_TOPO_DUMP_FILE, or one that a cloud "
        "ships); `nvidia-smi topo -m`, also as Markdown or HTML; or `lstopo --of xml`. --gpu is "
        "required for nvidia-smi's matrix and for files that name GPUs by PCI class alone; \"H100 "
        "PCIe\" is a card.",
    .examples = {"topo import nccl-topo.xml -o mine.yaml", "topo import nvidia-smi.txt --gpu H100",
                 "topo import nccl-topo.xml --nodes 4 --fabric ndr-fat-tree -o mine.yaml"},
    .argument = "file",
    .needs = "file",
    .first = "file gpu nics nodes fabric output",
    .modes = {{"", "file gpu nics nodes fabric output"}},
    .values = {{"nodes", number(1)}},
    .run = topo_import,
};

int topo_compose(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(topo_compose_subcommand, args, out);
  if (!values) return exit_ok;
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

const Subcommand topo_compose_subcommand{
    .name = "topo compose",
    .summary = "make a topology from a node template and a fabric",
    .usages = {"NODE [--nodes N --fabric F] [-o OUT]"},
    .answers = "Makes a topology of a node template and a fabric.",
    .manual = "",
    .examples = {"topo compose dgx-h100 --nodes 16 --fabric ndr-fat-tree -o my-cluster.yaml"},
    .argument = "node",
    .needs = "node",
    .first = "node nodes fabric output",
    .modes = {{"", "node nodes fabric output"}},
    .values = {{"nodes", number(1)}},
    .run = topo_compose,
};

int topo_export(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(topo_export_subcommand, args, out);
  if (!values) return exit_ok;
  const Topology topology = load_with_warnings((*values)["topology"].as<std::string>(), err);
  const NcclSystem system = system_from_topology(topology, default_nccl_version);
  write_text(nccl_topology_text(system), *values, out);
  return exit_ok;
}

const Subcommand topo_export_subcommand{
    .name = "topo export",
    .summary = "write a machine's first node as NCCL's topology file",
    .usages = {"MACHINE [-o OUT]"},
    .answers =
        "Writes the machine's first node in the format of NCCL's topology dumps, for "
        "NCCL_TOPO_FILE.",
    .manual = "",
    .examples = {"topo export dgx-h100-x4 -o topo.xml"},
    .argument = "topology",
    .needs = "machine",
    .first = "topology output",
    .modes = {{"", "topology output"}},
    .run = topo_export,
};

}  // namespace collsim::command
