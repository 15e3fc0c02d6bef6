#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/bounds/bounds.h"
#include "models/call/call_spec.h"
#include "models/nccl/settings/version.h"
#include "models/recordings/recording.h"
#include "models/validation/validation.h"

namespace collsim {

/// What recorded rows that one compiler answers have in common: all but size and time.
struct RecordedCall {
  Collective collective = Collective::all_reduce;
  std::map<std::string, std::string> variables;
  std::uint32_t nodes = 1;
  Rank ranks = 0;
  Rank root = 0;
  std::uint32_t calls = 0;  ///< in a row; 0: it does not matter
  std::uint32_t gpus_per_process = 1;
  bool in_place = false;  ///< where it matters: to what is handed out
  bool graph = false;     ///< in a CUDA graph
  auto operator<=>(const RecordedCall&) const = default;
};

/// The call of a row whose collective and ranks are known. Where ranks may end far apart, because
/// there is a root or hosts are slow, the calls in a row matter; a recording that does not say how
/// many it timed is taken to have timed 20, as nccl-tests does (-n).
RecordedCall call_of(const RecordedRow& row);
/// The call under NCCL's rules. Refers to the topology. Throws InputError as first_gpus() does.
CallSpec spec_of(const RecordedCall& call, const Topology& topology, const Calibration& cost,
                 NcclVersion version);

/// The costs of that call: a process that drives several GPUs issues for each in turn.
Calibration cost_of(const RecordedCall& call, const Calibration& cost, NcclVersion version);

/// What recorded times of a call cannot be below on a machine, whatever NCCL chose. Recorded times
/// are means over ranks: with a root, some ranks are done long before the last.
class RecordedBounds {
 public:
  /// The machine must hold() the call's rows.
  RecordedBounds(const RecordedCall& call, const Topology& topology);

  Seconds of(Bytes size) const;

 private:
  double share_that_waits_;
  std::vector<MachineBounds> bounds_;  // of the GPUs on which the call may have run
};

/// The least time of a call of one size.
inline Seconds min_time(const RecordedCall& call, const Topology& topology, Bytes size) {
  return RecordedBounds(call, topology).of(size);
}

/// What a topology's hosts are like.
class Hosts {
 public:
  explicit Hosts(const Topology& topology);

  /// Whether the first ones have as many GPUs as the row's.
  bool hold(const RecordedRow& row) const;
  /// The row with this machine's nodes where it has a rank for every GPU here, but was counted on
  /// hosts that share them unequally: names in its log are torn.
  RecordedRow with_defaults(RecordedRow row) const;

 private:
  std::vector<std::uint32_t> gpus_;  // of each node
  std::size_t all_ = 0;
};

/// Whether the options say that a row is not wanted.
bool excluded(const RecordedRow& row, const ValidationOptions& options);
/// Why a row has no prediction on these hosts; empty where it can have one.
std::string why_left_out(const RecordedRow& row, const Hosts& hosts,
                         const ValidationOptions& options);

}  // namespace collsim
