#pragma once

#include <boost/program_options.hpp>
#include <cstddef>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/training_step.h"

namespace collsim::command {

/// What a step's time is made of, of one rank.
struct StepParts {
  Seconds time{};
  Seconds kernels{};
  Seconds host{};                            ///< kernels wait until the host issues them
  Seconds waits{};                           ///< bubbles, and of traces the host as well
  std::map<std::string, Seconds> exposed{};  ///< calls that nothing hides, by communicator

  Seconds all_exposed() const;
};

/// The parts of a predicted step.
StepParts parts_of(const StepPrediction& step, const TrainingSetup& setup,
                   const KernelTimes& kernels);

/// A step as it was measured.
struct MeasuredStep {
  StepParts parts{};
  bool has_parts = false;  ///< else its time alone is known
  Seconds low{};           ///< of 8 of 10 steps, where several were measured
  Seconds high{};
  std::size_t steps = 1;
  std::string source{};  ///< "train.log (Megatron)"
};

/// How likely a measured step is where another is predicted, as a logarithm. Measured times are
/// `range` times as long as predicted ones: lognormal, by its two percentiles. Where parts are
/// known, kernels, exposed calls and waits err apart: each by the share of that variance that it
/// has of the measured step, at least a hundredth, so that all errors together are the step's.
double log_likelihood(const MeasuredStep& measured, const StepParts& predicted,
                      const StepRange& range);
/// The same where nothing is known of a cause: any time from a fifth to 30 times the predicted one,
/// any parts.
double log_likelihood_of_unknown(const MeasuredStep& measured);

/// One thing that may explain a measured step, and how likely it is beside the others.
struct StepCause {
  std::string text{};
  std::string options{};  ///< that are added to the command; empty: as predicted, or not known
  std::string check{};
  double probability = 0;
  StepParts parts{};  ///< the step that it predicts
};

/// The causes of models/data/step-causes.yaml that change the step which the command's arguments
/// ask about, weighed beside the prediction itself and beside what is not known; the likeliest
/// first. The prediction has as much weight as all the others together. Throws InputError at a
/// mistake of that file.
std::vector<StepCause> weigh_causes(const MeasuredStep& measured, std::span<const std::string> args,
                                    const StepParts& predicted, const StepRange& range);

/// The options of a command of `train` by its arguments. Throws InputError.
boost::program_options::variables_map parse_step(std::span<const std::string> args);

/// `collsim train MACHINE --measured WHAT`: reads what was measured, predicts the step, and says
/// what explains the rest. Gives the exit code.
int explain_step(const boost::program_options::variables_map& values,
                 std::span<const std::string> args, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
