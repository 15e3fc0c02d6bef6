#include "models/simulate/scalable_textbook.h"

#include <algorithm>
#include <string>

#include "models/bounds/estimate.h"
#include "sim/base/division.h"
#include "sim/execution/data_partition.h"

namespace collsim {

namespace {

/// A message of a textbook's ring: where nothing is shared; where all chunks are alike and channels
/// go by different NICs, so that it becomes steady (all_reduce of 1 MiB, 1 GiB on 512 GPUs of
/// dgx-h100-x64: 0.3, 0.2 us); and else (of 1e6 and 1e9 bytes 1 us; reduce_scatter of 1 GiB, all of
/// whose channels go by one NIC, 2 us).
constexpr double seconds_per_lone_message = 1e-7;
constexpr double seconds_per_steady_message = 2.5e-7;
constexpr double seconds_per_unsteady_message = 1e-6;

/// Of a textbook in which every pair talks, a message takes this to lay out and to simulate where
/// links have room (direct all_to_all of 1 MiB on 256, 512 GPUs of dgx-h100-x64: 3.8, 4.8 us), and
/// up to seconds_per_rank_of_exchange for each rank where cables are busy for more than this share
/// of the time (128 GPUs, 512 MiB and 1 GiB: 17, 54 us a message; 256 GPUs: 19, 120 us).
constexpr double seconds_per_message_of_pairs = 5e-6;
constexpr double busy_share_of_slow = 0.65;

}  // namespace

bool is_textbook_exchange(const CallCompiler& compiler) {
  return !compiler.is_nccl() && compiler.spec().collective == Collective::all_to_all;
}

bool has_like_chunks(const CallCompiler& compiler, Bytes size) {
  return chunk_sizes(compiler.textbook_binding(size), compiler.textbook_chunks()).alike;
}

bool is_textbook_ring(const CallCompiler& compiler) {
  return !compiler.is_nccl() && compiler.spec().run.algorithm == "ring" &&
         !has_root(compiler.spec().collective);
}

bool joins_every_pair(const CallCompiler& compiler) {
  if (compiler.is_nccl()) return false;
  const Collective collective = compiler.spec().collective;
  const std::string& algorithm = compiler.spec().run.algorithm;
  return (collective == Collective::all_to_all && algorithm == "direct") ||
         algorithm == "one_shot" || algorithm == "two_shot";
}

bool is_scalable_textbook(const CallCompiler& compiler) {
  if (compiler.is_nccl()) return false;
  const Collective collective = compiler.spec().collective;
  const std::string& algorithm = compiler.spec().run.algorithm;
  const bool sends_whole = collective == Collective::all_reduce && algorithm == "one_shot";
  return is_textbook_ring(compiler) || (joins_every_pair(compiler) && !sends_whole);
}

double messages_of_textbook(const CallCompiler& compiler, Bytes size) {
  const double ranks = compiler.ranks();
  const double times = compiler.spec().collective == Collective::all_reduce ? 2 : 1;
  const double of_loop = times * ranks * (ranks - 1);
  const DataPartition partition = compiler.textbook_binding(size);
  double messages = 0;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    messages += of_loop * partition.loops(channel) * partition.chunking().slices;
  }
  return messages;
}

double max_seconds_of_textbook(const CallCompiler& compiler, Bytes size) {
  const double each =
      joins_every_pair(compiler)
          ? std::max(seconds_per_message_of_pairs, seconds_per_rank_of_exchange * compiler.ranks())
          : seconds_per_unsteady_message;
  return each * messages_of_textbook(compiler, size);
}

double seconds_per_message_of_ring(const CallCompiler& compiler, Bytes size) {
  if (compiler.spec().run.channels.value_or(1) == 1) return seconds_per_lone_message;
  const bool spreads = compiler.textbook_orders().size() > 1;
  return spreads && has_like_chunks(compiler, size) ? seconds_per_steady_message
                                                    : seconds_per_unsteady_message;
}

double busy_share_of(const Prediction& estimate) {
  return estimate.time.value > 0 ? estimate.bounds.largest().value / estimate.time.value : 0;
}

double likely_seconds_of_pairs(const CallCompiler& compiler, Bytes size, double share,
                               const Prediction& estimate) {
  const double each = busy_share_of(estimate) > busy_share_of_slow
                          ? seconds_per_rank_of_exchange * share * compiler.ranks()
                          : seconds_per_message_of_pairs;
  return share * each * messages_of_textbook(compiler, size);
}

std::optional<Bytes> even_textbook_size(const CompiledCall& call, double max_added) {
  const CallCompiler& compiler = *call.compiler;
  const DataPartition& partition = call.partition;
  const bool is_empty = partition.channels() == 0 || partition.loops(0) == 0;
  if (is_empty || has_like_chunks(compiler, call.size)) return std::nullopt;
  const std::int64_t chunks =
      std::int64_t{partition.channels()} * partition.loops(0) * compiler.textbook_chunks();
  const Bytes element = size_of(compiler.spec().run.reduction.type);
  const std::int64_t unit = chunks * partition.chunking().slices * element.count;
  const Bytes size{divide_up(call.size.count, unit) * unit};
  const double added = static_cast<double>((size - call.size).count);
  const bool is_near = added <= max_added * static_cast<double>(call.size.count);
  return is_near && has_like_chunks(compiler, size) ? std::optional(size) : std::nullopt;
}

}  // namespace collsim
