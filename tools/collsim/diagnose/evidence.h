#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "models/validation/validation.h"

namespace collsim {

/// What was measured of one call at one size: the geometric mean of its rows.
struct EvidencePoint {
  Bytes size;
  Seconds measured;
  Seconds fastest;       ///< what its fastest row may have taken at most, by its digits
  std::size_t rows = 0;  ///< how many: in place, out of place, of each table of the log
  int line = 0;          ///< of the first one
  /// The means out of place and in place, where there are such rows.
  std::array<std::optional<Seconds>, 2> places{};
  /// The place of this point, where the two are far apart. The other has a point of its own.
  std::optional<bool> in_place{};
};

/// Out of place and in place are the same work for most collectives. A tenth of all recorded pairs
/// is up to five times the usual noise apart (models/data/noise.yaml), 9 %; this is three times
/// that.
inline constexpr double places_apart = 1.3;

/// What was measured of one call, by size.
struct EvidenceSeries {
  RecordedCall call;  ///< its variables are those that a healthy machine is expected to heed
  std::vector<EvidencePoint> points;
};

/// What a log says, made ready to be held against a machine.
struct Evidence {
  std::vector<EvidenceSeries> series;
  /// Variables that were set and take a transport away: not heeded by what is expected.
  std::map<std::string, std::string> taken_away;
  std::map<std::string, LeftOut> left_out;  ///< rows, by the reason
  std::vector<std::string> notes{};         ///< of tables that are held apart
};

/// Whether a variable takes a transport away from NCCL or names what a host has: what a log is
/// asked about, not what is expected of its machine.
bool takes_transport_away(const std::string& variable);

/// Tables of the same call that are this far apart, in the middle of their large sizes, were made
/// with something that the log does not show: another setting, another moment of the network.
inline constexpr double tables_apart = 1.15;

/// The rows of a recording that a machine can have, with what its log says was set. Tables of one
/// call are one series, unless they are tables_apart, which a note says. In and out of
/// place count as one where both are the same work and their times are not places_apart. Rows in
/// CUDA graphs are taken as well.
Evidence gather_evidence(const Recording& recording, const LogFacts& facts,
                         const Topology& topology);

}  // namespace collsim
