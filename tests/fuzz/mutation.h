#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "sim/base/text_file.h"

namespace collsim {

/// Numbers that are the same on every machine, which std's distributions do not promise.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}
  /// A number below `bound`; 0 where there is none.
  std::size_t below(std::size_t bound);

 private:
  std::mt19937_64 generator_;
};

/// One change of a text: of a byte, a piece, a number, an attribute or a line. Pieces come from a
/// dictionary, the text itself or a seed.
void mutate(std::string& text, std::span<const TextFile> seeds, Dice& dice);

}  // namespace collsim
