#include "models/calibration/calibration_choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "models/machine/gpu_model.h"
#include "sim/topologies/reach.h"

namespace collsim {

namespace {

/// The calibration of a generation, by compute capability.
struct Generation {
  int first;  ///< of its capabilities
  int last;
  std::string_view over_nvlink;  ///< where NVLink joins all GPUs of a node
  std::string_view over_pcie;
};

/// Turing's, Ampere's, Ada's and Blackwell's cards for workstations and inference have no NVSwitch,
/// at most bridges. Pascal is priced as Volta, the nearest that there is.
constexpr std::array generations{
    Generation{60, 72, "v100", "pcie"},   Generation{75, 75, "pcie", "pcie"},
    Generation{80, 80, "a100", "pcie"},   Generation{86, 89, "pcie", "pcie"},
    Generation{90, 90, "h100", "pcie"},   Generation{100, 103, "b200", "pcie"},
    Generation{120, 121, "pcie", "pcie"},
};

/// A single host that was recorded itself.
struct RecordedHost {
  std::string_view model;
  std::size_t gpus;
  std::string_view calibration;
};

constexpr std::array recorded_hosts{RecordedHost{"H200", 8, "hgx-h200"},
                                    RecordedHost{"H200", 4, "hgx-h200-4"}};

/// A model that differs from others of its generation, wherever NVLink joins it.
struct RecordedModel {
  std::string_view model;
  std::string_view calibration;
};

constexpr std::array recorded_models{RecordedModel{"H200", "h200"}};

const Generation* generation_of(const Topology& topology) {
  const Generation* oldest = nullptr;
  std::optional<std::string_view> last;
  for (const DeviceId gpu : topology.gpus()) {
    const std::string_view model = topology.device(gpu).model;
    if (model == last) continue;
    last = model;
    const auto capability = known_compute_capability(model);
    const auto found =
        std::find_if(generations.begin(), generations.end(), [&](const Generation& each) {
          return capability && *capability >= each.first && *capability <= each.last;
        });
    if (found == generations.end()) return nullptr;
    if (oldest == nullptr || found->first < oldest->first) oldest = &*found;
  }
  return oldest;
}

/// A GPU alone in its node counts as joined if it has an NVLink, to its CPU.
bool nvlink_joins_every_node(const Topology& topology) {
  JoinedDevices joined(topology, LinkKind::nvlink);
  std::map<std::int32_t, std::uint32_t> set_of_node;
  for (const DeviceId gpu : topology.gpus()) {
    const auto links = topology.links_from(gpu);
    const bool has_nvlink = std::any_of(links.begin(), links.end(), [&](LinkId link) {
      return topology.link(link).kind == LinkKind::nvlink;
    });
    const std::uint32_t set = joined.set_of(gpu);
    const auto [node, first] = set_of_node.emplace(topology.node_of(gpu), set);
    if (!has_nvlink || node->second != set) return false;
  }
  return true;
}

bool every_gpu_is(const Topology& topology, std::string_view name) {
  const auto gpus = topology.gpus();
  return std::all_of(gpus.begin(), gpus.end(), [&](DeviceId gpu) {
    const GpuModel* model = find_gpu_model(topology.device(gpu).model);
    return model != nullptr && model->name == name;
  });
}

const RecordedHost* recorded_host(const Topology& topology) {
  if (topology.node_count() != 1) return nullptr;
  const auto found =
      std::find_if(recorded_hosts.begin(), recorded_hosts.end(), [&](const RecordedHost& host) {
        return topology.gpus().size() == host.gpus && every_gpu_is(topology, host.model);
      });
  return found == recorded_hosts.end() ? nullptr : &*found;
}

const RecordedModel* recorded_model(const Topology& topology) {
  const auto found =
      std::find_if(recorded_models.begin(), recorded_models.end(),
                   [&](const RecordedModel& model) { return every_gpu_is(topology, model.model); });
  return found == recorded_models.end() ? nullptr : &*found;
}

}  // namespace

std::string calibration_name(const Topology& topology) {
  if (!topology.calibration().empty()) return topology.calibration();
  const Generation* generation = generation_of(topology);
  if (generation == nullptr) return std::string(default_calibration);
  if (!nvlink_joins_every_node(topology)) return std::string(generation->over_pcie);
  if (const RecordedHost* host = recorded_host(topology)) return std::string(host->calibration);
  const RecordedModel* model = recorded_model(topology);
  return std::string(model != nullptr ? model->calibration : generation->over_nvlink);
}

std::optional<std::string> calibration_warning(const Calibration& cost) {
  if (cost.name != default_calibration) return std::nullopt;
  return "calibration 'default': nothing was measured on machines like this one, so expect errors "
         "of tens of percent, most below 1 MiB";
}

}  // namespace collsim
