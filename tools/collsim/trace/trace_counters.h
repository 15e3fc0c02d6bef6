#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/collsim/trace/call_trace.h"

namespace collsim {

/// A quantity over time: it has each value from its nanosecond to the next one's.
struct TraceCounter {
  std::string name;
  std::string unit;
  std::vector<std::pair<std::int64_t, double>> values;
};

/// How many per cent of its rate each link and shared resource carries, of the `most` that carry
/// most bytes, busiest first. A slice's bytes are spread evenly over the time in which they flow;
/// what a proxy sends over a network, over the time from when it has it until the peer sees it.
/// The area under a curve is what resource_load() counts, over the capacity.
std::vector<TraceCounter> link_utilisation(const CallTrace& trace, std::size_t most);

/// How many slices lie in the FIFOs of each participant, sent and not yet taken.
std::vector<TraceCounter> fifo_fill(const CallTrace& trace);

}  // namespace collsim
