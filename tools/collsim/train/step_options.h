#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/collsim/train/inference.h"
#include "tools/collsim/train/step_report.h"
#include "tools/collsim/train/training_step.h"

namespace collsim::command {

/// Names of options, as modes have them: the machine of a job, and how calls on it are predicted.
std::string job_machine_options();

/// A machine, and which of its GPUs a job has.
struct PlacedMachine {
  Topology topology;
  std::vector<DeviceId> gpus;  ///< by rank
};

/// The machine of that name, with as many nodes, the changes and the placement that options ask
/// for. Throws InputError.
PlacedMachine machine_of_step(const boost::program_options::variables_map& values,
                              const std::string& name);

/// That machine with NICs of `factor` times the rate. Throws InputError where it has none.
PlacedMachine machine_with_nics(const boost::program_options::variables_map& values,
                                const std::string& name, double factor);

/// The GPUs that take part, and how NCCL runs on them. `machine` must outlive who uses it.
MachineCalls calls_of_step(const boost::program_options::variables_map& values,
                           const PlacedMachine& machine);

/// The factor that an option says, above 0 and at most 1000; 1 without it. Throws InputError.
double factor_option(const boost::program_options::variables_map& values, const char* option);

/// The shipped kernels, as --kernel-time and --host-time slow them. Throws InputError.
KernelTable kernels_of_step(const boost::program_options::variables_map& values);

/// Reads the setup of a training step on `gpus` GPUs. Throws InputError where options do not go
/// together.
TrainingSetup read_setup(const boost::program_options::variables_map& values, std::size_t gpus);

/// Throws InputError for options that are for other layouts.
void require_layout_options(const boost::program_options::variables_map& values,
                            const TrainingSetup& setup);

/// Reads the setup of an inference step on `gpus` GPUs. Throws InputError likewise.
InferenceSetup read_inference(const boost::program_options::variables_map& values,
                              std::size_t gpus);

/// `--straggler RANK:FACTOR`, if it is given. Throws InputError.
std::optional<Straggler> read_straggler(const boost::program_options::variables_map& values,
                                        std::size_t gpus);

/// The first price of a GPU's hour in the shipped sheet, if there is one.
std::optional<StepPrice> price_of(const std::string& gpu);

}  // namespace collsim::command
