#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace collsim {

/// Letters to insert, remove, replace or swap with their neighbour to make one text of the other
/// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// "did you mean 'ring'?" where one of the names is nearly what was written: a few letters are
/// wrong, missing or swapped (Damerau-Levenshtein distance, of at most a third of the letters), or
/// the name has it as a part. Letters count alike in either case. Empty where none is near.
std::string did_you_mean(std::string_view written, std::span<const std::string> names);

/// What an InputError says of a wrong name: the near one, then all of them unless they are more
/// than a person reads.
std::string names_instead_of(std::string_view written, std::span<const std::string> names);

}  // namespace collsim
