#pragma once

#include <filesystem>
#include <string_view>

#include "sim/text_file.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"

namespace collsim {

/// Reads a calibration (`collsim: calibration/1`, docs/formats.md). Throws InputError.
TransferCost load_calibration(const std::filesystem::path& path);
/// The same for a text that is at hand.
TransferCost read_calibration(const TextFile& text);

/// The calibration of the same machines when hosts talk TCP: the one itself where no other was
/// measured.
TransferCost over_tcp(const TransferCost& cost);

/// The calibration of that calibration_name().
TransferCost calibration_for(const Topology& topology);

/// The keys of a calibration file: "ll", "ll128", "simple"; "nvlink", "pcie", "cpu", "network".
std::string_view calibration_key(Protocol protocol);
std::string_view calibration_key(LinkKind kind);

}  // namespace collsim
