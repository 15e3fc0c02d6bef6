#pragma once

#include "models/nccl/choice.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The variables that NCCL sees once its network plug-in has set its own. A variable that is set
/// stays.
///
/// On EFA, aws-ofi-nccl sets NCCL_PROTO=simple where the NIC may deliver a message's lines in any
/// order: on p3dn, p4d and p4de, which are those with GPUs before Hopper (aws-ofi-nccl,
/// src/platform-aws.c, platform_data_map).
Nccl::Variables with_net_plugin(const Topology& topology, Nccl::Variables variables);

}  // namespace collsim
