#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/event_queue.h"
#include "sim/fabric.h"

namespace collsim {

/// The fast engine. Flows that are joined by common resources form a component; a start or an end
/// changes rates only within its component, so only that is solved anew, by water-filling (all
/// rates rise together until a resource is full or a cap is reached; the flows it holds stay
/// there). Changes of one instant are solved together. Resources without limit join nothing.
///
/// Times within 1e-14 relative are one instant: they differ by rounding only.
class NativeFabric final : public Fabric {
 public:
  ResourceId add_resource(BytesPerSecond capacity) override;
  void let_burst(ResourceId resource, const Burst& burst) override;
  RouteId add_route(std::span<const ResourceId> resources) override;
  void start_flow(RouteId route, double bytes, BytesPerSecond rate_cap, EventTag tag) override;
  void start_timer(Seconds delay, EventTag tag) override;
  void run(FabricListener& listener) override;
  Seconds now() const override { return Seconds{now_}; }
  void set_capacity(ResourceId resource, BytesPerSecond capacity) override;
  void redirect(RouteId from, RouteId to) override;

 private:
  using FlowId = std::uint32_t;
  using HopId = std::uint32_t;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Resource {
    double capacity = 0;     ///< at this instant
    double left = 0;         ///< while solving: not yet given to a flow
    HopId first_hop = none;  ///< of the list of flows that load it
    std::uint32_t flows = 0;
    std::uint32_t open = 0;   ///< while solving: flows whose rate is not known yet
    std::uint64_t round = 0;  ///< the last solve that saw it
  };
  /// A resource that may exceed its capacity for a while.
  struct Bucket {
    double size = 0;
    double peak = 0;
    double sustained = 0;  ///< the capacity when it is empty
    double left = 0;       ///< at time `settled`
    double settled = 0;
    double used = 0;      ///< by all flows, since then
    double empty_at = 0;  ///< if it is used like this; infinite where it fills
  };
  /// One resource of one flow's route; a member of the resource's list of flows.
  struct Hop {
    ResourceId resource = 0;
    FlowId flow = 0;
    HopId previous = none;
    HopId next = none;
  };
  /// A slot for a flow. It belongs to one route for ever, so that its hops are filled in once.
  struct Flow {
    double remaining = 0;  ///< bytes, at time `settled`
    double settled = 0;
    double rate = 0;
    double finish = 0;  ///< if the rate stays; infinite where it is 0
    double rate_cap = 0;
    double new_rate = 0;  ///< while solving; negative: not known yet
    EventTag tag = 0;
    RouteId route = 0;
    HopId first_hop = 0;
    std::uint32_t hops = 0;
    std::uint32_t version = timer_version;
    FlowId next_free = none;
    std::uint64_t round = 0;
    bool linked = false;     ///< whether it is in its resources' lists
    bool scheduled = false;  ///< whether an event with the present version is in the queue
  };
  struct Route {
    std::uint32_t first = 0;  ///< in route_resources_
    std::uint32_t length = 0;
    FlowId free_flow = none;
  };
  struct Level {
    double rate;
    std::uint32_t id;
  };

  /// The version of events that are timers; flows use all others.
  static constexpr std::uint32_t timer_version = 0;
  /// The version of events that are buckets running empty.
  static constexpr std::uint32_t bucket_version = UINT32_MAX;

  FlowId take_flow(RouteId route);
  std::span<Hop> hops_of(const Flow& flow) {
    return std::span(hops_).subspan(flow.first_hop, flow.hops);
  }
  void link(FlowId id);
  void unlink(Flow& flow);
  void release(FlowId id);
  bool is_alone(const Flow& flow);
  void dispatch(FabricEvent event, FabricListener& listener);
  bool is_stale(FabricEvent event) const;

  Bucket* bucket_of(ResourceId resource) {
    return resource < buckets_.size() && buckets_[resource].size > 0 ? &buckets_[resource]
                                                                     : nullptr;
  }
  void settle_bucket(ResourceId resource);
  void use_bucket(ResourceId resource);
  void empty_bucket(ResourceId resource);
  void update_rates();
  void run_alone(FlowId id);
  void collect_from(ResourceId resource);
  void solve_component();
  void open_component();
  bool can_bind(const Flow& flow);
  void fill_component();
  void fix(FlowId id, double rate);
  void fill_resource(ResourceId resource, double rate);
  void refresh_lowest_level();
  void settle(Flow& flow) const;
  void set_rate(Flow& flow, double rate) const;
  void apply_rates();
  void schedule(FlowId id);
  void cancel(Flow& flow);

  double now_ = 0;
  EventQueue queue_;
  std::vector<Resource> resources_;
  std::vector<Bucket> buckets_;  ///< by ResourceId; shorter where no others have one
  std::vector<Route> routes_;
  std::vector<ResourceId> route_resources_;
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;

  // What changed at this instant.
  std::vector<FlowId> started_;
  std::vector<ResourceId> changed_;

  // Scratch of one solve, kept for its memory.
  std::uint64_t round_ = 0;
  std::size_t open_flows_ = 0;
  std::vector<FlowId> component_flows_;
  std::vector<ResourceId> component_resources_;
  std::vector<Level> resource_levels_;  ///< min-heap
  std::vector<Level> cap_levels_;       ///< min-heap
};

}  // namespace collsim
