#include "models/nccl/tuning/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

struct TypeEntry {
  std::string_view name;
  std::string_view alias;  // often said instead
  std::int64_t size = 0;
};

// In the order of the enumerators (nccl-tests src/common.cu, test_typenames).
constexpr std::array types{
    TypeEntry{"int8", "", 1},           TypeEntry{"uint8", "", 1},
    TypeEntry{"int32", "int", 4},       TypeEntry{"uint32", "", 4},
    TypeEntry{"int64", "", 8},          TypeEntry{"uint64", "", 8},
    TypeEntry{"half", "fp16", 2},       TypeEntry{"float", "fp32", 4},
    TypeEntry{"double", "fp64", 8},     TypeEntry{"bfloat16", "bf16", 2},
    TypeEntry{"f8e4m3", "fp8_e4m3", 1}, TypeEntry{"f8e5m2", "fp8_e5m2", 1},
};

constexpr std::array<std::string_view, 5> ops{"sum", "prod", "min", "max", "avg"};

bool nvswitch_can(const Reduction& reduction) {
  const bool extreme = reduction.op == ReductionOp::min || reduction.op == ReductionOp::max;
  switch (reduction.type) {
    case Datatype::int32:
    case Datatype::uint32:
    case Datatype::int64:
    case Datatype::uint64:
    case Datatype::float16:
    case Datatype::bfloat16:
      return extreme || reduction.op == ReductionOp::sum;
    case Datatype::float32:
    case Datatype::float64:
      return reduction.op == ReductionOp::sum;
    default:
      return false;
  }
}

}  // namespace

std::string_view to_string(Datatype type) {
  return types[static_cast<std::size_t>(type)].name;
}

Bytes size_of(Datatype type) {
  return {types[static_cast<std::size_t>(type)].size};
}

Datatype parse_datatype(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (name == types[i].name || (!name.empty() && name == types[i].alias)) {
      return static_cast<Datatype>(i);
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", types[i].name);
  }
  throw InputError(fmt::format("unknown datatype '{}'", name), names);
}

std::string_view to_string(ReductionOp op) {
  return ops[static_cast<std::size_t>(op)];
}

ReductionOp parse_reduction_op(std::string_view name) {
  const auto* found = std::find(ops.begin(), ops.end(), name);
  if (found != ops.end()) return static_cast<ReductionOp>(found - ops.begin());
  throw InputError(fmt::format("unknown reduction '{}'", name),
                   fmt::format("{}", fmt::join(ops, ", ")));
}

bool can_reduce(NcclFunction function, NcclAlgorithm algorithm, const Reduction& reduction) {
  if (function == NcclFunction::all_gather || function == NcclFunction::broadcast) return true;
  if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree) {
    return nvswitch_can(reduction);
  }
  return algorithm != NcclAlgorithm::pat || reduction.op != ReductionOp::avg;
}

std::string reductions_of(NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::pat) return "sum, prod, min or max";
  return "sum of float or double; sum, min or max of half, bfloat16 and integers of 32 or 64 bits";
}

}  // namespace collsim
