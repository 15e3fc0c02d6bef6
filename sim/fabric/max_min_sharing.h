#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/fabric/token_buckets.h"

namespace collsim {

/// Flows that share resources max-min fairly by weight, and their rates while flows come and go.
///
/// What is made fair is the flows' levels, their rates divided by their weights. An allocation is
/// max-min fair, and then the only one, if every flow has a bottleneck: it runs at its bound, the
/// highest level that it could have alone, or a resource of its route is full and no flow there has
/// a higher level. Each flow's bottleneck is kept. A change frees the flows that it takes the
/// bottleneck from; only these are solved, by water-filling over what the others leave (all levels
/// rise together until a resource is full or a bound is reached). Others join them
///  - where a resource fills and they are higher than it allows, or are held there by it,
///  - where a flow sinks below the level it had and they are held by a resource of its route.
/// Either is found while the water is still below their own level, so that they rise with the rest
/// as if they had been there from the beginning.
///
/// A resource whose flows would not fill it at their bounds holds none and is not looked at.
///
/// A flow may stand for several that are alike in everything: a resource then carries its rate that
/// many times. Flows over the same resources with the same cap are one, with the sum of their
/// weights: they have the same level.
class MaxMinSharing {
 public:
  using FlowId = std::uint32_t;

  ResourceId add_resource(double capacity);
  /// The resource's capacity is that of its bucket from now on.
  void let_burst(ResourceId id, double peak);
  /// A slot for flows over these limited resources, one after the other.
  FlowId add_flow(std::span<const Load> route);

  void start(FlowId id, const FlowRate& rate);
  /// Gives the flow this weight from now on.
  void set_weight(FlowId id, double weight);
  void end(FlowId id);
  void set_capacity(ResourceId id, double capacity);
  /// Notes that the resource's bucket opens or closes.
  void note_change(ResourceId id) { changed_.push_back(id); }

  /// Finds the rates after all changes since the last solve. False: there were none.
  bool solve(TokenBuckets& buckets, double now);
  /// Flows of the last solve that nothing can slow down unless more flows start.
  std::span<const FlowId> unhindered() const { return unhindered_; }
  /// The other flows of the last solve. Their rates may have changed; all others' have not.
  std::span<const FlowId> solved() const { return solved_; }
  /// Resources with buckets whose load may have changed.
  std::span<const ResourceId> used_buckets() const { return used_buckets_; }

  /// Its rate divided by its weight.
  double level(FlowId id) const { return flows_[id].level; }
  bool is_running(FlowId id) const { return flows_[id].running; }
  double capacity(ResourceId id) const { return resources_[id].capacity; }
  /// The sum of its flows' rates.
  double load(ResourceId id) const;

 private:
  using HopId = std::uint32_t;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Resource {
    double capacity = 0;       ///< at this instant
    double limit = 0;          ///< the highest that `capacity` can be
    std::uint64_t demand = 0;  ///< the sum of its hops' shares
    HopId first_hop = none;    ///< of the list of flows that load it
    std::uint32_t flows = 0;
    std::uint32_t held = 0;  ///< flows whose bottleneck it is
    bool bursts = false;     ///< whether it has a bucket

    // While solving. `in` are the flows that are being solved, `out` all others.
    double level = 0;            ///< of the `out` flows that it holds
    double left = 0;             ///< not given to a flow
    double queued = 0;           ///< the level that counts in `resource_levels_`; infinite: none
    double top = 0;              ///< the highest level of `in` flows
    double open_weight = 0;      ///< of the `open` flows
    double held_weight = 0;      ///< of those that it held when the pass began
    std::uint32_t open = 0;      ///< `in` flows whose level is not known yet
    std::uint32_t out = 0;       ///< how many
    std::uint32_t out_held = 0;  ///< how many of those it holds
    std::uint64_t pass = 0;      ///< the last pass that looked at it
  };
  /// One resource of one flow's route; a member of the resource's list of flows.
  struct Hop {
    ResourceId resource = 0;
    FlowId flow = 0;
    HopId previous = none;
    HopId next = none;
    std::uint64_t share = 0;  ///< what the flow takes of the limit at its bound; of `whole`
    double times = 1;         ///< flows for which this one stands there
    double weight = 1;        ///< of all of them
  };
  struct Flow {
    // What a walk through a resource's flows reads lies together.
    double level = 0;
    std::uint64_t round = 0;       ///< the last solve that it was in
    double new_level = 0;          ///< while solving; negative: not known yet
    ResourceId bottleneck = none;  ///< none: its bound
    ResourceId new_bottleneck = none;
    HopId first_hop = 0;
    std::uint32_t hops = 0;
    double bound = 0;             ///< the highest that its level could be alone
    ResourceId narrowest = none;  ///< whose limit is its bound; none: its cap is
    bool running = false;         ///< whether it is in its resources' lists
    FlowRate rate{BytesPerSecond{-1}, 0};
    std::uint64_t limits = 0;  ///< the version of the limits that `bound` is for
  };
  struct Level {
    double level;
    std::uint32_t id;
  };

  /// As fine as rounding; 2^17 of them can be added up.
  static constexpr std::uint64_t whole = std::uint64_t{1} << 46U;
  static constexpr std::uint32_t max_summed = 1U << 17U;

  std::span<Hop> hops_of(const Flow& flow) {
    return std::span(hops_).subspan(flow.first_hop, flow.hops);
  }
  /// Whether it can be the bottleneck of a flow.
  static bool can_hold(const Resource& resource) {
    return resource.bursts || resource.demand > whole || resource.flows > max_summed;
  }
  static double slack(const Resource& resource);
  static double level_left(const Resource& resource);

  void bound(Flow& flow);
  bool can_reach_bound(const Flow& flow) const;
  void bound_again(FlowId id);

  void choose_flows(TokenBuckets& buckets, double now);
  bool is_unhindered(const Flow& flow);
  void run_unhindered(FlowId id, TokenBuckets& buckets, double now);
  void take_in(FlowId id);
  void take_in_held(ResourceId id);

  void fill();
  void add_bound(FlowId id);
  Level take_lowest_bound();
  void begin_pass();
  void look_at(ResourceId id);
  void queue(ResourceId id);
  void fill_lowest();
  void fill_resource(ResourceId id, double level);
  void fix(FlowId id, double level, ResourceId bottleneck);
  void join(FlowId id);
  bool join_higher(ResourceId id);
  void join_held(ResourceId id);
  bool take_in_unsettled();
  void apply();

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;
  std::uint64_t limits_ = 1;  ///< counts changes of limits

  // What changed since the last solve.
  std::vector<FlowId> started_;
  std::vector<ResourceId> changed_;

  // Results of the last solve.
  std::vector<FlowId> unhindered_;
  std::vector<FlowId> solved_;
  std::vector<ResourceId> used_buckets_;

  // Scratch of one solve, kept for its memory.
  std::uint64_t round_ = 0;
  std::uint64_t pass_ = 0;
  TokenBuckets* token_buckets_ = nullptr;
  double now_ = 0;
  std::size_t open_flows_ = 0;
  std::vector<ResourceId> seen_;        ///< in this pass
  std::vector<Level> resource_levels_;  ///< min-heap; may hold outdated levels
  std::vector<Level> bound_levels_;     ///< min-heap once one is taken
  bool bounds_are_heap_ = false;
  double lowest_bound_ = 0;  ///< infinite: there is none
  std::vector<Level> higher_;
};

}  // namespace collsim
