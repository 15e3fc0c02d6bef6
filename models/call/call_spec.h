#pragma once

#include <vector>

#include "models/faults/machine_faults.h"
#include "models/nccl/choice.h"
#include "models/scenario/run_spec.h"
#include "sim/cost/calibration.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What is asked: one collective on a machine, at any size. Nothing is decided yet; a CallCompiler
/// does that.
struct CallSpec {
  const Topology* topology = nullptr;  ///< the machine; it must outlive who plans and predicts
  Calibration cost{};                  ///< what work costs on the machine: calibration_for()
  Collective collective = Collective::all_reduce;
  RunSpec run{};                 ///< schedule, algorithm, protocol, NCCL's version and variables
  std::vector<DeviceId> gpus{};  ///< rank i sits on `gpus[i]`: first_gpus()
  Rank root = 0;                 ///< counts only where the collective has one
  /// What is wrong with the machine. Plans, and what NCCL chooses, are still made for the healthy
  /// one: communicators are older than faults.
  MachineFaults faults{};
  /// NCCL's decisions for more or fewer of the same hosts, with the same variables and GPUs of each
  /// host. Where both have several hosts, or both one, the call takes over what its search found.
  /// Elsewhere it does not count. It must outlive this.
  const Nccl* like = nullptr;
};

}  // namespace collsim
