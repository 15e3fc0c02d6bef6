#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/calibration/error_table.h"
#include "models/calibration/trust.h"
#include "models/call/call_compiler.h"
#include "models/scenario/scenario.h"
#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/core/format.h"

namespace collsim::command {

/// The input of `run` and `estimate`: a scenario, its machine, and the output format.
struct CallRequest {
  Scenario scenario;
  Topology topology;
  Calibration cost;
  Rank ranks = 1;
  std::vector<DeviceId> gpus;  ///< of the ranks, in their order
  MachineFaults faults;
  Format format = Format::table;
  ErrorTable errors;           ///< how far measured times lie from predicted ones
  bool wide = false;           ///< tables with all columns, in lines of any length
  bool nccl_estimate = false;  ///< show NCCL's own estimate
};

/// A communicator that a log describes, in place of a machine or a scenario.
struct GivenCommunicator {
  Topology topology;
  RunSpec run;  ///< its release of NCCL, and the variables that were set
  Rank ranks = 1;
  Rank ranks_per_node = 1;
};

/// Reads the scenario file, if one is given and no communicator is. Options override it. Prints
/// warnings about the machine and its calibration to `err`. Throws InputError.
CallRequest read_request(const boost::program_options::variables_map& values, std::ostream& err,
                         const std::optional<GivenCommunicator>& communicator = {});

/// The question that a scenario asks about a machine, for programs: no options, no warnings. Throws
/// InputError.
CallRequest question_about(Scenario scenario, Topology topology, ErrorTable errors);

/// The call of one run. It refers to the question.
CallSpec spec_of(const CallRequest& request, const RunSpec& run);

/// The sizes asked about, in whole elements.
std::vector<Bytes> sizes_of(const CallRequest& request);

/// Throws InputError where NCCL runs the call, and cannot by that algorithm.
void require_runs(const CallCompiler& compiler, NcclAlgorithm algorithm);

/// Prints a compiler's warnings.
void warn(const CallCompiler& compiler, std::ostream& err);

}  // namespace collsim::command
