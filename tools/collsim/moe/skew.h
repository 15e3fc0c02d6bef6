#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.h"

namespace collsim {

/// A token that a router saw: the rank where it was, and the experts that it was sent to.
struct RoutedToken {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> experts;
  SourcePosition place;
};

/// How a router spreads tokens over experts.
struct Skew {
  enum class Kind : std::uint8_t {
    uniform,   ///< each set of experts is as likely as any other
    balanced,  ///< every (experts / top-k)-th expert, token after token: what benchmarks do
    weighted,  ///< experts differ in how likely they are
    routed,    ///< by tokens that a router saw
  };
  Kind kind = Kind::uniform;
  std::string name = "uniform";
  /// The exponent of `zipf:S`: expert i, from 0, weighs (i + 1)^-S.
  double exponent = 0;
  /// The factor of `hot:F`: how many times as much the first expert weighs as any other.
  double hot = 1;
  std::vector<double> counts{};       ///< of a file: the weight of each expert
  std::vector<RoutedToken> tokens{};  ///< of a file
};

/// Reads `uniform`, `balanced`, `zipf:1.2`, `hot:4`, or else the name of a file: with the header
/// `expert,tokens` how many tokens each expert got, with the header `rank,experts` a line for each
/// token, its rank and its experts. Throws InputError.
Skew read_skew(const std::string& text);

/// How likely each of `items` is by a weighted or uniform skew, not normalized. Throws InputError
/// for files of another number and for kinds that have no weights.
std::vector<double> weights_of(const Skew& skew, std::uint32_t items, std::string_view what);

}  // namespace collsim
