#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/execution/call_layout.h"
#include "sim/execution/event_tags.h"

namespace collsim {

/// What jitter does to the messages of FIFOs. They stay in order, whatever they are late by.
class Lateness {
 public:
  /// Without FIFOs nothing is late.
  explicit Lateness(std::uint64_t seed = 0, std::size_t fifos = 0) : seed_(seed), fifos_(fifos) {}

  bool empty() const { return fifos_.empty(); }
  /// Makes every later message of the FIFO late by a random part of `jitter`.
  void set_jitter(FifoId id, Seconds jitter) { fifos_[id].jitter = jitter; }
  /// The time until the message that leaves now, which takes `alpha`, is there: not before the one
  /// that left before it.
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

/// Lets happen to a call what its events say, each change in its time.
class MachineChanges {
 public:
  /// All must outlive it. Adds the routes that connections will take to the fabric.
  MachineChanges(const Execution& execution, const ThreadBlockCosts& costs, CallLayout& layout,
                 Fabric& fabric, Proxies& proxies);

  /// What was so before the call begins at once; timers are set for the rest.
  void begin();
  /// Applies the change whose timer has rung.
  void apply(std::size_t number);
  /// The time until the message that leaves now is there.
  Seconds delay_of_next(FifoId id) {
    const Seconds on_time = layout_.fifos[id].alpha;
    return lateness_.empty() ? on_time : lateness_.delay_of_next(id, on_time, fabric_.now());
  }

 private:
  struct Routes {
    RouteId route = 0;
    RouteId network = 0;
    bool route_is_free = false;
  };

  Routes add_routes(const WireChange& change);
  void change_wire(const WireChange& change, const Routes& routes);
  bool is_idle(const WireChange& change) const {
    return layout_.first_fifos[change.channel] == no_fifo;
  }

  const Execution& execution_;
  const ThreadBlockCosts& costs_;
  CallLayout& layout_;
  Fabric& fabric_;
  Proxies& proxies_;
  std::vector<std::vector<Routes>> routes_;  // [change][wire]
  Lateness lateness_;                        // empty: alpha is all
};

}  // namespace collsim
