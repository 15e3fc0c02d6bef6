#pragma once

#include "models/prediction/planner.h"

namespace collsim {

/// About how many bytes of memory it takes to lay out and simulate a call. Known before anything is
/// laid out, by the number of connections that the algorithm has.
double memory_needed(const Planner& planner, Bytes size);

/// The bytes of memory that the process may still use: what the system has available, or less where
/// its control group or RLIMIT_AS says so.
double memory_available();

/// Throws InputError if a call needs more than 80 % of so many bytes.
void require_memory(const Planner& planner, Bytes size, double available = memory_available());

}  // namespace collsim
