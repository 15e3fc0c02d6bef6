#pragma once

#include <array>
#include <optional>
#include <set>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/textbook_shapes.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/thread_block_cost.h"

namespace collsim {

/// Answers for textbook schedules, and for single ranks, by formulas: closed forms where they are
/// exact, else a schedule's phases (docs/estimate.md), on a machine as it is at one instant.
class TextbookEstimator {
 public:
  /// The compiler must outlive it.
  TextbookEstimator(const CallCompiler& compiler, Seconds at)
      : compiler_(compiler), shapes_(compiler, at, kinds_) {}

  /// Whether there is a formula: not of what a person wrote.
  bool has_formula() { return compiler_.ranks() < 2 || shapes_.has_pattern(); }
  /// By that. No rank is late.
  Prediction estimate(Bytes size);

 private:
  void add_time(const DataPartition& partition, Protocol protocol, Prediction& prediction);
  void settle(Prediction& prediction) const;
  const ThreadBlockCosts& costs(Protocol protocol);

  const CallCompiler& compiler_;
  std::set<LinkKind> kinds_;  // of hops so far
  TextbookShapes shapes_;
  std::array<std::optional<ThreadBlockCosts>, protocol_count> costs_;
};

/// Of a schedule without a formula, such as one that a person wrote: its messages one by one, where
/// they are few, since ports that several share make the critical path alone up to 40 % too short.
Prediction estimate_by_messages(const CompiledCall& call);

}  // namespace collsim
