#pragma once

#include <optional>
#include <string>

#include "models/call/call_compiler.h"

namespace collsim {

/// About how many bytes of memory it takes to lay out and simulate a call. Known before anything is
/// laid out, by the number of connections that the algorithm has.
double memory_needed(const CallCompiler& compiler, Bytes size);
/// The memory of a layout under NCCL's rules: of an algorithm on `channels` channels, or else of
/// sends and receives.
double memory_needed(const CallCompiler& compiler, std::optional<NcclAlgorithm> algorithm,
                     std::uint32_t channels);

/// The bytes of memory that the process may still use: what the system has available, or less where
/// its control group or RLIMIT_AS says so.
double memory_available();

/// Throws InputError if a call needs more than 80 % of the `available` bytes.
void require_memory(const CallCompiler& compiler, Bytes size,
                    double available = memory_available());

/// Throws InputError, which says what takes the memory and what would take less, if that is more
/// than 80 % of what is available. A call compiler asks this before it lays anything out, so that
/// it holds for whatever is asked of a call.
void require_memory(double needed, const std::string& what, const std::string& accepted,
                    double available = memory_available());
/// The two together: of a layout.
void require_memory_of_layout(const CallCompiler& compiler, double needed);

}  // namespace collsim
