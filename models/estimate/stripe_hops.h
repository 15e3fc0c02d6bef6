#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/laid_wires.h"
#include "sim/algorithms/patterns.h"
#include "sim/nccl/nccl_channels.h"

namespace collsim {

/// How ranks reach the heads of their node, or the switches that add up there.
struct LocalStripeHops {
  std::set<LinkKind> kinds;
  LinkKind kind = LinkKind::nvlink;  ///< of the last rank's
  double latency = 0;                ///< the longest
  double load = 0;                   ///< seconds for a byte of each, on the busiest link
};

/// How heads of one stripe reach each other, there and back.
struct NetworkStripeHops {
  double latency = 0;       ///< the longest of a hop that no fault has changed
  double slow_latency = 0;  ///< what hops that faults have changed add to the way there and back
  double load = 0;          ///< seconds for a byte of each, on the busiest link
  double load_beside = 0;   ///< the same of links that no changed hop loads
};

/// The hops of NVLS, NVLSTree or CollNetDirect over so many channels. They are laid once; what
/// faults make of them is found for each machine. Not for several threads at once.
class StripeHops {
 public:
  /// Keeps a copy of the compiler, whose faults do not count.
  StripeHops(const CallCompiler& compiler, NcclAlgorithm algorithm, std::uint32_t channels);

  const NcclStripes& stripes() const;
  /// Even channels have the first tree over nodes, odd ones the second.
  const RootedTree& tree(std::uint32_t channel) const { return trees_[channel % trees_.size()]; }

  /// The first rank of the first node stands for all that no fault touches.
  LocalStripeHops local(const MachineView& view);
  /// Of the nodes that the view shows.
  NetworkStripeHops network(const MachineView& view);

 private:
  using Id = LaidWires::Id;
  /// Wires that follow each other.
  struct Range {
    Id first = 0;
    Id end = 0;
  };

  bool is_tree() const { return algorithm_ == NcclAlgorithm::nvls_tree; }
  Range lay_rank(const MachineView& view, Rank rank);
  Rank other_end(std::uint32_t channel, Rank node) const;
  bool is_touched(const MachineView& view, Rank node) const;
  void lay_node(std::uint32_t channel, Rank node);
  void lay_nodes(const MachineView& view);
  double longest_way(const LaidWires::Changes& changes, double others) const;

  CallCompiler compiler_;
  NcclAlgorithm algorithm_;
  std::uint32_t channels_;
  std::vector<RootedTree> trees_;
  LaidWires ranks_;
  std::map<Rank, Range> of_rank_;
  LaidWires nodes_;                // there and back by turns
  Range window_;                   // of nodes that every view shows
  std::map<Rank, Range> of_node_;  // of others
  WireUsage in_window_;            // on the healthy machine
};

/// Those of one communicator, by algorithm and number of channels.
using KnownStripes = std::map<std::pair<NcclAlgorithm, std::uint32_t>, std::unique_ptr<StripeHops>>;

}  // namespace collsim
