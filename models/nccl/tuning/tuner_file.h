#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "models/nccl/settings/function.h"
#include "sim/base/units.h"

namespace collsim {

/// A line of a configuration file of NCCL's example tuner plug-in (plugins/tuner/example): which
/// algorithm and protocol it picks for the sizes from `least` to `most`, both included.
struct TunerRule {
  NcclFunction function = NcclFunction::all_reduce;
  Bytes min;  ///< as NCCL tunes it: Nccl::choose()
  Bytes max;
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;
  std::uint32_t nodes = 1;
  std::uint32_t ranks = 1;
};

/// Writes a rule as "allreduce,0,65536,ring,ll,8,1,8": collective, smallest and largest size,
/// algorithm, protocol, channels, nodes, ranks; all in lower case and without blanks, since the
/// plug-in's parser cuts at commas only. No line end.
std::string tuner_line(const TunerRule& rule);

}  // namespace collsim
