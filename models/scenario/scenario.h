#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/faults/fault.h"
#include "models/scenario/run_spec.h"
#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "sim/plan/collective.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// The sizes of a sweep: `from`, `from * factor`, ... up to `to`, as nccl-tests' -b -e -f; or,
/// where `step` is not 0, `from`, `from + step`, ..., as its -i.
struct Sizes {
  Bytes from{8};
  Bytes to{std::int64_t{1} << 30};
  double factor = 2;
  Bytes step{0};
};

/// Every size of the sweep, each cut down to whole elements as nccl-tests does.
std::vector<Bytes> expand(const Sizes& sizes, Bytes element);

/// A question: which collective, on which machine, at which sizes, run how.
struct Scenario {
  std::string name;
  std::filesystem::path topology;
  Collective collective = Collective::all_reduce;
  std::optional<std::uint32_t> ranks;  ///< all GPUs where not given
  /// How many GPUs of every node take part, its first ones; all where not given.
  std::optional<std::uint32_t> ranks_per_node;
  Rank root = 0;  ///< for collectives that have one
  Sizes sizes;
  std::optional<Calibration> calibration;  ///< the topology's where not given
  std::vector<RunSpec> runs;
  std::vector<Fault> faults;  ///< of the machine
  std::uint64_t seed = 0;     ///< random seed of jitter
};

/// Reads `collsim: scenario/1` (docs/formats.md). Paths in it are relative to it, or bare names of
/// shipped files. Throws InputError.
Scenario load_scenario(const std::filesystem::path& path);
/// Reads a scenario from the root of a file; `base` is its folder.
Scenario read_scenario(const YamlValue& file, const std::filesystem::path& base);
/// The keys of a scenario.
std::span<const std::string_view> scenario_keys();

}  // namespace collsim
