#include "models/imports/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/import.h"
#include "models/imports/machine_parts.h"
#include "models/machine/gpu_model.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_format.h"
#include "sim/base/input_error.h"
#include "sim/topologies/cluster_name.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/topology_writer.h"

namespace collsim {

namespace {

constexpr std::string_view calibrations = "models/data/calibrations";

void check_calibration(const YamlValue& name) {
  const std::string text = name.string();
  const std::size_t plus = text.find('+');
  const std::vector<std::string> known = shipped_names(calibrations);
  const std::vector<std::string> transports = transport_names();
  const auto is_one_of = [](const std::string& each, const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), each) != names.end();
  };
  const bool has_transport = plus != std::string::npos;
  if (is_one_of(text.substr(0, plus), known) &&
      (!has_transport || is_one_of(text.substr(plus + 1), transports))) {
    return;
  }
  name.fail(fmt::format("there is no calibration '{}'", text),
            fmt::format("one of {}, alone or with '+' and one of {}; a file of your own goes with "
                        "--calibration FILE",
                        fmt::join(known, ", "), fmt::join(transports, ", ")));
}

void check_gpu_model(const YamlValue& model) {
  if (known_compute_capability(model.string())) return;
  model.fail(fmt::format("no GPU '{}' is known", model.string()),
             fmt::format("a name with one of {}; or its compute capability, as in sm_90",
                         gpu_model_names()));
}

Machine import_machine(const TextFile& text) {
  ImportedNode imported = import_node(text);
  const std::string name = std::filesystem::path(text.name).stem().string();
  const ClusterText cluster{name, {}, std::move(imported.node), 1, {}, {}};
  return {read_machine({"what " + text.name + " describes", topology_text(cluster)}),
          std::move(imported.warnings)};
}

}  // namespace

TopologyLibrary shipped_library() {
  return {data_directory() / "topologies", check_calibration, check_gpu_model};
}

Machine load_machine(std::string_view name, const std::filesystem::path& base) {
  const std::filesystem::path path = find_machine(name, base);
  if (names_unwritten_cluster(path.string())) return composed_machine(load_parts(path.string()));
  const TextFile text = read_text_file(path, "a machine");
  if (is_importable(text)) return import_machine(text);
  try {
    return {read_machine(text), {}};
  } catch (const InputError&) {
    refuse_other_kind(text.name, text.content, FileKind::machine, "machine");
    throw;
  }
}

Topology read_machine(const TextFile& text) {
  return read_topology(text, shipped_library());
}

}  // namespace collsim
