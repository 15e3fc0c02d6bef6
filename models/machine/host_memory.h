#pragma once

#include <map>
#include <span>

#include "models/machine/plan_wiring.h"
#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The share of `footprint` bytes, gone through in turn again and again, that a cache with random
/// replacement still holds when their turn comes. All where they fit in, else h with
/// h = exp(-(1 - h) footprint / cache): only misses replace anything.
double cached_share(double footprint, Bytes cache);

/// What a node's host memory carries, all its GPUs together, while their buffers there have
/// `footprint` bytes. They are filled in turn, so that of those that outgrow the cache ever fewer
/// are still in it when their turn comes (cached_share()), as measured on two H200 hosts
/// (recordings/h200x4, recordings/h200.csv).
BytesPerSecond memory_rate(const MemoryConstants& cost, Bytes footprint);

/// What a PCIe link carries both ways, as a share of its bandwidth, where that share of what a GPU
/// sends, from 0 to 1, is sent and received in turn. H200 with PCIe gen5 was measured; L40S and RTX
/// 2080 Ti with gen4 and gen3 reach the same shares (docs/transports.md).
double both_ways_share(const MemoryConstants& cost, double in_turn);

/// The share of what a rank sends in a call for which it receives as much without sending: in a
/// ring of two all, in one of many the first chunk of each loop. Lanes of a tree do both at once.
double share_in_turn(const Plan& plan, const DataPartition& partition, Rank rank);

/// Lets every hop that the rules lead through host memory load the memory of its node and, both
/// ways, the PCIe links that it crosses; a node's memory is one, however many CPUs it has, as on
/// the machines that were measured. Capacities are those of the links, and the memory's without
/// limit, until set_host_memory().
void load_host_memory(Wiring& wiring, const Plan& plan, const Topology& topology,
                      std::span<const DeviceId> gpus, const HopRules& rules);

/// Whether any hop goes through measured host memory.
bool loads_host_memory(const Wiring& wiring);

/// Data of the buffers that one call fills in each node's memory, by the memory's resource: a FIFO
/// goes round all its slots, of which each is filled as far as the slices are large.
std::map<ResourceId, Bytes> host_footprints(const Wiring& wiring, const Plan& plan,
                                            const DataPartition& partition, Protocol protocol);

/// The capacities that they have for one call: its channels, slices and protocol say how large the
/// buffers are that it fills. They are in bytes of `wire_factor`, as loads are.
void set_host_memory(Wiring& wiring, const Plan& plan, const DataPartition& partition,
                     std::span<const DeviceId> gpus, Protocol protocol, const Calibration& cost);

}  // namespace collsim
