#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/collsim/report/table.h"
#include "tools/collsim/traces/job_trace.h"
#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/training_step.h"

namespace collsim::command {

/// The parts of a step, which together are all of its time: "kernels", "exposed dp" and so on of
/// calls that nothing hides, "host" where kernels wait until it issues them, and "waits". A step
/// of which the time alone is known has one part, "step".
using StepParts = std::map<std::string, Seconds>;

Seconds time_of(const StepParts& parts);

/// The parts of a predicted step.
StepParts parts_of(const StepPrediction& step, const TrainingSetup& setup,
                   const KernelTimes& kernels);

/// Names what a rank's call is exposed for: "exposed dp".
using CallName = std::function<std::string(const RankTrace& trace, const TracedCall& call)>;
/// The parts of a step by traces, sorted by rank: the mean of all ranks. Calls are exposed from
/// when the last rank with a trace has come; all other time without kernels is waiting.
StepParts parts_of_traces(const std::vector<RankTrace>& traces, const CallName& name_of);

/// Two steps beside each other, part by part, in milliseconds under those titles.
Table part_table(const StepParts& one, const StepParts& other, const std::string& first_title,
                 const std::string& second_title);

/// How likely a measured step is where another is predicted, as a logarithm. Measured times are
/// lognormal beside predicted ones, by the two percentiles of the range. Where parts are measured,
/// kernels, exposed calls and all waits err apart. Each has the share of the variance that it has
/// of the measured step, at least a hundredth, so that all errors together are the step's.
double log_likelihood(const StepParts& measured, const StepParts& predicted,
                      const StepRange& range);

/// One thing that may explain a measured step, and how likely it is beside the others.
struct StepCause {
  std::string text{};
  std::string options{};  ///< that are added to the command; empty: as predicted, or not known
  std::string check{};    ///< where to look
  double probability = 0;
  StepParts parts{};  ///< of the step that it predicts
};

/// The causes of models/data/step-causes.yaml that change the step which the command's arguments
/// ask about, weighed beside the prediction itself and beside what is not known; the likeliest
/// first. The prediction has as much weight as all the others together. Throws InputError at a
/// mistake of that file.
std::vector<StepCause> weigh_causes(const StepParts& measured, std::span<const std::string> args,
                                    const StepParts& predicted, const StepRange& range);

/// Whether arguments have an option, "--tp", in either form: "--tp 8" or "--tp=8".
bool says(std::span<const std::string> args, const std::string& option);

/// The options of a command of `train` by its arguments. Throws InputError.
boost::program_options::variables_map parse_step(std::span<const std::string> args);

/// `collsim train MACHINE --measured WHAT`: reads what was measured, predicts the step, and says
/// what explains the rest. Gives the exit code.
int explain_step(const boost::program_options::variables_map& values,
                 std::span<const std::string> args, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
