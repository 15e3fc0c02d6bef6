#include "models/nccl/net_plugin.h"

#include "models/machine/gpu_model.h"

namespace collsim {

namespace {

constexpr int hopper = 90;

/// The NICs of a machine are alike: the first one tells.
bool has_efa(const Topology& topology) {
  for (const Device device : topology.devices()) {
    if (device.kind == DeviceKind::nic) return device.model.starts_with("EFA");
  }
  return false;
}

}  // namespace

Nccl::Variables with_net_plugin(const Topology& topology, Nccl::Variables variables) {
  if (!has_efa(topology)) return variables;
  const std::string model(topology.device(topology.gpus().front()).model);
  const auto capability = known_compute_capability(model);
  if (capability && *capability < hopper) variables.try_emplace("NCCL_PROTO", "Simple");
  return variables;
}

}  // namespace collsim
