#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// How long a dead link goes unnoticed where a fault does not say it: the order in which switches
/// of today route around a dead link by themselves. An assumption, not a measurement; a subnet
/// manager takes seconds.
inline constexpr Seconds default_detection{10e-3};

/// Something that is wrong with a machine, as a person writes it (docs/formats.md). Names are not
/// looked up yet: find_faults() does that.
struct Fault {
  /// `port`: a device's links that leave its node; `cable`: the links between two devices;
  /// `device`: all links of one; `host`: all links that leave a node, and all its processes;
  /// `rank`: a process.
  enum class Target : std::uint8_t { port, cable, device, host, rank };
  /// Seen from the device, or from the first of two.
  enum class Direction : std::uint8_t { both, out, in };

  SourcePosition where;
  std::string text;  ///< its keys and values on one line: "link: node0/nic0, bandwidth: 10%"
  Target target = Target::port;
  std::vector<std::pair<std::string, std::string>> names;  ///< the second one of cables only
  Direction direction = Direction::both;
  Rank rank = 0;

  std::optional<double> share;            ///< share of the bandwidth that is left
  std::optional<BytesPerSecond> rate;     ///< the bandwidth that is left
  std::optional<BytesPerSecond> traffic;  ///< what other traffic takes of that
  bool dead = false;
  Seconds latency;   ///< on top of the link's
  Seconds jitter;    ///< every message is late by a random part of it
  Seconds late;      ///< a rank, or every one of a host, begins so long after the others
  double speed = 1;  ///< of a rank's thread blocks when they move data

  Seconds from;                           ///< since the call began; 0: before it
  std::optional<Seconds> until;           ///< for good where not given
  Seconds detection = default_detection;  ///< after which traffic leaves a dead link

  bool changes_links() const;
  bool changes_ranks() const { return late.value > 0 || speed != 1; }
};

/// One entry of a scenario's `faults`. Throws InputError.
Fault read_fault(const YamlValue& value);
/// Reads a fault from the command line: "link: node31/nic1, bandwidth: 10%", with braces or
/// without.
Fault parse_fault(std::string_view text);

}  // namespace collsim
