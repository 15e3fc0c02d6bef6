#pragma once

#include <cassert>
#include <span>
#include <vector>

#include "sim/fabric/fabric.h"

namespace collsim {

/// One flow for max_min_rates().
struct Demand {
  std::vector<ResourceId> resources;
  double rate_cap = unlimited.value;
  double weight = 1;
};

/// The max-min fair rates of flows that run at once, by progressive filling as textbooks define it:
/// all rates rise together, each in proportion to its weight; a flow stops when it reaches its cap
/// or when a resource of its route is full. Scans everything at every level: slow, and plain to
/// see.
std::vector<double> max_min_rates(std::span<const double> capacities,
                                  std::span<const Demand> demands);

/// The reference that engines are compared with: at every event all rates are computed anew from
/// nothing and every flow is moved on.
class BruteForceFabric final : public Fabric {
 public:
  ResourceId add_resource(BytesPerSecond capacity) override;
  void let_burst(ResourceId /*resource*/, const Burst& /*burst*/) override { assert(false); }
  RouteId add_route(std::span<const ResourceId> resources) override;
  void start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) override;
  void start_timer(Seconds delay, EventTag tag) override;
  void run(FabricListener& listener) override;
  Seconds now() const override { return Seconds{now_}; }
  void set_capacity(ResourceId resource, BytesPerSecond capacity) override;
  void redirect(RouteId from, RouteId to) override;

  /// The largest load / capacity that any resource has had.
  double highest_load() const { return highest_load_; }

 private:
  struct Flow {
    double remaining;
    Demand demand;
    EventTag tag;
    RouteId route;
  };
  struct Timer {
    double time;
    EventTag tag;
  };
  std::vector<double> rates();
  double end_of(double remaining, double rate) const;
  void note_load(std::span<const double> rates);
  double time_of_next_event(std::span<const double> rates) const;
  void report_all_due(std::vector<double> rates, double next, FabricListener& listener);

  double now_ = 0;
  double highest_load_ = 0;
  std::vector<double> capacities_;
  std::vector<std::vector<ResourceId>> routes_;
  std::vector<Flow> flows_;
  std::vector<Timer> timers_;
};

}  // namespace collsim
