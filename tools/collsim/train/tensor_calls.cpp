#include "tools/collsim/train/tensor_calls.h"

#include <algorithm>
#include <cmath>

namespace collsim {

namespace {

constexpr double fp8_element = 1;

/// The two products of half a layer, and the calls around them: activations are gathered before the
/// first, and what the ranks have of the second's result is summed.
struct HalfLayer {
  PassTimes first;
  PassTimes second;
};

/// What runs beside each of the two calls.
struct BesideCalls {
  Seconds gather{};
  Seconds sum{};
};

BesideCalls beside_calls(const TrainingSetup& setup, const HalfLayer& half, bool backward) {
  BesideCalls beside;
  const bool in_pieces = setup.tensor_overlap == TensorOverlap::all;
  // The first piece, or the last, has nothing beside it.
  const double pieces = in_pieces ? 1 - 1 / static_cast<double>(setup.tensor) : 0;
  if (!backward) return {pieces * half.first.forward, pieces * half.second.forward};
  // The gradient of an input and that of the weights take half of the time each.
  beside.gather = pieces / 2 * half.second.backward;
  if (setup.tensor_overlap != TensorOverlap::none) beside.sum = 0.5 * half.first.backward;
  return beside;
}

/// Adds the calls of so many half layers that are alike.
void add_calls(const TrainingSetup& setup, std::uint32_t communicator, std::uint32_t halves,
               const BesideCalls& beside, std::vector<ProgramCall>& calls) {
  if (halves == 0) return;
  const double elements = layer_share(setup).tokens * static_cast<double>(setup.model.hidden);
  const auto add = [&](ProgramCallKind kind, Seconds time, double bytes_of_element) {
    const auto bytes = static_cast<std::int64_t>(bytes_of_element * elements);
    ProgramCall call{communicator, kind, Bytes{std::max<std::int64_t>(1, bytes)}, 0, halves};
    call.beside = time;
    calls.push_back(call);
  };
  if (setup.sequence_parallel) {
    // Pieces are what the product takes: they come in its own type.
    const bool narrow =
        setup.tensor_overlap == TensorOverlap::all && setup.precision == StepPrecision::fp8;
    add(ProgramCallKind::all_gather, beside.gather, narrow ? fp8_element : activation_element);
    add(ProgramCallKind::reduce_scatter, beside.sum, activation_element);
  } else {
    add(ProgramCallKind::all_reduce, beside.sum, activation_element);
  }
}

}  // namespace

std::vector<ProgramCall> tensor_calls(const TrainingSetup& setup, const ProductTimes& products,
                                      std::uint32_t communicator, const LayerPart& part,
                                      bool backward) {
  const auto halves = static_cast<std::uint32_t>(std::lround(part.attention + part.ffn));
  const auto of_ffn = std::min(halves, static_cast<std::uint32_t>(std::lround(part.ffn)));
  const HalfLayer attention{products[0], products[1]};
  // Experts exchange tokens between their products, which nothing cuts into pieces.
  const HalfLayer ffn = setup.model.experts > 1 ? HalfLayer{} : HalfLayer{products[2], products[3]};
  std::vector<ProgramCall> calls;
  const auto add_pass = [&](bool backwards) {
    const BesideCalls beside = beside_calls(setup, attention, backwards);
    add_calls(setup, communicator, halves - of_ffn, beside, calls);
    add_calls(setup, communicator, of_ffn, beside_calls(setup, ffn, backwards), calls);
  };
  if (!backward || setup.recompute == Recompute::full) add_pass(false);
  if (backward) add_pass(true);
  return calls;
}

}  // namespace collsim
