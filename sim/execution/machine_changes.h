#pragma once

#include <vector>

#include "sim/execution/call_layout.h"
#include "sim/execution/lateness.h"

namespace collsim {

/// Lets happen to a call what its disturbance says, each change in its time.
class MachineChanges {
 public:
  /// All must outlive it. Adds the routes that connections will take to the fabric.
  MachineChanges(const Execution& execution, const ThreadBlockCosts& costs, CallLayout& layout,
                 Fabric& fabric, Proxies& proxies);

  /// What was so before the call begins at once; timers are set for the rest.
  void begin();
  /// The timer of this change has rung.
  void apply(std::size_t number);
  /// Until the message that leaves now is there.
  Seconds delay_of_next(FifoId id) {
    const Seconds alpha = layout_.fifos[id].alpha;
    return lateness_.empty() ? alpha : lateness_.delay_of_next(id, alpha, fabric_.now());
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
