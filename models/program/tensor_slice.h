#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// A tensor that lies in slices on a program's ranks: the weights of a pipeline stage, pages of
/// keys and values.
struct ProgramTensor {
  std::string name{};
  Bytes bytes;

  bool operator==(const ProgramTensor&) const = default;
};

/// Bytes of a tensor, from `begin` up to, but without, `end`.
struct TensorSlice {
  std::uint32_t tensor = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t bytes() const { return end - begin; }
  auto operator<=>(const TensorSlice&) const = default;
};

/// The slices of every rank of a group, in the order of its ranks.
using SlicesByRank = std::vector<std::vector<TensorSlice>>;

/// Slices that one program file may name, counted by rank.
inline constexpr std::size_t max_program_slices = 1'000'000;

/// Slices `part` to `last` of those into which a slice is cut evenly, rounded down to bytes.
TensorSlice parts_of(const TensorSlice& whole, std::int64_t part, std::int64_t last,
                     std::int64_t parts);

/// Reads a slice, or a list of them: `weights`, `weights rank % 4 of 4`, `weights 2..5 of 16`.
/// Parts are counted from 0; `rank` in an expression is the rank of the program. Throws InputError
/// for what no tensor has.
SlicesByRank read_slices(const YamlValue& value, std::span<const ProgramTensor> tensors,
                         std::span<const Rank> ranks);

/// Slices in words: "all of 'weights'", "0 B to 4 GiB of 'weights'".
std::string to_string(std::span<const TensorSlice> slices, std::span<const ProgramTensor> tensors);

}  // namespace collsim
