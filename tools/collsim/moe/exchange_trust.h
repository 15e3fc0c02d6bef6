#pragma once

#include <span>
#include <string>

#include "models/calibration/error_table.h"
#include "models/calibration/scaling_error.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/moe/exchange_kernel.h"

namespace collsim {

/// How far off the times of an exchange are.
struct ExchangeTrust {
  double error = 0;  ///< the median to expect, as a share
  std::string note;  ///< what a machine takes over from another; empty: nothing
  ErrorRange range;  ///< where eight of ten times lie, as shares of the predicted one
  /// `measured` where exchanges of the GPU, the network and the number of ranks were recorded,
  /// `derived` where the GPU, or its generation, and the network were, else `guessed`.
  Trust trust = Trust::measured;
};

/// The name of the GPU's model: "H100".
std::string gpu_name(const Topology& topology, DeviceId gpu);

/// Says it of machines, by what has been measured.
class ExchangeErrors {
 public:
  /// Reads models/data/errors.yaml and trust.yaml. Throws InputError.
  ExchangeErrors();

  /// The trust in kernels that send that many bytes from the busiest rank. On the GPUs and the
  /// network that they were fitted on, it is the error of the fit. On others constants are taken as
  /// they are: then the error is that of calls of this size where nothing was measured. On other
  /// numbers of ranks than were recorded it is at least that of times over nodes.
  ExchangeTrust of(const ExchangeKernel& kernel, const Topology& topology,
                   std::span<const DeviceId> gpus, double bytes) const;
  /// The error of calls of such a class, as of one of `collsim run`.
  double of_class(Trust trust, const Medium& medium, double bytes) const;
  /// The range of such calls.
  ErrorRange range_of_class(Trust trust, const Medium& medium, double bytes) const;

 private:
  ErrorTable errors_;
  ScalingError scaling_;
  ErrorRange generations_;
};

}  // namespace collsim
