#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// What a prediction rests on, the best first.
enum class Trust : std::uint8_t {
  exact,     ///< nothing to be wrong about: a textbook's machine, which is as its file says
  measured,  ///< constants that were fitted to runs of such machines
  derived,   ///< those of another generation of the same family, scaled
  guessed,   ///< nothing was measured: data sheets, and what NCCL takes for true
};

/// The word of the column `trust`: "exact", "measured", "derived" or "guessed".
std::string_view to_string(Trust trust);

/// What a calibration says of its own constants. The default is that of the textbook's machine.
struct CalibrationTrust {
  Trust gpu = Trust::exact;  ///< thread blocks, launches
  std::array<Trust, link_kind_count> links{};
  Trust nvls = Trust::exact;              ///< of NVSwitches that add up
  std::vector<std::string> models{};      ///< of GPUs; empty: any. Those of others are guessed
  std::vector<std::string> algorithms{};  ///< that runs were measured of; others are guessed
};

}  // namespace collsim
