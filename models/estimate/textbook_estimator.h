#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "sim/algorithms/registry.h"

namespace collsim {

/// Answers for textbook schedules, and for single ranks, on a machine as it is at one instant: by
/// closed forms where they hold, else by simulation. A small machine is simulated whole. Of a large
/// one clusters of N, N/2 and, where needed, N/4 of its nodes are, and their times are continued as
/// the algorithm's row says (Growth). docs/estimate.md says how near that is.
class TextbookEstimator {
 public:
  /// The compiler must outlive it.
  TextbookEstimator(const CallCompiler& compiler, Seconds at);

  /// Whether no cluster stands for the whole, which is simulated with faults that come and go.
  bool is_whole() const { return clusters_.empty(); }
  /// Throws HangError where a fault keeps the call from ever ending. Where clusters stand for the
  /// whole, no rank is late.
  Prediction estimate(Bytes size);

 private:
  void make_clusters(Seconds at);
  std::optional<Prediction> closed_form(Bytes size);
  Prediction from_clusters(Bytes size);
  Seconds added_by_whole(const std::vector<Seconds>& times) const;
  Prediction of_whole(Prediction part, Bytes size, Seconds time, EstimateMethod method) const;
  /// The size at which a cluster sends as many bytes as the whole in each of its steps.
  Bytes size_of_part(const CallCompiler& cluster, Bytes size) const;

  const CallCompiler& compiler_;
  Growth growth_ = Growth::none;
  std::optional<CallCompiler> held_;   // the whole with the faults of the instant
  std::uint32_t halvings_ = 0;         // from the whole to the first cluster
  std::deque<CallCompiler> clusters_;  // each has half as many nodes as the one before
  std::map<Bytes, Prediction> known_;
};

}  // namespace collsim
