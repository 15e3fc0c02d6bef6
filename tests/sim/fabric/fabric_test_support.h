#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/fabric/engine.h"
#include "sim/fabric/fabric.h"

namespace collsim {

/// Notes when and in which order things end; may do more at each of them.
class Recorder final : public FabricListener {
 public:
  struct Entry {
    bool timer;
    EventTag tag;
    double time;
    bool operator==(const Entry&) const = default;
  };

  explicit Recorder(Fabric& fabric) : fabric_(&fabric) {}
  void on_flow_done(EventTag tag) override { note(false, tag); }
  void on_timer(EventTag tag) override { note(true, tag); }

  /// What to do when the flow or the timer of this tag is over.
  void then(EventTag tag, std::function<void()> action) { actions_[tag] = std::move(action); }

  const std::vector<Entry>& entries() const { return entries_; }
  /// When the flow or timer of this tag was over; -1: never.
  double end_of(EventTag tag) const;

 private:
  void note(bool timer, EventTag tag);

  Fabric* fabric_;
  std::map<EventTag, std::function<void()>> actions_;
  std::vector<Entry> entries_;
};

/// A rate so plain that expectations are whole seconds.
inline BytesPerSecond per_second(double bytes) {
  return BytesPerSecond{bytes};
}

/// The last part of a test's name.
inline std::string engine_name(const testing::TestParamInfo<Engine>& test) {
  return std::string(to_string(test.param));
}

RouteId add_route(Fabric& fabric, std::initializer_list<ResourceId> resources);

}  // namespace collsim
