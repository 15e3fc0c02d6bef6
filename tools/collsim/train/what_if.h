#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/collsim/report/answer.h"
#include "tools/collsim/train/training_step.h"

namespace collsim::command {

/// A step with gradients in buckets of that size.
struct BucketTime {
  Bytes bucket{};
  StepPrediction step{};
};

/// The step with buckets of 1 MiB to 1 GiB. Without data parallelism, or without overlap, all take
/// as long.
std::vector<BucketTime> try_buckets(StepMachine& machine, const TrainingSetup& setup,
                                    const std::optional<Straggler>& straggler);
/// The quickest, the largest of those that are within 0.1 %: fewer calls.
const BucketTime& quickest(std::span<const BucketTime> buckets);
/// The table of all buckets, with the quickest marked.
Table bucket_table(std::span<const BucketTime> buckets);

/// Something that was done about communication, and how long a step takes then.
struct Remedy {
  std::string what{};
  Seconds time{};
  double gain = 0;  ///< the share of the step that is saved
};

/// A step of whose communication something is to be done.
struct RemedyRequest {
  const boost::program_options::variables_map& values;
  const std::string& machine_name;
  std::size_t gpus;
  const TrainingSetup& setup;
  Seconds time;  ///< as it is
  StepMachine& machine;
  std::optional<Straggler> straggler;
};

/// Tries other settings of the software, other layouts of as many GPUs, and faster NICs; gives
/// those that gain 1 % or more and fit into memory, the best first.
std::vector<Remedy> try_remedies(const RemedyRequest& request);
/// Says what share of a step is communication, and what can be done about it.
AnswerSection remedy_section(const StepPrediction& step, std::span<const Remedy> remedies);

/// Says what a straggler costs beside the step without it.
std::string straggler_words(const Straggler& straggler, const StepPrediction& with,
                            const StepPrediction& without);

/// The share of a step in which nothing but calls runs.
double communication_share(const StepPrediction& step);

}  // namespace collsim::command
