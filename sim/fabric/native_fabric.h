#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/completion_queue.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/max_min_sharing.h"
#include "sim/fabric/token_buckets.h"

namespace collsim {

/// The fast engine: a start or an end solves anew only the flows whose bottleneck it moves, see
/// MaxMinSharing. Changes of one instant are solved together: where a flow ends and the next one
/// of its route begins with the same cap and weight, nothing has changed. Resources without limit
/// join nothing.
///
/// Times within 1e-14 relative are one instant: they differ by rounding only.
class NativeFabric final : public Fabric {
 public:
  ResourceId add_resource(BytesPerSecond capacity) override;
  void let_burst(ResourceId resource, const Burst& burst) override;
  RouteId add_route(std::span<const ResourceId> resources) override;
  bool folds() const override { return true; }
  RouteId add_folded_route(std::span<const Load> loads) override;
  void start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) override;
  void start_timer(Seconds delay, EventTag tag) override;
  void run(FabricListener& listener) override;
  Seconds now() const override { return Seconds{now_}; }
  void set_capacity(ResourceId resource, BytesPerSecond capacity) override;
  void redirect(RouteId from, RouteId to) override;

 private:
  using FlowId = MaxMinSharing::FlowId;
  static constexpr std::uint32_t none = UINT32_MAX;

  /// A slot for a flow. It belongs to one route for ever.
  struct Flow {
    double remaining = 0;  ///< bytes, at time `settled`
    double settled = 0;
    double rate = 0;
    double finish = 0;  ///< if the rate stays; infinite where it is 0
    FlowRate max = unlimited;
    EventTag tag = 0;
    RouteId route = 0;
    std::uint32_t version = timer_version;
    FlowId next_free = none;
    bool scheduled = false;  ///< whether an event with the present version is in the queue
    bool leaving = false;    ///< whether MaxMinSharing is still to hear that it is over
  };
  struct Route {
    std::uint32_t first = 0;  ///< in route_loads_
    std::uint32_t length = 0;
    FlowId free_flow = none;
  };

  /// The version of events that are timers; flows use all others.
  static constexpr std::uint32_t timer_version = 0;
  /// The version of events that are buckets running empty.
  static constexpr std::uint32_t bucket_version = UINT32_MAX;

  FlowId take_flow(RouteId route);
  void release(FlowId id);
  void schedule_next_completions();
  void dispatch(FabricEvent event, FabricListener& listener);
  bool is_stale(FabricEvent event) const;
  void empty_bucket(ResourceId resource);
  void update_rates();
  void await(FlowId id);
  void end_leaving();
  void use_buckets();
  void settle(Flow& flow) const;
  void set_rate(FlowId id);
  void schedule(FlowId id);
  void cancel(FlowId id);

  double now_ = 0;
  EventQueue queue_;
  CompletionQueue completions_;  ///< of flows that are not scheduled
  MaxMinSharing sharing_;
  TokenBuckets buckets_;
  std::vector<Route> routes_;
  std::vector<Load> route_loads_;
  std::vector<Flow> flows_;
  std::vector<FlowId> leaving_;  ///< since the last solve
  std::vector<FlowId> next_;     ///< flows that began in the slot of one that was leaving
};

}  // namespace collsim
