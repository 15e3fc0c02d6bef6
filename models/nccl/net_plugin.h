#pragma once

#include <optional>

#include "models/nccl/choice.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/efa.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The EFA machine that a topology is; nothing if it is none.
std::optional<EfaPlatform> efa_platform(const Topology& topology);

/// The variables that NCCL sees once its network plug-in has set its own. A variable that is set
/// stays. On EFA, aws-ofi-nccl sets (src/platform-aws.cpp):
///
///   NCCL_PROTO=simple                    p3dn, p4d: the NIC may deliver a message's lines in any
///                                        order
///   NCCL_NVLS_ENABLE=0                   plug-ins of 2023, so with NCCL before 2.19; later ones
///                                        with NCCL before 2.18.5 alone
///   NCCL_BUFFSIZE=8388608                p4d and later, plug-ins since 2024, so with NCCL from
///   NCCL_P2P_NET_CHUNKSIZE=524288        2.23 on
///   NCCL_NVLS_CHUNKSIZE=524288           the same, p5 and later
///   NCCL_NVLSTREE_MAX_CHUNKSIZE=524288
Nccl::Variables with_net_plugin(const Topology& topology, Nccl::Variables variables,
                                NcclVersion version);

}  // namespace collsim
