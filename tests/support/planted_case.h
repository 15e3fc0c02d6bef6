#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/diagnose/diagnosis.h"

namespace collsim::test {

/// A machine that faults are planted on, and the ranks of its calls.
struct PlantedMachine {
  std::string name;
  std::uint32_t nodes = 1;
  Rank ranks = 0;
};
/// Ten of them: NVSwitch, PCIe, InfiniBand with and without oversubscription, RoCE, Ethernet.
const std::vector<PlantedMachine>& planted_machines();

/// A machine, loaded.
struct LoadedMachine {
  PlantedMachine shape;
  Topology topology;
  Calibration cost;
};
LoadedMachine load(const PlantedMachine& machine);

/// A log of nccl-tests with a cause in it that is known.
struct PlantedCase {
  std::string cause;  ///< "healthy": none
  std::string text;   ///< of the cause, with its value
  std::string plain;  ///< without
  std::string where;  ///< the place that it acts in; empty where that is no matter
  TextFile log;
  double effect = 0;  ///< on the size that it slows most, as a logarithm of the time
};

/// Draws a collective, a cause and its value, simulates the call from 8 B to 1 GiB and adds noise
/// of the recorded size: of one time in ten five times as much.
PlantedCase plant(const LoadedMachine& machine, const Spread& spread, std::mt19937_64& random,
                  bool healthy = false);

/// Sizes of a log.
struct SizeRange {
  std::int64_t least = 8;
  std::int64_t most = std::int64_t{1} << 30;
  std::int64_t factor = 4;
};

/// The same of one port, NVLink or GPU in any place, with that share of its rate left.
PlantedCase plant_slow_part(const LoadedMachine& machine, const Spread& spread,
                            std::mt19937_64& random, double share, const SizeRange& sizes = {});

/// What `collsim diagnose` makes of it, with causes or the verdict alone.
Diagnosis diagnose(const PlantedCase& planted, const LoadedMachine& machine, const Spread& spread,
                   bool find_causes = true);

/// The place of the planted cause among the groups of a diagnosis, from 0; their number where it is
/// in none of them. `there`: it has to be told where it is, too, up to places with the same part.
std::size_t place_of(const PlantedCase& planted, const Diagnosis& diagnosis, bool there = false);

}  // namespace collsim::test
