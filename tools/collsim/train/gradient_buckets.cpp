#include <algorithm>

#include "tools/collsim/train/training_program.h"

namespace collsim {

namespace {

/// The first bucket of DDP is small, so that reducing begins early.
constexpr double first_bucket = 1 << 20;

}  // namespace

std::vector<std::size_t> gradient_buckets(const std::vector<double>& tensor_bytes, double cap) {
  std::vector<std::size_t> ends;
  double held = 0;
  for (std::size_t i = 0; i < tensor_bytes.size(); ++i) {
    held += tensor_bytes[i];
    if (held < (ends.empty() ? std::min(cap, first_bucket) : cap)) continue;
    ends.push_back(i + 1);
    held = 0;
  }
  if (held > 0) ends.push_back(tensor_bytes.size());
  return ends;
}

}  // namespace collsim
