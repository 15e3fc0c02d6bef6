#pragma once

#include <vector>

#include "sim/wiring.h"
#include "sim/worker.h"

namespace collsim {

/// What the thread blocks that move bytes at this moment are in each other's way: on their GPU, and
/// on the links that they share.
class Crowding {
 public:
  /// Refers to the wiring. Participants are ranks and agents.
  Crowding(const Wiring& wiring, std::size_t participants)
      : wiring_(wiring), demand_(wiring.capacities.size(), 0), busy_(participants, 0) {}

  /// Thread blocks of the participant that move bytes.
  double busy(Rank participant) const { return busy_[participant]; }
  void begin(const Worker& worker) { busy_[worker.rank] += worker.weight; }
  void end(const Worker& worker);

  /// The worker begins to send at a rate to the peers of what it is at. What it can make of the
  /// fullest of its links (ProtocolCost::crowded_share()), which are the wiring's, also where a
  /// change of the machine has led its bytes elsewhere.
  double join(Worker& worker, BytesPerSecond rate);
  void leave(const Worker& worker);

 private:
  const Wiring& wiring_;
  std::vector<double> demand_;  // by resource, in bytes per second
  std::vector<double> busy_;    // by rank, then by agent
};

}  // namespace collsim
