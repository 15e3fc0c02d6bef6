#pragma once

#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// The system as NCCL's InfiniBand and RoCE see it: the ports of one NIC are one NIC, as fast as
/// all of them (a virtual NIC). From 2.20 on, up to two ports that have the PCI device and the chip
/// in common, numbered anew (NCCL src/transport/net_ib.cc, ncclIbFindMatchingDev). From 2.24 on,
/// up to four, numbered after all NICs that are there (src/graph/topo.cc, ncclTopoAutoMerge).
/// NCCL_IB_MERGE_NICS=0 and NCCL_NET_MERGE_LEVEL=LOC leave ports alone; so does NCCL over sockets.
NcclSystem with_merged_ports(NcclSystem system, const NcclEnvironment& environment,
                             NcclVersion version);

}  // namespace collsim
