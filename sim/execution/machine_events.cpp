#include "sim/execution/machine_events.h"

#include "sim/base/scramble.h"

namespace collsim {

double jitter_of(std::uint64_t seed, std::uint64_t flow, std::uint64_t step) {
  const std::uint64_t bits = scramble(scramble(scramble(seed) ^ flow) ^ step);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace collsim
