#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// One way to run a call, with what tells its time for a size, in seconds.
struct Way {
  std::string name;  ///< "ring/ll", "tree"
  std::function<double(Bytes)> simulate{};
  std::function<std::optional<double>(Bytes)> estimate{};  ///< none: no formula knows it
};

/// The times of several ways of running one call. A simulation takes a thousand times as long as a
/// formula, so a time is simulated only where the formulas leave open which way is faster. Every
/// simulated time corrects the formula of its way at sizes near it. Not for several threads at
/// once.
///
/// A time that is not simulated is in doubt. The error of a formula is taken to wander from octave
/// to octave of the size, so that its logarithm is known within drift * sqrt(octaves) of a size
/// that was simulated. The drift is what was found between the way's own simulated sizes, if that
/// is more than is taken for granted. Ways of which nothing was simulated are in doubt by a factor
/// of 2.5.
class VariantTimes {
 public:
  /// Places of ways in the list of all ways.
  using Side = std::vector<std::size_t>;

  /// `drift`: the least, as a logarithm for one octave.
  VariantTimes(std::vector<Way> ways, double drift);

  const std::vector<Way>& ways() const { return ways_; }
  /// The places of all ways.
  Side all() const;

  /// Simulated once for each size.
  double simulated(std::size_t way, Bytes size);
  /// Simulated, or else as well as it is known.
  double likely(std::size_t way, Bytes size);
  /// Whether the fastest of one side is no slower than the fastest of the other. Neither is empty.
  bool leads(const Side& first, const Side& second, Bytes size);
  /// The first of a side's ways with the least time.
  std::size_t fastest(const Side& side, Bytes size);
  /// The index of the variant that is likely the fastest at a size.
  std::size_t likely_fastest(const Side& side, Bytes size);
  /// How many times were simulated.
  std::size_t simulations() const { return simulations_; }

 private:
  struct Range {
    double low = 0;
    double high = 0;
  };
  struct Known {
    std::map<Bytes, double> estimated;  // 0: no formula
    std::map<Bytes, double> simulated;
    std::map<Bytes, double> errors;  // log(simulated / estimated) where both are
    double drift = 0;                // of the errors
  };

  double estimated(std::size_t way, Bytes size);
  Range range(std::size_t way, Bytes size);
  /// The range of the fastest.
  Range range(const Side& side, Bytes size);
  double error(std::size_t way, Bytes size) const;
  double doubt(std::size_t way, Bytes size) const;
  bool is_simulated(std::size_t way, Bytes size) const;
  void learn(std::size_t way, Bytes size, double error);
  /// Simulates what tells most of which of them is fastest, and was not simulated yet.
  void simulate_most_open(const Side& side, Bytes size);
  void simulate_near(std::size_t way, Bytes size);
  double nearest(std::size_t way, Bytes size) const;

  std::vector<Way> ways_;
  std::vector<Known> known_;
  double drift_;
  std::size_t simulations_ = 0;
};

}  // namespace collsim
