#include "models/nccl/net_plugin.h"

namespace collsim {

/// The NICs of a machine are alike: the first one tells.
std::optional<EfaPlatform> efa_platform(const Topology& topology) {
  for (const Device device : topology.devices()) {
    if (device.kind != DeviceKind::nic) continue;
    return efa_platform(device.model, topology.device(topology.gpus().front()).model);
  }
  return std::nullopt;
}

Nccl::Variables with_net_plugin(const Topology& topology, Nccl::Variables variables,
                                NcclVersion version) {
  const auto platform = efa_platform(topology);
  if (!platform) return variables;
  if (*platform < EfaPlatform::p5) variables.try_emplace("NCCL_PROTO", "Simple");
  if (version < NcclVersion{2, 19}) variables.try_emplace("NCCL_NVLS_ENABLE", "0");
  if (version < NcclVersion{2, 23} || *platform == EfaPlatform::p3dn) return variables;
  variables.try_emplace("NCCL_BUFFSIZE", "8388608");
  variables.try_emplace("NCCL_P2P_NET_CHUNKSIZE", "524288");
  if (*platform < EfaPlatform::p5) return variables;
  variables.try_emplace("NCCL_NVLS_CHUNKSIZE", "524288");
  variables.try_emplace("NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288");
  return variables;
}

}  // namespace collsim
