#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/diagnosis/log_facts.h"
#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "models/validation/validation.h"

namespace collsim {

/// What was measured of one call at one size: the geometric mean of its rows.
struct EvidencePoint {
  Bytes size;
  Seconds measured;
  Seconds fastest;        ///< of its rows
  std::size_t rows = 0;   ///< in and out of place, of several tables
  std::size_t wrong = 0;  ///< of them, with wrong results
  int line = 0;           ///< of the first one
};

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
  std::size_t wrong = 0;                    ///< rows with wrong results
};

/// Whether a variable takes a transport away from NCCL or names what a host has: what a log is
/// asked about, not what is expected of its machine.
bool takes_transport_away(const std::string& variable);

/// The rows of a recording that a machine can have, with what its log says was set. In and out of
/// place count as one where both are the same work. Rows in CUDA graphs are taken as well.
Evidence gather_evidence(const Recording& recording, const LogFacts& facts,
                         const Topology& topology);

}  // namespace collsim
