#pragma once

#include <string_view>

#include "sim/base/units.h"

namespace collsim {

/// How far machines over one transport lie from what it says: one standard deviation each.
struct NetworkSpread {
  double rate = 0;    ///< of the logarithm of what NICs carry
  Seconds latency{};  ///< of what every message takes beyond the transport's alphas
  int machines = 0;   ///< that were measured
};

/// That of models/data/network-spread.yaml, which tools/dev/update-spread writes: of a transport
/// such as `ib`, or else of any. Throws InputError.
NetworkSpread load_network_spread(std::string_view transport);

}  // namespace collsim
