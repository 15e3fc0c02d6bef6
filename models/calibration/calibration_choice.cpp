#include "models/calibration/calibration_choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "models/machine/gpu_generation.h"
#include "sim/topologies/reach.h"

namespace collsim {

namespace {

const GpuGeneration* generation_of(const Topology& topology) {
  const GpuGeneration* oldest = nullptr;
  std::optional<std::string_view> last;
  for (const DeviceId gpu : topology.gpus()) {
    const std::string_view model = topology.device(gpu).model;
    if (model == last) continue;
    last = model;
    const auto capability = known_compute_capability(model);
    const auto generations = gpu_generations();
    const auto found =
        std::find_if(generations.begin(), generations.end(), [&](const GpuGeneration& each) {
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

/// The model of all GPUs; null where they differ, or one is not known.
const GpuModel* model_of_all(const Topology& topology) {
  const GpuModel* model = nullptr;
  std::optional<std::string_view> last;
  for (const DeviceId gpu : topology.gpus()) {
    const std::string_view name = topology.device(gpu).model;
    if (name == last) continue;
    const GpuModel* const known = find_gpu_model(name);
    if (known == nullptr || (last && known != model)) return nullptr;
    model = known;
    last = name;
  }
  return model;
}

}  // namespace

std::string calibration_name(const Topology& topology) {
  if (!topology.calibration().empty()) return topology.calibration();
  const GpuGeneration* generation = generation_of(topology);
  if (generation == nullptr) return std::string(default_calibration);
  if (!nvlink_joins_every_node(topology)) return "pcie";
  std::string_view own;
  if (const GpuModel* const model = model_of_all(topology)) {
    const auto gpus = static_cast<std::uint32_t>(topology.gpus().size());
    if (topology.node_count() == 1) own = host_calibration(*model, gpus);
    if (own.empty()) own = own_calibration(*model);
  }
  return std::string(own.empty() ? generation->calibration : own);
}

std::optional<std::string> calibration_warning(const Calibration& cost) {
  if (cost.name != default_calibration) return std::nullopt;
  return "calibration 'default': nothing was measured on machines like this one, so expect errors "
         "of tens of percent, most below 1 MiB";
}

}  // namespace collsim
