#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_classes.h"
#include "models/estimate/ring_time.h"
#include "models/machine/hop_wires.h"

namespace collsim {

/// Whether places are alike, but for how many they are and for rounding.
bool alike(const RingPlace& one, const RingPlace& other);

/// Adds a place, or counts it where one like it is there.
void add_place(Ring& ring, const RingPlace& place);

/// The rings of NCCL's channels by classes of ranks, for each number of channels found once.
class RingShapes {
 public:
  /// Adds the kinds of links that rings use to `kinds`. Refers to all.
  RingShapes(const CallCompiler& compiler, const MachineView& view, std::set<LinkKind>& kinds)
      : compiler_(compiler), view_(view), kinds_(kinds) {}

  /// The rings of the channels, equal ones once.
  const std::vector<Ring>& rings(const UsedChannels& channels);
  /// RingCall::turn of them.
  double turn(std::uint32_t channels);

 private:
  using Order = std::vector<Rank>;
  const Order& order(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].ring;
  }
  const std::vector<LaidHop>& hops(std::uint32_t channel);
  bool is_touched(const LaidHop& hop) const { return view_.touches_hop(hop.from, hop.to); }
  bool is_crossing(const LaidHop& hop) const;
  double weight_of_crossing(const std::vector<LaidHop>& hops) const;
  Ring ring(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
            const UsedChannels& channels, const LinkUsers& users);
  void count_tasks(const LaidHop& hop, std::uint32_t channels, HopClass& counted);
  std::vector<double> distances(std::uint32_t channel) const;

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  std::unique_ptr<HopWires> wires_;
  std::map<std::uint32_t, std::vector<LaidHop>> hops_;  // by channel
  std::map<UsedChannels, std::vector<Ring>> rings_;
  std::map<std::uint32_t, double> turns_;
};

}  // namespace collsim
