#pragma once

#include <span>
#include <vector>

#include "sim/fabric/event_queue.h"
#include "sim/fabric/fabric.h"

namespace collsim {

/// Every flow runs as if it were alone: at the least of its rate cap and the capacities of its
/// route. The one Fabric that shares nothing; what runs on it takes its critical path's time.
class UncontendedFabric final : public Fabric {
 public:
  ResourceId add_resource(BytesPerSecond capacity) override;
  void let_burst(ResourceId resource, const Burst& burst) override;
  RouteId add_route(std::span<const ResourceId> resources) override;
  void start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) override;
  void start_timer(Seconds delay, EventTag tag) override;
  void run(FabricListener& listener) override;
  Seconds now() const override { return Seconds{now_}; }
  void set_capacity(ResourceId resource, BytesPerSecond capacity) override;
  void redirect(RouteId from, RouteId to) override;

 private:
  double now_ = 0;
  EventQueue queue_;
  std::vector<double> capacities_;
  std::vector<std::vector<ResourceId>> routes_;
};

}  // namespace collsim
