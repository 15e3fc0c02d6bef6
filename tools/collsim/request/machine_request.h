#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/imports/machine.h"
#include "sim/topologies/topology.h"

namespace collsim::command {

/// Adds the options that say which machine a question is about, and which of its GPUs have ranks:
/// --topology, --nodes, --fabric, --ranks, --ranks-per-node, --rank-list.
void add_machine_options(boost::program_options::options_description& options);
/// Adds those that say which NCCL runs there: --env, --nccl-version.
void add_release_options(boost::program_options::options_description& options);

/// The value of an option that counts something, such as --ranks; nothing where it is not given.
/// Throws InputError for 0 and less.
std::optional<std::uint32_t> count_option(const boost::program_options::variables_map& values,
                                          const char* option);

/// The machine of that name, with the nodes of --nodes and the network of --fabric. Throws
/// InputError.
Machine asked_machine(const boost::program_options::variables_map& values, const std::string& name);

/// The GPUs of --rank-list; nothing where it is not given. Throws InputError, also where another
/// option says which GPUs have ranks.
std::optional<std::vector<DeviceId>> listed_gpus(
    const boost::program_options::variables_map& values, const Topology& topology);

/// The first GPUs of a machine, so many ranks of them (all where nothing is said), of each node no
/// more than its first `per_node`. Throws InputError where there are fewer.
std::vector<DeviceId> wanted_gpus(const Topology& topology, std::optional<std::uint32_t> ranks,
                                  std::optional<std::uint32_t> per_node);

}  // namespace collsim::command
