#pragma once

#include <span>
#include <string>

#include "models/calibration/trust.h"
#include "models/scenario/run_spec.h"
#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "sim/cost/trust.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/moe/port_exchange.h"
#include "tools/collsim/moe/traffic_matrix.h"

namespace collsim {

/// What is asked of NCCL: sends and receives, or broadcasts, of given sizes.
struct SizedQuestion {
  const Topology* topology = nullptr;
  std::span<const DeviceId> gpus;
  RunSpec run{};          ///< NCCL's version and variables
  bool gathers = false;   ///< each rank broadcasts what it has, all in one group
  bool estimate = false;  ///< by formulas, not by simulation
};

/// How long such a call takes, and on which ports.
struct SizedCall {
  Seconds time;
  Trust trust = Trust::guessed;  ///< what the time rests on
  Medium medium{};               ///< what its data cross
  Seconds even;                  ///< of as many bytes in all, the same from each rank to each
  PortExchange ports;
};

/// A call of the sizes of a matrix. Its messages are simulated side by side where that takes no
/// more than a second or so. Else NCCL runs it as it runs one of equal sizes, and its time is that
/// of the all_to_all whose flows end as late on the machine's ports as those of the matrix. Throws
/// InputError where ranks are not joined.
SizedCall sized_call(const SizedQuestion& question, const TrafficMatrix& bytes,
                     const Calibration& cost);

}  // namespace collsim
