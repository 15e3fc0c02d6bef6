#pragma once

#include <cstdint>
#include <exception>

#include "sim/base/processes.h"
#include "tools/collsim/sweep/sweep_dealer.h"
#include "tools/collsim/sweep/sweep_rows.h"

namespace collsim::command {

// A sweep under mpirun. Process 0 hands out rows and writes the answers; every thread of the others
// asks it for work, with a tag of its own, until it is told to stop.

/// In process 0: serves `workers` threads of others until each has been told to stop. Throws
/// InputError, once all have, where one of them failed or has another scenario.
void serve_workers(Processes& processes, std::uint32_t workers, const Sweep& sweep,
                   SweepDealer& dealer);
/// In process 0, when it fails before there is anything to hand out: tells them all to stop.
void dismiss_workers(Processes& processes, std::uint32_t workers);

/// In another process: answers rows until told to stop.
void work_for_process_0(Processes& processes, std::uint32_t thread, const Sweep& sweep);
/// In another process that cannot work: says why, for one thread, and waits to be told to stop.
void report_failure(Processes& processes, std::uint32_t thread, const std::exception_ptr& failure);

}  // namespace collsim::command
