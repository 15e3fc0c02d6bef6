#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace collsim {

/// NCCL's wire protocols (NCCL src/include/device.h).
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t protocol_count = 3;
std::string_view to_string(Protocol protocol);

/// Bytes that the protocol makes of a byte of data: LL 2 (a flag to 4 bytes), LL128 128/120 (a flag
/// to a line), Simple 1.
double bytes_per_byte(Protocol protocol);

}  // namespace collsim
