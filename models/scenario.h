#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/version.h"
#include "sim/binding.h"
#include "sim/collective.h"
#include "sim/transfer_cost.h"
#include "sim/units.h"

namespace collsim {

/// The sizes of a sweep: `from`, `from * factor`, ... up to `to`, as nccl-tests' -b -e -f.
struct Sizes {
  Bytes from{8};
  Bytes to{std::int64_t{1} << 30};
  double factor = 2;
};

/// Every size of the sweep, each cut down to whole elements as nccl-tests does.
std::vector<Bytes> expand(const Sizes& sizes, Bytes element_size);

/// Where the real times of a run stand.
struct MeasuredSource {
  std::filesystem::path file;
  std::string id;
};

/// Who decides what runs: the run itself, as textbooks have it, or NCCL's rules.
enum class ScheduleKind : std::uint8_t { textbook, nccl };

/// One way of running the collective. Under NCCL's rules only the algorithm ("ring", "tree" or
/// "auto") and `variables` count of what follows; channels, protocol and chunking are NCCL's to
/// choose.
struct RunSpec {
  ScheduleKind schedule = ScheduleKind::textbook;
  std::string algorithm = "ring";
  NcclVersion nccl_version = newest_nccl_version;
  std::map<std::string, std::string> variables;  ///< NCCL_*
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;
  Chunking chunking;
  /// Calls in a row whose mean time is asked for, as nccl-tests' -n. Where not given: 20 under
  /// NCCL's rules for collectives with a root, in which later calls overtake; else 1.
  std::optional<std::uint32_t> calls;
  std::optional<MeasuredSource> measured;
};

/// A question: which collective, on which machine, at which sizes, run how.
struct Scenario {
  std::string name;
  std::filesystem::path topology;
  Collective collective = Collective::all_reduce;
  std::optional<std::uint32_t> ranks;  ///< all GPUs where not given
  Rank root = 0;                       ///< for collectives that have one
  Sizes sizes;
  std::optional<std::filesystem::path> calibration;  ///< the topology's where not given
  std::vector<RunSpec> runs;
};

/// Reads `collsim: scenario/1` (docs/formats.md). Paths in it are relative to it, or bare names of
/// shipped files. Throws InputError.
Scenario load_scenario(const std::filesystem::path& path);

}  // namespace collsim
