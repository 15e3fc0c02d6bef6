#pragma once

#include <span>
#include <string>

#include "models/scenario/run_spec.h"
#include "sim/cost/calibration.h"
#include "tools/collsim/moe/port_exchange.h"
#include "tools/collsim/moe/traffic_matrix.h"

namespace collsim {

/// How long NCCL's sends and receives of given sizes take, and on which ports.
struct SizedCall {
  Seconds time;
  Trust trust = Trust::guessed;  ///< what the time rests on
  std::string medium;            ///< what its data cross
  Seconds even;                  ///< of as many bytes in all, the same from each rank to each
  PortExchange ports;
};

/// An all_to_all of the sizes of a matrix. NCCL runs it as it runs one of equal sizes, so its time
/// is that of the all_to_all whose flows end as late on the machine's ports as those of the matrix.
/// `run`: NCCL's version and variables. `estimate`: by formulas, not by simulation. Throws
/// InputError where ranks are not joined.
SizedCall sized_call(const Topology& topology, std::span<const DeviceId> gpus,
                     const Calibration& cost, const TrafficMatrix& bytes, const RunSpec& run,
                     bool estimate);

}  // namespace collsim
