#include "sim/execution/disturbance.h"

namespace collsim {

namespace {

/// The finaliser of Steele, Lea and Flood's SplitMix64.
std::uint64_t scramble(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

}  // namespace

double jitter_of(std::uint64_t seed, std::uint64_t flow, std::uint64_t step) {
  const std::uint64_t bits = scramble(scramble(scramble(seed) ^ flow) ^ step);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace collsim
