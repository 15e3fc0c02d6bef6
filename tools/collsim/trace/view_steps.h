#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan/plan.h"

namespace collsim {

/// The steps of every schedule of a plan, as a textbook shows them (replay_steps()), for the page
/// that draws an algorithm: [{"steps": [{"phase", "transfers": [[from, to, lane, first
/// chunk, chunks, whether it is added, low and high half of the contributions in each chunk]]}]}].
/// A schedule has null instead where the plan has more than max_replayed_ranks ranks, or where
/// those before it have filled what a page may hold.
nlohmann::ordered_json steps_of_schedules(const Plan& plan);

}  // namespace collsim
