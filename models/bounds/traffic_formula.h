#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/plan.h"
#include "sim/plan/steps.h"

namespace collsim {

/// above / below of the buffer of S bytes, in lowest terms.
struct BufferShare {
  std::uint32_t above = 0;
  std::uint32_t below = 1;
  bool operator==(const BufferShare&) const = default;
};

BufferShare share_of(std::uint64_t above, std::uint64_t below);
/// Writes a share as "3/2 S", "S", "2 S" or "nothing".
std::string to_string(const BufferShare& share);

/// What a replayed plan sends, by counting.
struct PlanTraffic {
  std::vector<BufferShare> sent;  ///< by rank, in all steps
  std::size_t steps = 0;
  std::size_t messages = 0;
};
PlanTraffic counted_traffic(const Plan& plan, const std::vector<Step>& steps,
                            std::uint32_t channel = 0);

/// What a textbook says of an algorithm's traffic. N ranks, M nodes, p ranks per node, S bytes.
struct TrafficFormula {
  std::string bytes;              ///< "Each rank sends 2(N-1)/N S = 3/2 S"
  std::vector<BufferShare> sent;  ///< what each rank sends by that formula
  std::string steps_symbol;       ///< "2(N-1)"; empty where there is no formula of steps
  std::size_t steps = 0;          ///< the value of steps_symbol
  bool operator==(const TrafficFormula&) const = default;
};

/// The formula of the plan's algorithm on this placement. Nothing where there is none, and where
/// ranks send other bytes than it says: a plan of NCCL's may bear the name and do otherwise. Where
/// only the steps are others, it has none of steps.
std::optional<TrafficFormula> traffic_formula(const Plan& plan, const Placement& placement,
                                              const PlanTraffic& counted);

/// The formula in one sentence: "Each rank sends 2(N-1)/N S = 3/2 S in 2(N-1) = 6 steps".
std::string sentence_of(const TrafficFormula& formula, const PlanTraffic& counted);
/// Who sends how much, by counting: "Rank 0 sends S; ranks 1..3 send 2 S".
std::string counted_words(const PlanTraffic& counted);

}  // namespace collsim
