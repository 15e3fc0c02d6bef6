#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/faults/fault.h"
#include "models/machine/link_state.h"
#include "models/machine/plan_wiring.h"
#include "sim/cost/calibration.h"
#include "sim/execution/machine_events.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// A fault of links, found on a machine.
struct LinkFault {
  std::vector<LinkId> links;
  double share = 1;                         ///< of each link's bandwidth that is left
  std::optional<BytesPerSecond> rate{};     ///< in place of a share
  std::optional<BytesPerSecond> traffic{};  ///< what others take
  bool dead = false;
  Seconds latency{};
  Seconds jitter{};
  Seconds from{};
  std::optional<Seconds> until{};
  Seconds detection = default_detection;
};

/// A rank that is late or slow.
struct RankFault {
  Rank rank = 0;
  Seconds late;
  double speed = 1;
};

/// A node all of whose ranks are late or slow.
struct HostFault {
  std::int32_t node = 0;
  Seconds late;
  double speed = 1;
};

/// All that is wrong with a machine.
struct MachineFaults {
  std::vector<LinkFault> links{};
  std::vector<RankFault> ranks{};
  std::vector<HostFault> hosts{};
  std::uint64_t seed = 0;  ///< random seed of jitter

  bool empty() const { return links.empty() && ranks.empty() && hosts.empty(); }
};

/// Looks up what the faults name. Throws InputError for what the machine does not have, with the
/// names nearest to it, and for traffic that leaves nothing of a link.
MachineFaults find_faults(std::span<const Fault> faults, const Topology& topology, Rank ranks,
                          std::uint64_t seed = 0);

/// Every instant of a call at which a link changes, 0 first.
std::vector<Seconds> instants_of(const MachineFaults& faults);
/// What is wrong with links at one of them.
LinkStates states_at(const MachineFaults& faults, const Topology& topology, Seconds at);

/// A plan on a faulty machine.
struct FaultyLayout {
  /// The wiring at its best: routes as the call begins, every capacity the most that it ever is, no
  /// extra latency. Lower bounds hold of it.
  Wiring wiring;
  MachineEvents events;
  bool reroutes = false;  ///< wires change while the call runs, so that loads are not known before
};

/// Traffic of dead links takes the best route that is left (as a Router finds it) once the fault is
/// noticed, at once if it is older than the call, and comes back when the link does; where there is
/// no way, it stands still. `wiring` is that of the healthy machine, made with the same rules.
FaultyLayout lay_faults(const MachineFaults& faults, const Plan& plan, const Topology& topology,
                        std::span<const DeviceId> gpus, const Calibration& cost, Wiring wiring,
                        const HopRules& rules = {});

/// The wiring with all that was wrong before the call. Throws InputError where that is not all:
/// analytic models know no other faults.
Wiring wiring_as_it_begins(const Wiring& wiring, const MachineEvents& events);

/// The links that move nothing in the end, by name: why a call hangs.
std::vector<std::string> links_that_stay_dead(const Wiring& wiring, const MachineEvents& events,
                                              const Topology& topology);

}  // namespace collsim
