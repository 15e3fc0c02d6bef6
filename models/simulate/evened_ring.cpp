#include "models/simulate/evened_ring.h"

#include <algorithm>
#include <numeric>

#include "models/simulate/likely_seconds.h"
#include "models/simulate/scalable_textbook.h"
#include "sim/base/division.h"

namespace collsim {

namespace {

/// More messages than this take seconds: ring, LL128, on 256 GPUs whose chunks are all unlike takes
/// 3 to 5 s for 8.4 million, and 0.6 s where equals are folded; trees whose messages contend for
/// links 7 us each.
constexpr double many_messages_of_ring = 2e6;
/// A steady call is continued from periods that are even to 1e-3 (SteadyState): more bytes by less
/// than this make no larger error.
constexpr double max_added = 1e-3;

/// The least size from `size` on that a ring's channels cut into chunks of one size: NCCL's cells
/// (sim/nccl/nccl_chunking.h) are parts of 16 KiB, and chunks of a last loop are multiples of 16
/// bytes.
Bytes even_size_of_nccl(Bytes size, Rank ranks, std::uint32_t channels) {
  constexpr std::int64_t cell = 16 << 10;
  constexpr std::int64_t grain = 16;
  const std::int64_t unit = channels * std::lcm(cell, grain * ranks);
  return {divide_up(size.count, unit) * unit};
}

}  // namespace

std::optional<Bytes> EvenedRing::even_size(const CompiledCall& call) const {
  const CallCompiler& compiler = model().compiler();
  if (is_textbook_ring(compiler)) {
    if (!takes_longer(call, model().budget().max_seconds)) return std::nullopt;
    return even_textbook_size(call, max_added);
  }
  const auto& choice = call.nccl_choice;
  const bool is_ring = choice && choice->algorithm == NcclAlgorithm::ring;
  const std::uint32_t channels = call.partition.channels();
  if (!is_ring || channels == 0 || compiler.spec().collective != Collective::all_reduce) {
    return std::nullopt;
  }
  const Bytes size = even_size_of_nccl(call.size, compiler.ranks(), channels);
  const double added = static_cast<double>((size - call.size).count);
  const bool is_near = added <= max_added * static_cast<double>(call.size.count);
  if (size == call.size || !is_near || simulated_effort(call).steady < many_messages_of_ring) {
    return std::nullopt;
  }
  return size;
}

std::optional<CompiledCall> EvenedRing::evened(const CompiledCall& call) {
  const auto size = even_size(call);
  if (!size) return std::nullopt;
  const CallCompiler& compiler = model().compiler();
  return call.nccl_choice ? compiler.plan(*size, *call.nccl_choice, &model().layouts())
                          : compiler.plan(*size, &model().layouts());
}

std::optional<Prediction> EvenedRing::predict(AskedCall& asked) {
  const CompiledCall& call = asked.plan();
  const auto even = evened(call);
  if (!even) return std::nullopt;
  Prediction prediction = model().run(*even);
  const double scale = static_cast<double>(call.size.count) / static_cast<double>(even->size.count);
  const Prediction known = outline(call);
  prediction.size = call.size;
  prediction.bounds = known.bounds;
  prediction.floor = known.floor;
  prediction.mean_over_ranks = scale * prediction.mean_over_ranks;
  prediction.time = scale * prediction.time;
  clamp_to(prediction,
           std::max(known.bounds.largest(), surely_needed(known.floor, compiler().cost().jitter)));
  return prediction;
}

}  // namespace collsim
