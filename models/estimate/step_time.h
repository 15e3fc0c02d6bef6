#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "models/estimate/call_time.h"
#include "sim/cost/slice_cost.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Ranks of a ring that are alike, and their hops to the next rank.
struct RingPlace {
  double weight = 0;                    ///< how many
  LinkKind slowest = LinkKind::nvlink;  ///< link that the rank works with
  double speed = 1;                     ///< of the rank, as of a LaneSetting
  HopClass hop;
  bool operator==(const RingPlace&) const = default;
};

/// One channel's ring by classes of ranks.
using Ring = std::vector<RingPlace>;

/// Equal primitives of a rank, one after the other.
struct Primitives {
  MemoryOps operations;
  bool passes_on = false;
  double count = 0;  ///< in one loop
  bool waits = true;
};

/// What a rank does in one loop: sends, in order, and what ends it.
struct StepProgram {
  std::vector<Primitives> sends;
  std::optional<Primitives> end{};
};

/// What all primitives of a call have in common.
struct StepSetting {
  Protocol protocol = Protocol::simple;
  std::uint32_t warps = 0;  ///< warps of a thread block, and of its lane
  Chunking chunking{};
  const Calibration* cost = nullptr;  ///< of the CPU that carries what goes over a network
};

/// The slices of one primitive at one place, in seconds.
struct Slices {
  double occupancy = 0;  ///< time that all slices keep the thread block
  double head = 0;       ///< of the longest slice: until its first piece reaches the peer
  double sent = 0;       ///< until the last slice has left
  double last_head = 0;
  double after = 0;
  double moving = 0;
  double wire = 0;        ///< bytes
  double proxy = 0;       ///< what keeps the network's threads, or it, busy
  double round_trip = 0;  ///< until an equally fast peer has taken the longest, without the hop
};

/// One primitive of all ranks at once, in seconds.
struct StepCost {
  double busiest = 0;       ///< the longest of what occupies ranks, links and credits
  double occupancy = 0;     ///< time of the busiest rank
  double network_busy = 0;  ///< time of the busiest proxy
  double mean_head = 0;     ///< mean time of a hop round the ring
  double min_head = 0;
  double arrival = 0;  ///< when the last slice arrives
  double period() const { return std::max(busiest, mean_head); }
};

/// The chunk that every rank moves in a step.
struct StepChunk {
  double bytes = 0;
  double filled = 1;  ///< share of the ranks whose chunk has data
  double steps = 0;   ///< steps of the call that are done
};

/// The steps of a ring whose ranks wait for each other. Derivation: docs/formulas.md. Refers to all
/// that it is made of.
class StepTime {
 public:
  StepTime(const Ring& ring, const ThreadBlockCosts& costs, const StepSetting& setting);

  /// `period`: between two primitives of a rank, which is how often others send beside it; 0: they
  /// send all the time.
  Slices slices(const RingPlace& place, const Primitives& primitives, const StepChunk& chunk,
                double period) const;
  /// A primitive's slices at every place: the longest of each, and the mean of hops.
  StepCost step(const Primitives& primitives, const StepChunk& chunk, double period) const;
  /// The cost of a step when others use its links as busily as the period that comes out says.
  StepCost settled_step(const Primitives& primitives, const StepChunk& chunk) const;
  /// One loop after which every rank has sent and received all: sends in step with each other, each
  /// as long as the busiest rank is busy, or as the hops take round the ring. `last`: of the call.
  double loop(const StepProgram& program, const StepChunk& chunk, bool last) const;

 private:
  Slices slices_shared(const RingPlace& place, const Primitives& primitives, const StepChunk& chunk,
                       double share) const;
  double load(const LaneSetting& lane, const SliceWork& work, double steps) const;
  double alpha(const RingPlace& place) const {
    const auto kind = static_cast<std::size_t>(place.hop.kind);
    return place.hop.latency + message_alpha(costs_[kind], place.hop.kind, false).value;
  }
  double slice_bytes(double chunk, std::uint32_t slice) const;
  /// No primitive takes less: a sender waits for the slot of the slice that lies its credits back.
  double credit_cycle(const Slices& slices, const RingPlace& place) const {
    return (slices.round_trip + alpha(place) + place.hop.notice_of_room(*setting_.cost)) *
           setting_.chunking.slices / place.hop.slices_ahead(setting_.chunking.credits);
  }
  /// Nor what all who share its link put on it.
  static double link_cycle(const Slices& slices, const RingPlace& place) {
    return slices.moving > 0 ? slices.wire * (place.hop.synchronous_users + place.hop.other_users) /
                                   place.hop.capacity
                             : 0;
  }

  const Ring& ring_;
  const ThreadBlockCosts& costs_;
  const StepSetting& setting_;
  double hops_ = 0;
};

}  // namespace collsim
