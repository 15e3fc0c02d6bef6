#pragma once

#include <vector>

#include "sim/wiring.h"
#include "sim/worker.h"

namespace collsim {

/// What thread blocks that are sending at this moment could put on each link, and what they leave
/// of its rate to one that joins them.
class Crowding {
 public:
  /// Refers to the wiring.
  explicit Crowding(const Wiring& wiring) : wiring_(wiring), demand_(wiring.capacities.size(), 0) {}

  /// The worker begins to send to the peers of what it is at. What is left to it of its rate
  /// (ProtocolCost::crowded_share()) on the fullest of its links, which are the wiring's, also
  /// where a change of the machine has led its bytes elsewhere.
  double join(const Worker& worker);
  void leave(const Worker& worker);

 private:
  const Wiring& wiring_;
  std::vector<double> demand_;  // by resource, in bytes per second
};

}  // namespace collsim
