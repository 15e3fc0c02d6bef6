#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/collsim/train/interconnect.h"
#include "tools/collsim/train/training_step.h"

namespace collsim {

/// A measured step of somebody's training run, as a file of them has it (recordings/steps).
struct PublishedStep {
  std::string id{};
  std::string group{};  ///< rows of one source and sweep
  std::string gpu{};    ///< "A100-80GB"
  std::int64_t gpus = 1;
  std::string network{};                           ///< the source's words,
  Interconnect wires{};                            ///< and what they mean
  std::string machine{};                           ///< a shipped topology, if the file names one
  std::map<std::string, std::string> variables{};  ///< NCCL's
  TrainingSetup setup{};
  Seconds measured{};
  double peak = 0;  ///< bytes that PyTorch had allocated at most; 0: not said
};

/// What a file has: steps that can be predicted, and why others cannot.
struct PublishedSteps {
  std::vector<PublishedStep> steps;
  std::map<std::string, int> left_out;  ///< how many, by reason
};

/// The shipped node with eight of that GPU; empty where there is none.
std::string_view node_of(std::string_view gpu);

/// Reads a file of published steps (`version: 1`, `entries`). Throws InputError at its place where
/// it is no such file, or says something that is not understood. Rows without a transformer's
/// shape, a layout or a time are left out.
PublishedSteps load_published_steps(const std::filesystem::path& path);

/// A published step beside what is predicted.
struct StepComparison {
  const PublishedStep* step = nullptr;
  StepPrediction predicted{};
  Seconds formula{};  ///< by the constant-efficiency formula
  double error() const { return predicted.time.value / step->measured.value - 1; }
};

/// How near predictions are, of the rows of one group.
struct StepScore {
  std::string group{};
  std::size_t rows = 0;
  double mean_error = 0;    ///< mean of |error|
  double median_error = 0;  ///< median of |error|
  double bias = 0;          ///< mean of the errors
  double tau = 0;           ///< Kendall's, mean over sweeps of at least three rows; 1 without any
  double formula_error = 0;
  double formula_tau = 0;
};

/// Predicts all steps. Machines are composed from shipped nodes with NICs as the source has them.
/// The formula beside it: model FLOPs by a constant rate, the median of that of the other groups'
/// rows on the same kind of GPU, and the pipeline's bubble.
std::vector<StepComparison> compare_steps(const PublishedSteps& steps, const KernelTable& table);

/// Scores by group, in the order in which they come; then over all rows.
std::vector<StepScore> score_steps(const std::vector<StepComparison>& comparisons);

/// Kendall's tau-b of pairs of numbers; 1 where there are no two that differ.
double kendall_tau(const std::vector<std::pair<double, double>>& pairs);

}  // namespace collsim
