#pragma once

#include <vector>

#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"

namespace collsim {

/// What a rank's thread block does in a whole call.
struct ThreadBlockLoad {
  double sent = 0;  ///< bytes on the wire
  Seconds busy;     ///< moving data; not known, and 0, for protocols that do it in rounds
};

/// Bytes on the wire, the protocol's overhead included, that a whole call puts on what carries it.
struct ResourceLoad {
  std::vector<double> resources;                            ///< by ResourceId
  std::vector<std::vector<ThreadBlockLoad>> thread_blocks;  ///< [channel][rank]
};

/// The load of one call, by its plan: no execution can carry less.
ResourceLoad resource_load(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
                           const ProtocolConstants& cost);

}  // namespace collsim
