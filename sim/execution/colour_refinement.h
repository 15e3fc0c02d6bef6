#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/scramble.h"

namespace collsim {

/// Equal for equal surroundings; different ones collide once in 2^64.
using Colour = std::uint64_t;
using Colours = std::vector<Colour>;

inline Colour mix(Colour a, Colour b) {
  return scramble(a ^ scramble(b));
}
inline Colour colour_of(double value) {
  return std::bit_cast<Colour>(value);
}

/// How many there are; most often few, of many. 0 is none of them: no colour.
inline std::size_t count_distinct(std::span<const Colour> some) {
  Colours known(std::bit_ceil(2 * some.size() + 1));  // at its place, or at the next free one
  std::size_t distinct = 0;
  for (const Colour colour : some) {
    std::size_t place = colour & (known.size() - 1);
    while (known[place] != 0 && known[place] != colour) place = (place + 1) & (known.size() - 1);
    if (known[place] == colour) continue;
    known[place] = colour;
    ++distinct;
  }
  return distinct;
}

/// Colour refinement (Weisfeiler and Leman): the colour of a thing begins as what it is by itself,
/// and each round takes in the colours of all that it is tied to. Where no more colours come, two
/// things of one colour cannot be told apart.
class ColourRefinement {
 public:
  explicit ColourRefinement(Colours colours) : colours_(std::move(colours)) {}

  std::span<const Colour> colours() const { return colours_; }

  /// One round. `ties(tie)` calls `tie(a, b, kind)` for every two things that are tied, in a
  /// fixed direction. Kinds are even: the way back is the next one.
  template <typename Ties>
  void refine(const Ties& ties) {
    scrambled_.clear();
    for (const Colour colour : colours_) scrambled_.push_back(scramble(colour));
    around_.assign(colours_.size(), 0);
    ties([this](std::size_t a, std::size_t b, Colour kind) {
      around_[a] += scramble(kind ^ scrambled_[b]);
      around_[b] += scramble((kind + 1) ^ scrambled_[a]);
    });
    for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i] = mix(colours_[i], around_[i]);
  }

 private:
  Colours colours_;
  Colours scrambled_;
  Colours around_;
};

}  // namespace collsim
