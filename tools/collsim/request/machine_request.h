#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/imports/machine.h"
#include "sim/topologies/topology.h"

namespace collsim::command {

/// The value of an option that counts something, such as --ranks; nothing where it is not given.
/// Throws InputError for 0 and less.
std::optional<std::uint32_t> count_option(const boost::program_options::variables_map& values,
                                          const char* option);

/// The machine of that name, with the nodes of --nodes and the network of --fabric. Throws
/// InputError.
Machine asked_machine(const boost::program_options::variables_map& values, const std::string& name);

/// The GPUs of --rank-list; nothing where it is not given. Throws InputError.
std::optional<std::vector<DeviceId>> listed_gpus(
    const boost::program_options::variables_map& values, const Topology& topology);

/// The first `ranks` GPUs of a machine (all where nothing is said), of each node no more than its
/// first `per_node`. Throws InputError where there are fewer.
std::vector<DeviceId> wanted_gpus(const Topology& topology, std::optional<std::uint32_t> ranks,
                                  std::optional<std::uint32_t> per_node);

}  // namespace collsim::command
