#include "sim/execution/calls_at_once.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "sim/execution/executor.h"

namespace collsim {

namespace {

/// What one call sees of a fabric that it shares: the common resources come first, then its own, as
/// if nobody else were there.
class FabricPart final : public Fabric {
 public:
  FabricPart(Fabric& whole, ResourceId common, EventTag number, EventTag calls)
      : whole_(whole), common_(common), number_(number), calls_(calls) {}

  ResourceId add_resource(BytesPerSecond capacity) override {
    if (resources_ >= common_) {
      const ResourceId there = whole_.add_resource(capacity);
      if (resources_ == common_) shift_ = there - common_;
    }
    return resources_++;
  }
  void let_burst(ResourceId /*resource*/, const Burst& /*burst*/) override {}
  RouteId add_route(std::span<const ResourceId> resources) override {
    std::vector<ResourceId> there(resources.begin(), resources.end());
    for (ResourceId& resource : there) resource = of_whole(resource);
    routes_.push_back(whole_.add_route(there));
    return static_cast<RouteId>(routes_.size() - 1);
  }
  void start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) override {
    whole_.start_flow(routes_[route], bytes, rate, of_whole_tag(tag));
  }
  void start_timer(Seconds delay, EventTag tag) override {
    whole_.start_timer(delay, of_whole_tag(tag));
  }
  void set_capacity(ResourceId resource, BytesPerSecond capacity) override {
    whole_.set_capacity(of_whole(resource), capacity);
  }
  void redirect(RouteId from, RouteId to) override { whole_.redirect(routes_[from], routes_[to]); }
  void run(FabricListener& /*listener*/) override {
    throw std::logic_error("a part of a fabric does not run by itself");
  }
  Seconds now() const override { return whole_.now(); }

 private:
  ResourceId of_whole(ResourceId resource) const {
    return resource < common_ ? resource : resource + shift_;
  }
  EventTag of_whole_tag(EventTag tag) const {
    if (tag > (~EventTag{0} - number_) / calls_) throw std::length_error("too many calls at once");
    return tag * calls_ + number_;
  }

  Fabric& whole_;
  ResourceId common_;
  ResourceId shift_ = 0;
  ResourceId resources_ = 0;
  std::vector<RouteId> routes_;
  EventTag number_;
  EventTag calls_;
};

/// All calls, each of which hears of its own.
class CallsAtOnce final : public FabricListener {
 public:
  CallsAtOnce(std::span<const Execution> calls, Fabric& fabric);

  /// Whose launch costs more begins to move its bytes later.
  void begin() {
    Seconds least = calls_.front().startup();
    for (const Execution& call : calls_) least = std::min(least, call.startup());
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      running_[i]->begin(calls_[i].startup() - least);
    }
  }
  std::vector<Seconds> times() const {
    std::vector<Seconds> times;
    for (const auto& call : running_) times.push_back(call->result().time);
    return times;
  }
  void on_flow_done(EventTag tag) override { call_of(tag).on_flow_done(own_tag(tag)); }
  void on_timer(EventTag tag) override { call_of(tag).on_timer(own_tag(tag)); }

 private:
  RunningCall& call_of(EventTag tag) { return *running_[tag % running_.size()]; }
  EventTag own_tag(EventTag tag) const { return tag / static_cast<EventTag>(running_.size()); }

  std::vector<Wiring> wirings_;
  std::vector<Execution> calls_;
  std::vector<FabricPart> parts_;
  LinkDemands links_;
  std::vector<std::unique_ptr<RunningCall>> running_;
};

CallsAtOnce::CallsAtOnce(std::span<const Execution> calls, Fabric& fabric) {
  std::vector<const Wiring*> own;
  for (const Execution& call : calls) own.push_back(&call.wiring);
  wirings_ = joined_wirings(own);
  const Wiring& common = wirings_.front();
  for (const BytesPerSecond capacity : common.capacities) fabric.add_resource(capacity);
  parts_.reserve(calls.size());
  calls_.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Execution& call = calls[i];
    calls_.push_back({call.plan, call.partition, wirings_[i], call.cost, call.protocol, call.warps,
                      call.calls, nullptr, false, call.watch, false});
    parts_.emplace_back(fabric, static_cast<ResourceId>(common.capacities.size()),
                        static_cast<EventTag>(i), static_cast<EventTag>(calls.size()));
    running_.push_back(lay_beside_others(calls_.back(), parts_.back(), links_));
  }
}

}  // namespace

std::vector<Wiring> joined_wirings(std::span<const Wiring* const> wirings) {
  std::map<std::tuple<bool, std::uint32_t, std::optional<HostShare>>, ResourceId> numbers;
  std::vector<BytesPerSecond> capacities;
  const auto number_of = [&](const Wiring& wiring, ResourceId resource) {
    auto number = static_cast<ResourceId>(capacities.size());
    if (!wiring.origins.empty()) {
      const ResourceOrigin& origin = wiring.origins[resource];
      number = numbers.try_emplace({origin.shared, origin.id, origin.host}, number).first->second;
    }
    if (number == capacities.size()) capacities.push_back(unlimited);
    capacities[number] = std::min(capacities[number], wiring.capacities[resource]);
    return number;
  };
  std::vector<Wiring> joined;
  for (const Wiring* own : wirings) {
    std::vector<ResourceId> there;
    for (ResourceId i = 0; i < own->capacities.size(); ++i) there.push_back(number_of(*own, i));
    Wiring& wiring = joined.emplace_back();
    wiring.wires = own->wires;
    for (std::vector<Wire>& wires : wiring.wires) {
      for (Wire& wire : wires) {
        for (ResourceId& resource : wire.resources) resource = there[resource];
        for (ResourceId& resource : wire.network) resource = there[resource];
      }
    }
  }
  for (Wiring& wiring : joined) wiring.capacities = capacities;
  return joined;
}

std::vector<Seconds> execute_at_once(std::span<const Execution> calls, Fabric& fabric) {
  if (calls.empty()) return {};
  CallsAtOnce all(calls, fabric);
  all.begin();
  fabric.run(all);
  return all.times();
}

}  // namespace collsim
