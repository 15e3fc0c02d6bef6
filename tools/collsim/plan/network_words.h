#pragma once

#include <string>

#include "models/imports/machine_parts.h"

namespace collsim {

/// What a plan assumes to be between the nodes, in words: the fabric and where it is from, its
/// rails, oversubscription and cables; the NICs of a node; how nodes lie. "no network" where there
/// is no fabric.
///
///   fat tree, rail optimised, 1:1, 400 Gb/s, of dgx-h100-x4; 8 NICs a node (ConnectX-7); packed
std::string network_in_words(const MachineParts& parts);

}  // namespace collsim
