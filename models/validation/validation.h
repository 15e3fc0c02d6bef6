#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/call/prediction.h"
#include "models/nccl/settings/version.h"
#include "models/recordings/recording.h"
#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// A recorded time beside the predicted one.
struct ValidatedRow {
  RecordedRow recorded;
  Seconds predicted;
  std::string algorithm;  ///< that we think NCCL runs: nccl_report_name(), "p2p" or "none"
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;
  std::optional<Seconds> nccl_estimate;  ///< the recorded one, or else what we think it is
  std::string machine{};                 ///< name of the topology that it was predicted on
  NcclVersion nccl_version{};            ///< whose rules applied
  bool analytic = false;                 ///< predicted by formulas, not simulated
  Trust trust = Trust::exact;
  Medium medium{};  ///< that the data cross

  /// (predicted - measured) / measured.
  double error() const { return predicted.value / recorded.time.value - 1; }
};

/// Recorded rows that are not compared.
struct LeftOut {
  std::size_t rows = 0;
  std::string first_id;  ///< id of one of them
};

/// All rows of a recording, each of them in one of the two.
struct Validation {
  std::vector<ValidatedRow> rows;           ///< in the recording's order
  std::map<std::string, LeftOut> left_out;  ///< by the reason
  std::set<std::string> warnings;           ///< warnings of the call compilers
};

/// Which rows are compared, and by which rules.
struct ValidationOptions {
  std::optional<Collective> collective;            ///< all where not given
  std::optional<Rank> ranks{};                     ///< any number where not given
  std::string id;                                  ///< begins the ids of the rows; all where empty
  std::optional<bool> in_place;                    ///< both where not given
  std::optional<Bytes> largest;                    ///< rows up to it; all where not given
  std::optional<CallMode> mode = CallMode::plain;  ///< both where not given
  NcclVersion nccl_version = default_nccl_version;
  bool analytic = false;  ///< by formulas, not simulated
  std::uint32_t threads = 1;
};

/// Predicts every row of the recording as NCCL would run it, in the row's environment and on its
/// ranks: the first of the topology's GPUs, on as many nodes as the row had hosts. Collectives with
/// a root as often in a row as was measured. A Predictor answers. Rows that are
/// faster than the machine's bounds allow are left out, each by its line. Rows that the options
/// exclude are in neither list. Families of rows are shared out over the threads; the result does
/// not depend on their number.
Validation validate(const Recording& recording, const Topology& topology, const Calibration& cost,
                    const ValidationOptions& options);

}  // namespace collsim
