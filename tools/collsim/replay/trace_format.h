#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace collsim {

/// What wrote a trace of a job.
enum class TraceFormat : std::uint8_t {
  kineto,           ///< PyTorch's profiler
  chakra_json,      ///< Chakra, as JSON
  chakra_protobuf,  ///< Chakra, as protobuf messages
  nccl_profiler,    ///< the example of a profiler plug-in that NCCL has
  other,
};

/// The format of a file by its first bytes (some thousands), unpacked.
TraceFormat trace_format(std::string_view start);

/// The first bytes of a file, unpacked if gzip has packed them; empty if it cannot be read, or is a
/// pipe.
std::string trace_start(const std::string& file);

}  // namespace collsim
