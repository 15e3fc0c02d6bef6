#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/textbook_shapes.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/thread_block_cost.h"

namespace collsim {

/// Answers for textbook schedules, and for single ranks, by formulas: closed forms where they are
/// exact, else a schedule's phases (docs/estimate.md). What faults cost is found by the plan's
/// critical path, as a share of what that says without them.
class TextbookEstimator {
 public:
  /// The compiler must outlive it.
  explicit TextbookEstimator(const CallCompiler& compiler)
      : compiler_(compiler), shapes_(compiler, kinds_) {}

  Prediction estimate(Bytes size);

 private:
  /// The same call without faults.
  struct Healthy;
  Prediction without_faults(Bytes size);
  Prediction with_faults(Bytes size);
  void add_time(const DataPartition& partition, Protocol protocol, Prediction& prediction);
  void settle(Prediction& prediction) const;
  static Prediction by_messages(const CompiledCall& call);
  const ThreadBlockCosts& costs(Protocol protocol);

  const CallCompiler& compiler_;
  std::set<LinkKind> kinds_;  // of hops so far
  TextbookShapes shapes_;
  std::array<std::optional<ThreadBlockCosts>, protocol_count> costs_;
  LayoutMemo memo_;
  std::shared_ptr<Healthy> healthy_;  // where there are faults
};

}  // namespace collsim
