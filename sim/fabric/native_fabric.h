#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/fabric/completion_queue.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/max_min_sharing.h"
#include "sim/fabric/token_buckets.h"

namespace collsim {

/// The fast engine: a start or an end solves anew only the flows whose bottleneck it moves, see
/// MaxMinSharing. Resources without limit join nothing.
///
/// Flows that load the same resources with the same cap always have the same level (their rate
/// divided by their weight): they are a bundle, which shares as one flow with the sum of their
/// weights. A bundle counts how far a flow of weight 1 would have come; each of its flows ends at a
/// certain count, whatever its level does until then. Changes of one instant are solved together:
/// where a flow ends and one of the same weight joins its bundle, nothing has changed.
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
  using FlowId = std::uint32_t;
  using BundleId = MaxMinSharing::FlowId;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Flow {
    double end = 0;            ///< what its bundle has moved for weight 1 when the flow is over
    std::uint64_t weight = 0;  ///< in `weight_units`
    EventTag tag = 0;
    RouteId route = 0;
    FlowId next = none;  ///< of its bundle, or the next free one
    FlowId previous = none;
  };
  /// Flows of one level. It belongs to one path for ever, and to another cap where it was empty.
  struct Bundle {
    double level = 0;
    double moved = 0;  ///< bytes of a flow of weight 1, at time `settled`
    double settled = 0;
    double finish = 0;                ///< of the first flow, if the level stays; infinite: none
    std::uint64_t weight = 0;         ///< of all flows, in `weight_units`
    std::uint64_t shared_weight = 0;  ///< the weight that MaxMinSharing knows
    BytesPerSecond cap = unlimited;
    FlowId first = none;  ///< by their ends
    FlowId last = none;
    BundleId next = none;  ///< of the same path
    std::uint32_t version = first_version;
    bool scheduled = false;   ///< whether an event with the present version is in the queue
    bool unhindered = false;  ///< whether nothing but more flows can slow it down
    bool touched = false;     ///< whether it is in `touched_`
  };
  /// What routes with the same loads have in common.
  struct Path {
    std::uint32_t first = 0;  ///< in loads_
    std::uint32_t length = 0;
    BundleId first_bundle = none;
  };

  /// The versions of events that are timers, flows of no bytes (either has a tag as its id) and
  /// buckets that run empty. Bundles use all others.
  static constexpr std::uint32_t timer_version = 0;
  static constexpr std::uint32_t empty_flow_version = 1;
  static constexpr std::uint32_t first_version = 2;
  static constexpr std::uint32_t bucket_version = UINT32_MAX;

  std::span<const Load> loads_of(const Path& path) const {
    return std::span(loads_).subspan(path.first, path.length);
  }
  std::uint32_t take_path(std::span<const Load> loads);
  BundleId take_bundle(std::uint32_t path, BytesPerSecond cap);
  void add_flow(RouteId route, double left, BytesPerSecond cap, const Flow& flow);
  void insert(Bundle& bundle, FlowId id);
  void remove(Bundle& bundle, FlowId id);
  void touch(BundleId id);
  double moved(const Bundle& bundle) const;
  double finish_of_first(const Bundle& bundle) const;
  void schedule_next_completions();
  void dispatch(FabricEvent event, double instant_end, FabricListener& listener);
  void end_flows(BundleId id, double instant_end, FabricListener& listener);
  bool is_stale(FabricEvent event) const;
  void empty_bucket(ResourceId resource);
  void share_weights();
  void update_rates();
  void use_buckets();
  void set_level(BundleId id);
  void await(BundleId id);
  void schedule(BundleId id);
  void cancel(BundleId id);

  double now_ = 0;
  EventQueue queue_;
  CompletionQueue completions_;  ///< of bundles that are not scheduled
  MaxMinSharing sharing_;
  TokenBuckets buckets_;
  std::vector<std::uint32_t> paths_of_routes_;
  std::vector<Path> paths_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> paths_by_hash_;
  std::vector<Load> loads_;
  std::vector<Bundle> bundles_;
  std::vector<Flow> flows_;
  FlowId free_flow_ = none;
  std::vector<BundleId> touched_;  ///< whose flows changed since the last solve
};

}  // namespace collsim
