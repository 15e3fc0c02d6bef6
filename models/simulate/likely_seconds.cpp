#include "models/simulate/likely_seconds.h"

#include <algorithm>

#include "models/simulate/scalable_textbook.h"
#include "sim/execution/effort.h"
#include "sim/execution/symmetry.h"

namespace collsim {

namespace {

/// What a message takes to simulate. Of 780 calls of 60 machines, on a core that shared its memory
/// with others, a piece took 1 us and a slice 4 in the median. Those that contend for links take
/// several times as long: a slice of a tree takes 2.2 us on 16 hosts of eight GPUs, 15 on one.
constexpr double seconds_per_ring_message = 6e-7;
constexpr double seconds_per_piece = 8e-7;  // of LL and LL128
constexpr double seconds_per_slice = 3e-6;  // of Simple

/// What a worker takes to be laid out, and compared with others: those of NVLSTree on seven racks
/// of 72 GPUs, 200,000 a rack, take 3.8 s.
constexpr double seconds_per_worker = 2.7e-6;

bool is_nccl_ring(const CompiledCall& call) {
  return call.nccl_choice && call.nccl_choice->algorithm == NcclAlgorithm::ring;
}

double seconds_per_message(const CompiledCall& call) {
  if (is_nccl_ring(call)) return seconds_per_ring_message;
  return call.protocol == Protocol::simple ? seconds_per_slice : seconds_per_piece;
}

/// Of its messages, each rank by itself. A ring is steady as soon as can be. What is folded or
/// single takes longer to become so, if it does.
double seconds_of_messages(const CompiledCall& call, const Effort& effort) {
  constexpr double patience = 4;
  if (is_nccl_ring(call)) return seconds_per_ring_message * effort.steady;
  if (is_textbook_ring(*call.compiler)) {
    return seconds_per_message_of_ring(*call.compiler, call.size) * effort.whole;
  }
  if (call.plan().collective == Collective::all_to_all) {
    return seconds_per_rank_of_exchange * call.compiler->ranks() * effort.whole;
  }
  return seconds_per_message(call) * std::min(effort.whole, patience * effort.steady);
}

/// As likely_seconds() says; `is_told`: by how much they are more than `enough`, too.
double seconds_of(const CompiledCall& call, double enough, bool is_told) {
  Execution execution = execution_of(call);
  execution.found = call.found.get();
  const Effort effort = effort_of(execution);
  const double laying = seconds_per_worker * effort.workers;
  const double sending = seconds_of_messages(call, effort);
  if (laying + sending <= enough || 2 * laying > enough) return laying + sending;
  const double max_share = is_told
                               ? max_share_of_classes
                               : std::min(max_share_of_classes, (enough - 2 * laying) / sending);
  return 2 * laying + folded_share(execution, max_share) * sending;
}

}  // namespace

double likely_seconds(const CompiledCall& call, double enough) {
  return seconds_of(call, enough, true);
}

bool takes_longer(const CompiledCall& call, double seconds) {
  return seconds_of(call, seconds, false) > seconds;
}

double likely_seconds_of_layout(const CompiledCall& call) {
  return seconds_per_worker * effort_of(execution_of(call)).workers;
}

double likely_seconds_by_message(const CompiledCall& call) {
  Execution execution = execution_of(call);
  execution.calls = 1;
  const Effort effort = effort_of(execution);
  return seconds_per_worker * effort.workers + seconds_per_message(call) * effort.whole;
}

}  // namespace collsim
