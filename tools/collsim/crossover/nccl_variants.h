#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/predict/predictor.h"
#include "tools/collsim/crossover/variant_times.h"

namespace collsim {

/// Names of algorithms, protocols and pairs in reports: "ring", "ll128", "ring/ll128".
std::string report_name(NcclAlgorithm algorithm);
std::string report_name(Protocol protocol);

/// What NCCL could run for a call on one machine: its pairs of an algorithm and a protocol, with
/// their times. Not for several threads at once.
class NcclVariants {
 public:
  using Pair = std::pair<NcclAlgorithm, Protocol>;

  /// The predictor simulates, and must outlive it. Throws InputError where the collective is not
  /// one that NCCL tunes, or nothing is simulated that NCCL could run.
  explicit NcclVariants(Predictor& predictor);

  const std::vector<Pair>& pairs() const { return pairs_; }
  /// The times of pairs(), in that order.
  VariantTimes& times() { return times_; }
  std::string name(std::size_t way) const { return times_.ways()[way].name; }
  /// What predictions of its times rest on.
  Trust trust(std::size_t way, Bytes size);
  /// What their data cross.
  Medium medium(std::size_t way, Bytes size);
  /// NCCL's estimate in us, by which it chooses; infinite where it does not use the pair.
  double nccl_estimate(std::size_t way, Bytes size) const;
  /// What NCCL chooses of these, the first among equals.
  std::size_t chosen(Bytes size) const;

 private:
  Predictor& predictor_;
  NcclFunction function_;
  std::vector<Pair> pairs_;
  VariantTimes times_;
};

/// VariantTimes' drift on that machine: from octave to octave formulas keep their error within 5 %,
/// but not where proxies work or something is at fault.
double drift_of(const CallCompiler& compiler);

}  // namespace collsim
