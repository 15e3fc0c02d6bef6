#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>

#include "models/workload/inference.h"
#include "models/workload/training_step.h"
#include "tools/collsim/step/step_report.h"

namespace collsim::command {

/// All options of `collsim step`.
boost::program_options::options_description step_options();

/// The machine of that name, with as many nodes and the changes that options ask for.
Topology machine_of_step(const boost::program_options::variables_map& values,
                         const std::string& name);

/// The same with NICs of so many times the rate. Throws InputError where it has none.
Topology machine_with_nics(const boost::program_options::variables_map& values,
                           const std::string& name, double factor);

/// The GPUs that take part, and how NCCL runs on them.
MachineCalls calls_of_step(const boost::program_options::variables_map& values,
                           const Topology& topology);

/// The layout of a step of training on so many GPUs. Throws InputError.
TrainingSetup read_setup(const boost::program_options::variables_map& values, std::size_t gpus);

/// A step of inference on so many GPUs. Throws InputError.
InferenceSetup read_inference(const boost::program_options::variables_map& values,
                              std::size_t gpus);

/// `--straggler RANK:FACTOR`, if it is given. Throws InputError.
std::optional<Straggler> read_straggler(const boost::program_options::variables_map& values,
                                        std::size_t gpus);

/// The first price of a GPU's hour in the shipped sheet, if there is one.
std::optional<StepPrice> price_of(const std::string& gpu);

}  // namespace collsim::command
