#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/call/prediction.h"
#include "tools/collsim/crossover/crossover_point.h"

namespace collsim {

/// Two of NCCL's algorithms with the best protocol each, or two protocols with the best algorithm
/// each, or two of the textbook's algorithms, on one machine.
struct PairCrossover {
  std::string first;
  std::string second;
  Crossover simulated;
  /// By NCCL's own estimates, which decide; of the textbook by the analytic model.
  Crossover estimated;
};

/// What following NCCL's choice costs against the fastest of what it could have chosen.
struct ChoiceRegret {
  Regret regret;       ///< simulated, over the sizes of the sweep
  Bytes worst_size;    ///< where most is lost, relatively
  std::string choice;  ///< "ring/ll": NCCL's there
  Seconds choice_time;
  std::string fastest;
  Seconds fastest_time;
};

/// All of that for one rank count.
struct CrossoverReport {
  Rank ranks = 1;
  std::vector<PairCrossover> pairs;
  std::optional<ChoiceRegret> following;  ///< none in a textbook's schedule
};

/// Finds them over the sizes of a sweep; between two sizes at which two cross over, to 3 %. Times
/// are simulated where formulas leave open which is faster (VariantTimes). Throws InputError where
/// the collective is not one that NCCL tunes, or it has no choice.
CrossoverReport find_crossovers(const CallCompiler& compiler, const std::vector<Bytes>& sizes);

/// Finds crossovers between the algorithms of textbook runs that differ in nothing else: every two
/// of them.
CrossoverReport find_textbook_crossovers(const std::vector<CallCompiler>& compilers,
                                         const std::vector<Bytes>& sizes);

/// Finds the last place where the lead changes: from size to size and then to `tolerance`, a part
/// of the size. `likely_leads` guesses what `first_leads` says, and costs less. `sizes` rise and
/// are not empty.
Crossover last_crossover(const std::vector<Bytes>& sizes,
                         const std::function<bool(Bytes)>& first_leads,
                         const std::function<bool(Bytes)>& likely_leads, double tolerance);

/// Finds where two functions of the size cross over, likewise, to 1 %.
Crossover bisect_crossover(const std::vector<Bytes>& sizes,
                           const std::function<double(Bytes)>& first,
                           const std::function<double(Bytes)>& second);

}  // namespace collsim
