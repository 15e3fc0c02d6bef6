#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim::test {

/// The machine of a description of the tests'. `gpu`: its model, where the file does not say it;
/// `nics`: how many are added.
Topology imported(const std::string& file, const char* gpu = nullptr, std::uint32_t nics = 0);

/// A shipped machine.
Topology shipped(const std::string& name);

/// Every NVLink: its ends, how many, GB/s of them all.
std::vector<std::tuple<std::string, std::string, std::uint32_t, double>> nvlinks(
    const Topology& topology);

}  // namespace collsim::test
