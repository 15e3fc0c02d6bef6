#include "tests/sim/fabric/fabric_test_support.h"

namespace collsim {

double Recorder::end_of(EventTag tag) const {
  for (const Entry& entry : entries_) {
    if (entry.tag == tag) return entry.time;
  }
  return -1;
}

void Recorder::note(bool timer, EventTag tag) {
  entries_.push_back({timer, tag, fabric_->now().value});
  if (const auto action = actions_.find(tag); action != actions_.end()) {
    action->second();
  }
}

RouteId add_route(Fabric& fabric, std::initializer_list<ResourceId> resources) {
  return fabric.add_route(std::vector<ResourceId>(resources));
}

}  // namespace collsim
