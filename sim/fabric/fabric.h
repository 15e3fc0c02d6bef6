#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include "sim/base/units.h"
#include "sim/topologies/topology.h"

namespace collsim {

using ResourceId = std::uint32_t;
using RouteId = std::uint32_t;
/// Chosen by whoever starts a flow or a timer; handed back when it is over.
using EventTag = std::uint32_t;

/// The cap and the weight of a flow.
struct FlowRate {
  // Not explicit: most flows have but a cap.
  FlowRate(BytesPerSecond cap_of_one,  // NOLINT(google-explicit-constructor)
           double share_weight = 1)
      : cap(cap_of_one), weight(share_weight) {}
  /// The most that the flow reaches.
  BytesPerSecond highest() const { return weight * cap; }
  friend bool operator==(const FlowRate&, const FlowRate&) = default;

  BytesPerSecond cap;  ///< the most that a flow of weight 1 reaches; may be `unlimited`
  /// Positive; the flow is as fast as so many of weight 1. `native` rounds it to multiples of 2^-42
  /// and has no more than 2^12.
  double weight = 1;
};

/// A resource, and how many flows that are alike load it at once.
struct Load {
  friend bool operator==(const Load&, const Load&) = default;

  ResourceId resource = 0;
  std::uint32_t times = 1;
};

/// Hears what happens in a Fabric. May start flows and timers from inside both calls.
class FabricListener {
 public:
  virtual ~FabricListener() = default;
  virtual void on_flow_done(EventTag tag) = 0;
  virtual void on_timer(EventTag tag) = 0;
};

/// Moves bytes over shared capacities in simulated time: flows that run at once share every
/// resource of their routes max-min fairly, by their weights. It knows nothing of ranks or
/// protocols; latency is the caller's, by timers.
///
/// Contract, the same for every engine (agreeing to 1e-9 relative):
///  - rates are the unique allocation that is max-min fair by weight (a flow's rate counts divided
///    by its weight), each flow also limited by its own cap;
///  - a flow of zero bytes, or a timer of zero delay, is over at the instant it was started, but
///    reported by run(), never from inside the call that started it;
///  - events of one instant are all reported before time moves on; their order is deterministic,
///    and the same program of calls gives the same order again;
///  - a route may be empty: its flows are limited by their rate cap alone;
///  - a flow over a resource whose capacity is 0 stands still; run() returns when nothing else can
///    happen, and flows that stand still then never end.
class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual ResourceId add_resource(BytesPerSecond capacity) = 0;
  /// The resource may exceed its capacity as Burst says; the bucket begins empty, as if calls had
  /// gone before. Only before routes are added, and not on `simgrid`. On `uncontended` flows have
  /// the peak for ever.
  virtual void let_burst(ResourceId resource, const Burst& burst) = 0;
  /// A list of distinct resources that a flow loads all at once.
  virtual RouteId add_route(std::span<const ResourceId> resources) = 0;
  /// Whether add_folded_route() is there.
  virtual bool folds() const { return false; }
  /// A route whose flows stand for many alike, of which this is one: a flow loads each resource so
  /// many times over. Only where folds().
  virtual RouteId add_folded_route(std::span<const Load> /*loads*/) {
    throw std::logic_error("the engine takes no folded routes");
  }
  /// The cap may be `unlimited`, unless the route is empty or made of unlimited resources only.
  virtual void start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) = 0;
  virtual void start_timer(Seconds delay, EventTag tag) = 0;
  /// Gives the resource another capacity from now on, finite and zero or more. Not for a resource
  /// that was added as unlimited. Flows in progress go on at their new rates. May be called from a
  /// listener's on_timer() and before run(); `uncontended` takes it only before run().
  virtual void set_capacity(ResourceId resource, BytesPerSecond capacity) = 0;
  /// Flows in progress on `from` go on over `to`, keeping what they have moved. Both have a limited
  /// resource. May be called from on_timer(); not on `uncontended`.
  virtual void redirect(RouteId from, RouteId to) = 0;
  /// Works off events until none is left. Resources and routes may be added only before.
  virtual void run(FabricListener& listener) = 0;
  virtual Seconds now() const = 0;
};

}  // namespace collsim
