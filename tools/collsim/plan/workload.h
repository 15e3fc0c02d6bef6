#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// Bytes of one number in "fp32", "fp16" or "bf16". Throws InputError for any other text.
std::int64_t bytes_of_precision(std::string_view precision);

/// Equal calls in a row.
struct CallGroup {
  Bytes size;
  std::int64_t count = 1;
};

/// What is to be moved in one step.
struct Workload {
  std::string name;  ///< "350 GB", "gpt-3-175b in fp16"
  Bytes bytes;       ///< of all calls together
  Bytes bucket{};    ///< the largest call; 0: all in one
  std::string source{};
};

/// The bytes of the gradients of `parameters`, in whole elements of four bytes, as nccl-tests
/// counts sizes.
Bytes gradient_bytes(double parameters, std::string_view precision);

/// The calls of a step: buckets of equal size, and one with what is left.
std::vector<CallGroup> calls_of(const Workload& workload);

}  // namespace collsim
