#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/version.h"
#include "models/predictor.h"
#include "models/recording.h"
#include "models/validation/validation.h"

namespace collsim {

/// What recorded rows that one predictor answers have in common: all but size, place and time.
struct RecordedCall {
  Collective collective = Collective::all_reduce;
  std::map<std::string, std::string> variables;
  std::uint32_t nodes = 1;
  Rank ranks = 0;
  Rank root = 0;
  std::uint32_t calls = 0;  ///< in a row; 0: it does not matter
  auto operator<=>(const RecordedCall&) const = default;
};

/// Of a row whose collective and ranks are known. A recording that does not say how many calls of a
/// collective with a root it timed is taken to have timed 20, as nccl-tests does (-n).
RecordedCall call_of(const RecordedRow& row);
/// Runs the call under NCCL's rules. Refers to the topology. Throws InputError as Predictor does.
Predictor make_predictor(const RecordedCall& call, const Topology& topology,
                         const TransferCost& cost, NcclVersion version);

/// What a topology's hosts are like.
class Hosts {
 public:
  explicit Hosts(const Topology& topology);

  /// Whether the first `nodes` have so many GPUs each.
  bool hold(std::uint32_t nodes, std::uint32_t per_node) const;
  /// Of the slowest network link; none without a network.
  std::optional<BytesPerSecond> rate() const { return rate_; }

 private:
  std::vector<std::uint32_t> gpus_;  // of each node
  std::optional<BytesPerSecond> rate_;
};

/// Whether the options say that a row is not wanted.
bool excluded(const RecordedRow& row, const ValidationOptions& options);
/// Why a row has no prediction on these hosts; empty where it can have one.
std::string why_left_out(const RecordedRow& row, const Hosts& hosts,
                         const ValidationOptions& options);

}  // namespace collsim
