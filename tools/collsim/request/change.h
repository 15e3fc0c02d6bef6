#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/imports/machine_parts.h"

namespace collsim {

/// What is changed of a machine, as a person wrote it: `nic=200Gb/s,oversubscription=2`.
///
///   nic=RATE             every NIC, its cable and the cables between switches
///   nics=N               NICs of a node; fewer than there are, spread evenly
///   oversubscription=K   of the fabric's leaves
///   latency=TIME         of every cable of the fabric
///   fabric=NAME          another fabric, with the transport that belongs to it
///   inside=pcie3|pcie4|pcie5  no NVLink between GPUs, and PCIe of that generation
///   placement=packed|interleaved|random  how consecutive nodes lie on leaves
///   placement=list:NODES, placement=file:FILE  the nodes of the cluster that the job has got, as
///                        parse_node_list() and read_node_list() read them
///   beside=MACHINE:N     N nodes of another kind on the same fabric
///
/// Throws InputError that names the option for what is none of these, and for a change that the
/// machine cannot have.
MachineParts changed(MachineParts parts, std::string_view change);

/// Takes devices of a node out, with their links and what shares those. `gone` is by device.
void remove_devices(NodeTemplate& node, const std::vector<bool>& gone);

/// Whether a change is of what is above the nodes' cables alone: for NCCL's search the nodes stay
/// as they are.
bool keeps_nodes(std::string_view change);

}  // namespace collsim
