#pragma once

#include <optional>
#include <string>

#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The calibration of machines that no other one fits: nothing in it was measured on their like.
inline constexpr std::string_view default_calibration = "default";

/// The name of the calibration that a topology's questions are answered with: the one that its file
/// names; else the one for its GPUs, by their generation and by whether NVLink joins all of a node;
/// else `default`. Of GPUs of several generations the oldest counts.
std::string calibration_name(const Topology& topology);

/// What a person should know who gets answers by this calibration; nothing unless it is `default`.
std::optional<std::string> calibration_warning(const Calibration& cost);

}  // namespace collsim
