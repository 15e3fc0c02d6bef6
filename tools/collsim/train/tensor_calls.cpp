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
  std::uint32_t inputs = 1;  ///< that are gathered each by itself
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
               const HalfLayer& half, bool backward, std::vector<ProgramCall>& calls) {
  if (halves == 0) return;
  const BesideCalls beside = beside_calls(setup, half, backward);
  // What is gathered for each input forward is summed for each backward.
  const std::uint32_t gathers = halves * (backward ? 1 : half.inputs);
  const std::uint32_t sums = halves * (backward ? half.inputs : 1);
  const double elements = layer_share(setup).tokens * static_cast<double>(setup.model.hidden);
  const auto add = [&](ProgramCallKind kind, std::uint32_t count, Seconds time,
                       double bytes_of_element) {
    const auto bytes = static_cast<std::int64_t>(bytes_of_element * elements);
    ProgramCall call{communicator, kind, Bytes{std::max<std::int64_t>(1, bytes)}, 0, count};
    call.beside = time;
    calls.push_back(call);
  };
  if (setup.sequence_parallel) {
    // Pieces are what the product takes: they come in its own type.
    const bool narrow =
        setup.tensor_overlap == TensorOverlap::all && setup.precision == StepPrecision::fp8;
    add(ProgramCallKind::all_gather, gathers, beside.gather,
        narrow ? fp8_element : activation_element);
    add(ProgramCallKind::reduce_scatter, sums, beside.sum, activation_element);
  } else {
    add(ProgramCallKind::all_reduce, sums, beside.sum, activation_element);
  }
}

}  // namespace

std::vector<ProgramCall> tensor_calls(const TrainingSetup& setup, const ProductTimes& products,
                                      std::uint32_t communicator, const LayerPart& part,
                                      bool backward) {
  const auto halves = static_cast<std::uint32_t>(std::lround(part.attention + part.ffn));
  const auto of_ffn = std::min(halves, static_cast<std::uint32_t>(std::lround(part.ffn)));
  const bool each = setup.software.gathers_each;
  const HalfLayer attention{products[0], products[1], each ? 3U : 1U};  // queries, keys, values
  const std::uint32_t inputs = each && setup.model.gated ? 2 : 1;
  // Experts exchange tokens between their products, which nothing cuts into pieces.
  const HalfLayer ffn = setup.model.experts > 1 ? HalfLayer{{}, {}, inputs}
                                                : HalfLayer{products[2], products[3], inputs};
  std::vector<ProgramCall> calls;
  const auto add_pass = [&](bool backwards) {
    add_calls(setup, communicator, halves - of_ffn, attention, backwards, calls);
    add_calls(setup, communicator, of_ffn, ffn, backwards, calls);
  };
  if (!backward || setup.recompute == Recompute::full) add_pass(false);
  if (backward) add_pass(true);
  return calls;
}

}  // namespace collsim
