#pragma once

#include <cstdint>
#include <vector>

#include "models/program/call_program.h"
#include "tools/collsim/train/training_setup.h"

namespace collsim {

/// What a pass computes, in layers: of their attention and of their feed-forward networks.
struct LayerPart {
  double attention = 0;
  double ffn = 0;

  double layers() const { return (attention + ffn) / 2; }
};

/// The tensor-parallel calls of a pass: one before and one after each half of a layer, once more
/// where a backward pass computes the forward pass again. Those that run beside products say what
/// these take (ProgramCall::beside). `products` are of a layer of this setup.
std::vector<ProgramCall> tensor_calls(const TrainingSetup& setup, const ProductTimes& products,
                                      std::uint32_t communicator, const LayerPart& part,
                                      bool backward);

}  // namespace collsim
