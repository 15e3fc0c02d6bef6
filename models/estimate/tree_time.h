#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/estimate/call_time.h"
#include "sim/cost/slice_cost.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Ranks of a tree that are alike.
struct TreePlace {
  std::uint32_t children = 0;
  bool root = false;
  double weight = 0;                    ///< how many ranks are like it
  LinkKind slowest = LinkKind::nvlink;  ///< link that the rank works with
  double speed = 1;                     ///< LaneSetting::speed of the rank
  HopClass up;                          ///< to the parent
  HopClass down;                        ///< to the child with the least share of its link
  bool operator==(const TreePlace&) const = default;
};

/// One channel's tree: its ranks by class, and the longest ways from a leaf to the root and back.
struct TreeShape {
  std::vector<TreePlace> places;
  struct Stop {
    std::size_t place = 0;  ///< index in `places`
    HopClass hop;           ///< by which the way goes on
    double weight = 1;      ///< number of equal stops
    bool operator==(const Stop&) const = default;
  };
  struct Way {
    std::vector<Stop> up;    ///< but for the root
    std::vector<Stop> down;  ///< from the root on, but for the leaf
    bool operator==(const Way&) const = default;
  };
  std::vector<Way> ways;
  /// The way from a root to another where the network's switches add up what the roots of all nodes
  /// have.
  std::optional<HopClass> network;
  bool several_peers = true;
  bool operator==(const TreeShape&) const = default;
};

/// The time of an all_reduce over one tree; `contends`: whether thread blocks that use NVLink alone
/// wait for each other (Corrections::link_contention). Derivation: docs/formulas.md.
FormulaTime tree_time(const TreeShape& tree, const ThreadBlockCosts& costs,
                      const PipelineCall& call, bool contends);

}  // namespace collsim
