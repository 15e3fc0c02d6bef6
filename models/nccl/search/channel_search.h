#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/search/graph.h"
#include "models/nccl/system/link_budget.h"
#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// Looks for as many channels as possible with one bandwidth, one shape and one limit on paths:
/// depth first, in the order in which NCCL tries GPUs and NICs, for as many steps as NCCL allows
/// (NCCL src/graph/search.cc). `inter`: channels begin and end at NICs.
class ChannelSearch {
 public:
  ChannelSearch(const NcclSystem& system, const NcclPaths& paths, bool inter);

  /// Replaces `best` whenever something better than it turns up. Returns how the search ended:
  /// the steps left, 0 when they ran out, -1 when nothing better is possible.
  int run(const NcclGraph& wanted, NcclGraph& best, int steps);

 private:
  enum class Order : std::uint8_t { any, by_index, as_before };
  /// How a channel has to go, and the steps it may still take.
  struct Course {
    std::optional<std::uint32_t> leave_at;  ///< position whose GPU goes to the NIC
    std::optional<std::uint32_t> close_at;  ///< position whose GPU goes back to the first
    Order order = Order::any;
    int* steps = nullptr;
  };

  Course course(Order order, int* steps) const;
  void next_channel(int* steps);
  void channel_in_node(int* steps);
  void channel_from_nets(int* steps);
  void channel_from_net(std::uint32_t net, int* steps);
  bool head_at_net(std::uint32_t net, int* steps);
  void start_at(std::optional<std::uint32_t> net, std::uint32_t gpu, const Course& course);
  void go_to(std::uint32_t from, std::uint32_t to, std::uint32_t position, const Course& course);
  void visit(std::uint32_t gpu, std::uint32_t position, const Course& course);
  void leave(std::uint32_t gpu, std::uint32_t position, const Course& course);
  void close(std::uint32_t gpu, std::uint32_t position, const Course& course);
  void pull_through_switch(std::uint32_t gpu, const Course& course);
  void fan_out(std::uint32_t gpu, const Course& course);
  void finish(const Course& course);
  bool better_than_best() const;

  std::vector<std::uint32_t> next_gpus(std::uint32_t gpu, int toward_net) const;
  std::vector<std::uint32_t> next_neighbours(std::uint32_t gpu) const;
  /// Whether the channel, which does not have the other GPU yet, may go there from this one.
  bool may_go(std::uint32_t gpu, std::uint32_t other) const;
  std::vector<std::uint32_t> order_gpus_beside(std::uint32_t net) const;
  std::vector<std::uint32_t> order_nets(std::optional<std::uint32_t> gpu) const;
  /// The NICs by which a channel may come in, or leave from a GPU.
  const std::vector<std::uint32_t>& nets_to_try(std::optional<std::uint32_t> gpu) const {
    return nets_[gpu.value_or(gpus_)];
  }
  bool may_leave_by(std::uint32_t net, std::uint32_t position) const;
  float pci_bandwidth(std::uint32_t gpu) const;

  /// How much of its bandwidth a channel puts on a way. NCCL asks for the path's type, and counts
  /// hops, only where that is the plain bandwidth.
  struct Load {
    float share = 1;
    bool of_any_type = false;
  };
  /// Takes the way between two nodes, if its type is allowed and its links have enough left.
  bool take(std::uint32_t from, std::uint32_t to, Load load);
  bool take(std::uint32_t from, std::uint32_t to) { return take(from, to, Load{}); }
  void give_back(std::uint32_t from, std::uint32_t to, Load load);
  void give_back(std::uint32_t from, std::uint32_t to) { give_back(from, to, Load{}); }
  float bandwidth_between(std::uint32_t from, std::uint32_t to) const;
  bool inside(std::uint32_t node) const;

  std::uint32_t gpu_node(std::uint32_t gpu) const {
    return system_->of_kind(NcclNodeKind::gpu)[gpu];
  }
  std::uint32_t net_node(std::uint32_t net) const {
    return system_->of_kind(NcclNodeKind::net)[net];
  }
  const NcclNet& net_of(std::uint32_t net) const { return system_->node(net_node(net)).net; }
  GraphChannel& channel() { return channels_[done_]; }
  const GraphChannel& channel(std::uint32_t index) const { return channels_[index]; }

  const NcclSystem* system_;
  const NcclPaths* paths_;
  bool inter_;
  std::uint32_t gpus_;
  LinkBudget budget_;
  // What a search asks at every step.
  std::vector<std::vector<std::uint32_t>> nets_;         // to try, by GPU, then those of all GPUs
  std::vector<std::vector<std::uint32_t>> gpus_beside_;  // to try, by NIC
  NcclGraph graph_;                     ///< what is wanted, with the hops taken so far
  std::vector<GraphChannel> channels_;  ///< done_ complete ones, then the one that is being laid
  std::uint32_t done_ = 0;
  std::vector<std::uint64_t> used_;  ///< per GPU, a bit for every channel that it is in
  NcclGraph* best_ = nullptr;
};

}  // namespace collsim
