#pragma once

#include <optional>

#include "models/simulate/call_model.h"

namespace collsim {

/// A call whose ranks have been folded before it was laid out: its plan has the ranks of one node,
/// which stand for those of all.
struct FoldedCall {
  CompiledCall call;
  Rank copies = 1;  ///< of each rank: as many as there are nodes
  Seconds latency;  ///< until what one rank contributes has reached the farthest, hop by hop
};

/// The textbook's direct all_to_all where all nodes are equal, so that a plan, wires and FIFOs of
/// one node's ranks do: a message to the node d after a rank's own is one from the node d before.
/// Nothing where equals may not stay equal, or cannot be told without the whole plan: faults,
/// chunks that differ in size, nodes that differ or that cables between switches join, hops with
/// several ways, jitter, proxies, host memory, bursts, and GPUs that contend for NVLinks.
/// Simulated, it ends when the whole would, to 1e-9. Keeps its layout in `cache`; throws as a plan
/// of the whole does.
std::optional<FoldedCall> folded_call(const CallCompiler& compiler, Bytes size, LayoutCache& cache);

/// Such a call of many ranks, which would take long to lay out pair by pair.
class FoldedExchange : public Shortcut {
 public:
  using Shortcut::Shortcut;
  std::optional<Prediction> predict(AskedCall& call) override;
};

}  // namespace collsim
