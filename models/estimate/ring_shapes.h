#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_cache.h"
#include "models/estimate/ring_time.h"

namespace collsim {

/// The rings of NCCL's channels by classes of ranks, for each number of channels found once.
class RingShapes {
 public:
  /// Refers to both.
  RingShapes(const CallCompiler& compiler, CallHops& hops)
      : compiler_(compiler), view_(hops.view()), hops_(hops) {}

  /// The rings of the channels, equal ones once.
  const std::vector<Ring>& rings(const UsedChannels& channels);
  /// RingCall::turn of them.
  double turn(std::uint32_t channels);

 private:
  using Order = std::vector<Rank>;
  const Order& order(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].ring;
  }
  const std::vector<LaidHops::Id>& hops(std::uint32_t channel);
  bool is_touched(const LaidHops::Hop& hop) const { return view_.touches_hop(hop.from, hop.to); }
  bool is_crossing(const LaidHops::Hop& hop) const {
    return view_.node_of(hop.from) != view_.node_of(hop.to);
  }
  double weight_of_crossing(const std::vector<LaidHops::Id>& hops);
  Ring ring(std::uint32_t channel, const HopClasses& classes, const LinkConditions& now);
  std::vector<double> distances(std::uint32_t channel) const;

  const CallCompiler& compiler_;
  const MachineView& view_;
  CallHops& hops_;
  std::map<std::uint32_t, std::vector<LaidHops::Id>> shown_;  // by channel
  std::map<UsedChannels, std::vector<Ring>> rings_;
  std::map<std::uint32_t, double> turns_;
};

}  // namespace collsim
