#include "sim/execution/lateness.h"

#include <algorithm>

#include "sim/execution/disturbance.h"

namespace collsim {

Seconds Lateness::delay_of_next(FifoId id, Seconds alpha, Seconds now) {
  OfFifo& fifo = fifos_[id];
  Seconds delay = alpha;
  if (fifo.jitter.value > 0) delay += jitter_of(seed_, id, fifo.messages) * fifo.jitter;
  ++fifo.messages;
  delay = std::max(delay, fifo.last_arrival - now);
  fifo.last_arrival = now + delay;
  return delay;
}

}  // namespace collsim
