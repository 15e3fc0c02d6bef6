#pragma once

#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// `burst: { size: 64 KiB, peak: 40 Gb/s }` of a link, or no burst where that is not said. Throws
/// InputError, also for a peak that is no more than the link's bandwidth.
Burst read_burst(const YamlMapping& link, BytesPerSecond bandwidth);

}  // namespace collsim
