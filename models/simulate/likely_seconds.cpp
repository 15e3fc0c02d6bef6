#include "models/simulate/likely_seconds.h"

#include <algorithm>

#include "models/simulate/scalable_textbook.h"
#include "sim/execution/effort.h"

namespace collsim {

namespace {

/// What a message takes to simulate. Of 780 calls of 60 machines, on a core that shared its memory
/// with others, a piece took 1 us and a slice 4 in the median. Those that contend for links take
/// several times as long: a slice of a tree takes 2.2 us on 16 hosts of eight GPUs, 15 on one.
constexpr double seconds_per_ring_message = 6e-7;
constexpr double seconds_per_piece = 8e-7;  // of LL and LL128
constexpr double seconds_per_slice = 3e-6;  // of Simple

}  // namespace

/// A ring is steady as soon as can be. What is folded or single takes longer to become so, if it
/// does.
double likely_seconds(const CompiledCall& call, double share) {
  constexpr double patience = 4;
  const Effort effort = effort_of(execution_of(call));
  const bool is_nccl_ring = call.nccl_choice && call.nccl_choice->algorithm == NcclAlgorithm::ring;
  if (is_nccl_ring) return seconds_per_ring_message * share * effort.steady;
  if (is_textbook_ring(*call.compiler)) {
    return seconds_per_message_of_ring(*call.compiler, call.size) * share * effort.whole;
  }
  if (call.plan().collective == Collective::all_to_all) {
    return seconds_per_rank_of_exchange * call.compiler->ranks() * share * effort.whole;
  }
  const double each = call.protocol == Protocol::simple ? seconds_per_slice : seconds_per_piece;
  return each * share * std::min(effort.whole, patience * effort.steady);
}

bool takes_longer(const CompiledCall& call, double seconds) {
  return likely_seconds(call, 1) > seconds &&
         likely_seconds(call, folded_share(execution_of(call))) > seconds;
}

}  // namespace collsim
