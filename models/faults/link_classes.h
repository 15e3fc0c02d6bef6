#pragma once

#include <vector>

#include "models/machine/resource_load.h"
#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Cables that a call puts to the same use. A cable is named by its forward link, the one with the
/// lower id.
struct LinkClass {
  std::vector<LinkId> cables;
  double load = 0;  ///< bytes that the call puts on a cable, the busier direction
  /// Whether nothing tells them apart; else nothing in their nearer surroundings does.
  bool exact = true;
};

/// Every cable that the call loads, class by class in the order of their first members.
///
/// Two cables are of one class where colour refinement (Weisfeiler and Leman) cannot tell them
/// apart: ranks are coloured by their programs, wires by their bytes, costs and ends, resources by
/// their capacity, the devices that they join and the bytes that they carry; then each by the
/// colours around it, until nothing changes. Before there are more than `most` colours of resources
/// it stops: then cables are alike in what they carry and in what is some messages away, and their
/// classes are not `exact`.
std::vector<LinkClass> link_classes(const Plan& plan, const DataPartition& partition,
                                    const Wiring& wiring, const Topology& topology,
                                    const ResourceLoad& load, std::size_t most = 1024);

}  // namespace collsim
