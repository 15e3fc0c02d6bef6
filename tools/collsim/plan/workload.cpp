#include "tools/collsim/plan/workload.h"

#include <fmt/format.h>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Of the default datatype, float.
constexpr std::int64_t element = 4;

}  // namespace

std::int64_t bytes_of_precision(std::string_view precision) {
  if (precision == "fp32") return 4;
  if (precision == "fp16" || precision == "bf16") return 2;
  throw InputError(fmt::format("--precision: '{}'", precision), "fp16, bf16 or fp32");
}

Bytes gradient_bytes(double parameters, std::string_view precision) {
  const double bytes = parameters * static_cast<double>(bytes_of_precision(precision));
  return Bytes{static_cast<std::int64_t>(bytes) / element * element};
}

std::vector<CallGroup> calls_of(const Workload& workload) {
  if (workload.bucket.count == 0 || workload.bucket >= workload.bytes) return {{workload.bytes}};
  const std::int64_t whole = workload.bytes.count / workload.bucket.count;
  const Bytes left{workload.bytes.count - whole * workload.bucket.count};
  std::vector<CallGroup> calls{{workload.bucket, whole}};
  if (left.count > 0) calls.push_back({left});
  return calls;
}

}  // namespace collsim
