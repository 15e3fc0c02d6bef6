#pragma once

#include <filesystem>
#include <string_view>

#include "sim/base/text_file.h"
#include "sim/base/yaml_reader.h"
#include "sim/cost/calibration.h"
#include "sim/cost/constants.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Reads a calibration (`collsim: calibration/1`, docs/formats.md). Throws InputError.
Calibration load_calibration(const std::filesystem::path& path);
/// The same for a text that is at hand.
Calibration read_calibration(const TextFile& text);

/// The value of a constant, in the units of Constant::in. Throws InputError outside of the range.
double read_constant(const YamlValue& value, Quantity quantity, const ConstantRange& accepted);

/// The same machines when hosts talk TCP: the calibration that was measured for it (`over_tcp`).
/// Where none was, the calibration itself with what network messages take between H200 hosts, named
/// `<its name>+h200-tcp`: a guess. One that has proxies is of TCP already.
Calibration over_tcp(const Calibration& cost);

/// Whether nodes have no NICs but those that NCCL uses by sockets: their model is `Ethernet`, or an
/// interface's name such as `eth0`.
bool has_sockets_only(const Topology& topology);

/// The calibration of that calibration_name().
Calibration calibration_for(const Topology& topology);

/// The keys of a calibration file: "ll", "ll128", "simple"; "nvlink", "pcie", "cpu", "network".
std::string_view calibration_key(Protocol protocol);
std::string_view calibration_key(LinkKind kind);

}  // namespace collsim
