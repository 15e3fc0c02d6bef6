#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "tools/collsim/replay/trace_replay.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim::command {

/// A traced step with its replay.
struct StepReplay {
  TracedStep traced{};
  ReplayedStep replayed{};
};

/// Replays the steps of traces on the machine that options name: all, or the one that --step names.
/// Writes the program of the last of them where --write asks for it. Throws InputError.
std::vector<StepReplay> replay_steps(const boost::program_options::variables_map& values,
                                     const std::vector<RankTrace>& traces);

/// The steps, and of the last of them its ranks and its calls; JSON has all.
Answer replay_answer(const std::string& machine, const std::vector<StepReplay>& steps);

}  // namespace collsim::command
