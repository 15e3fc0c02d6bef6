#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/base/text_file.h"
#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// A field that is swept.
struct SweepField {
  YamlValue named;   ///< its key in the sweep
  std::string path;  ///< dotted: "runs.0.algorithm", "machine.nodes.count", "size"
  std::vector<YamlValue> values;
  std::vector<std::string> texts;  ///< of the values, on one line each
};

/// Fields that change together, each with as many values.
struct SweepAxis {
  std::vector<SweepField> fields;
  std::size_t size = 0;
};

/// The points of a sweep: every combination of its axes' values, each a scenario. Points are
/// numbered from 0, the last axis fastest. Nothing in it changes: threads may share it.
class SweepSpace {
 public:
  /// Reads `collsim: scenario/1` with a `sweep` block (docs/formats.md). Throws InputError.
  explicit SweepSpace(const TextFile& file);

  std::uint64_t points() const { return points_; }
  /// All fields, in the order of the file.
  std::vector<const SweepField*> fields() const;

  /// The text of every field at that point.
  std::vector<std::string> values(std::uint64_t point) const;
  /// Throws InputError where the fields do not go together.
  Scenario scenario(std::uint64_t point) const;
  /// The machine of the point's scenario. Throws InputError.
  Topology machine(const Scenario& scenario, std::uint64_t point) const;

  /// Points with equal texts have equal machines.
  std::string machine_key(std::uint64_t point) const;
  /// Points with equal texts differ in `size` alone.
  std::string call_key(std::uint64_t point) const;
  /// How many answers the points have: each the runs times the sizes of its scenario.
  std::vector<std::uint32_t> answers() const;

  /// Reads every value once, the other fields as at point 0. Throws InputError for the first that
  /// is wrong.
  void check() const;

 private:
  std::vector<std::size_t> coordinates(std::uint64_t point) const;
  template <typename Chosen>
  std::string key_of(std::uint64_t point, Chosen chosen) const;

  YamlValue base_;
  std::filesystem::path folder_;
  std::vector<SweepAxis> axes_;
  std::uint64_t points_ = 1;
};

/// The sizes of a scenario, in whole elements; one of 0 bytes of a barrier, which has no data.
std::vector<Bytes> sizes_of(const Scenario& scenario);

}  // namespace collsim
