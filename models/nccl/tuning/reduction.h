#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/nccl/settings/function.h"
#include "sim/base/units.h"

namespace collsim {

/// The types of elements that NCCL knows, named as nccl-tests names them.
enum class Datatype : std::uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
  float8_e4m3,
  float8_e5m2,
};

/// nccl-tests' name: "float", "half", "bfloat16", "f8e4m3".
std::string_view to_string(Datatype type);
Bytes size_of(Datatype type);
/// The size of nccl-tests' default type, float.
inline constexpr Bytes float_size{4};
/// Reads nccl-tests' name, or fp16, bf16, fp32, fp64. Throws InputError naming those there are.
Datatype parse_datatype(std::string_view name);

/// How elements are combined.
enum class ReductionOp : std::uint8_t { sum, prod, min, max, avg };

std::string_view to_string(ReductionOp op);
/// Throws InputError naming those there are.
ReductionOp parse_reduction_op(std::string_view name);

/// What a call adds up, and how.
struct Reduction {
  Datatype type = Datatype::float32;
  ReductionOp op = ReductionOp::sum;
  bool operator==(const Reduction&) const = default;
};

/// Whether an algorithm of NCCL's has a function for elements so combined. NVSwitches combine
/// integers of 32 and 64 bits, half and bfloat16 by sum, min and max, float and double by sum (NCCL
/// src/include/nvls.h, ncclNvlsSupported); what gathers combines nothing. PAT does not average.
bool can_reduce(NcclFunction function, NcclAlgorithm algorithm, const Reduction& reduction);

/// What the algorithm can do, for a person who asked for something else.
std::string reductions_of(NcclAlgorithm algorithm);

}  // namespace collsim
