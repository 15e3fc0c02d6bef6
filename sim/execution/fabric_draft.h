#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/fabric/fabric.h"

namespace collsim {

/// The resources and routes that a call needs, before any of them is on a fabric. Numbers are those
/// that a fabric gives which takes all of them and had none before.
class FabricDraft {
 public:
  ResourceId add_resource(BytesPerSecond capacity) {
    capacities_.push_back(capacity);
    return static_cast<ResourceId>(capacities_.size() - 1);
  }
  void let_burst(ResourceId resource, const Burst& burst) { bursts_.emplace_back(resource, burst); }
  RouteId add_route(std::span<const ResourceId> resources) {
    hops_.insert(hops_.end(), resources.begin(), resources.end());
    begins_.push_back(static_cast<std::uint32_t>(hops_.size()));
    return static_cast<RouteId>(begins_.size() - 2);
  }

  std::span<const BytesPerSecond> capacities() const { return capacities_; }
  bool bursts() const { return !bursts_.empty(); }
  std::span<const ResourceId> route(RouteId id) const {
    return std::span(hops_).subspan(begins_[id], begins_[id + 1] - begins_[id]);
  }
  void put_on(Fabric& fabric) const {
    for (const BytesPerSecond capacity : capacities_) fabric.add_resource(capacity);
    for (const auto& [resource, burst] : bursts_) fabric.let_burst(resource, burst);
    for (RouteId id = 0; id + 1 < begins_.size(); ++id) fabric.add_route(route(id));
  }

 private:
  std::vector<BytesPerSecond> capacities_;
  std::vector<std::pair<ResourceId, Burst>> bursts_;
  std::vector<ResourceId> hops_;
  std::vector<std::uint32_t> begins_{0};  // by route, and the end
};

}  // namespace collsim
