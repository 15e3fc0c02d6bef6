#pragma once

#include <cstdint>

namespace collsim {

/// Spreads 64 bits over 64 bits (the finaliser of Steele, Lea and Flood's SplitMix64).
constexpr std::uint64_t scramble(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

}  // namespace collsim
