#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "sim/cost/trust.h"
#include "sim/execution/wiring.h"
#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// A calibration's `trust`: `exact`, or classes by `gpu`, kind of link and `nvls`, with the GPU
/// `models` and `algorithms` that they are about (docs/formats.md). What it leaves out is guessed.
/// Throws InputError.
CalibrationTrust read_trust(const YamlValue& value);

/// The trust of a calibration that says nothing of it: all is guessed, but for what `collsim
/// calibrate` lists as fitted ("simple.alpha.nvlink" speaks for nvlink, and any constant for the
/// GPU).
CalibrationTrust trust_of_fitted(const std::vector<std::string>& fitted);

/// The kinds of its hops' links, each the slowest of its way.
std::vector<LinkKind> kinds_of(const Wiring& wiring);

/// How far to trust the time of a call whose hops have links of these kinds: the worst of what it
/// uses. A textbook's schedule has run nowhere, so that on a machine that is not a textbook's its
/// times are guessed.
Trust trust_of(const CalibrationTrust& calibration, const Topology& topology,
               std::span<const DeviceId> gpus, std::span<const LinkKind> kinds,
               std::string_view algorithm, bool textbook);

/// What the data of a call cross that costs most.
struct Medium {
  /// The transport between hosts ("ib", "tcp"; or "network", which the calibration has by itself),
  /// else "pcie", which may lead through host memory, or "nvlink".
  std::string name{};
  std::uint32_t hosts = 1;  ///< between how many it is
  auto operator<=>(const Medium&) const = default;
};

/// The medium of calls between so many hosts that use links of these kinds.
Medium medium_of(const Calibration& cost, std::span<const LinkKind> kinds, std::uint32_t hosts);

/// The class of that name; nothing for any other.
std::optional<Trust> find_trust(std::string_view name);
/// The names of all, for messages.
inline constexpr const char* trust_classes = "exact, measured, derived or guessed";

}  // namespace collsim
