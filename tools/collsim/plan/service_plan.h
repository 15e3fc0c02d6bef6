#pragma once

#include <boost/program_options.hpp>
#include <cstdint>

#include "sim/base/units.h"
#include "tools/collsim/plan/subjects.h"

namespace collsim::command {

/// How long a request waits in the mean for a server that takes `service` for each, where requests
/// come at random `rate` times a second: the queue M/D/1, rho T / (2 (1 - rho)) with rho = rate T.
/// Infinite where the server cannot keep up.
Seconds mean_wait(double rate, Seconds service);

/// The fewest servers that take `service` for each of `rate` requests a second, of which each waits
/// and is served within `limit`, in the mean; 0 where none are enough.
std::int64_t servers_within(double rate, Seconds service, Seconds limit);

/// Plans for a service level on these machines: with prompts and decoding on GPUs of their own, and
/// together by chunks. Throws InputError.
PlannedAnswer plan_service(const std::vector<Alternative>& alternatives, RunSpec run,
                           const boost::program_options::variables_map& values,
                           const std::string& command);

}  // namespace collsim::command
