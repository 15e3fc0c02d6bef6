#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/execution/event_tags.h"

namespace collsim {

/// What jitter does to the messages of FIFOs. They stay in order, whatever they are late by.
class Lateness {
 public:
  /// Without FIFOs nothing is late.
  explicit Lateness(std::uint64_t seed = 0, std::size_t fifos = 0) : seed_(seed), fifos_(fifos) {}

  bool empty() const { return fifos_.empty(); }
  /// From now on every message of the FIFO is late by a random part of it.
  void set_jitter(FifoId id, Seconds jitter) { fifos_[id].jitter = jitter; }
  /// Until the message that leaves now, which takes `alpha`, is there: not before the one that left
  /// before it.
  Seconds delay_of_next(FifoId id, Seconds alpha, Seconds now);

 private:
  struct OfFifo {
    Seconds jitter;
    Seconds last_arrival;
    std::uint64_t messages = 0;
  };

  std::uint64_t seed_;
  std::vector<OfFifo> fifos_;
};

}  // namespace collsim
