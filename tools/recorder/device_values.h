#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace collsim::recorder {

/// What the elements of a result must be. Element i of what rank r contributes is
/// (r + 1) (1 + i % 31): small whole numbers, so that float sums are exact in any order.
struct ExpectedValues {
  std::size_t count = 0;   ///< elements of the result; 0: this rank gets none
  std::size_t part = 1;    ///< elements that come from one rank, where ranks' parts lie in a row
  std::size_t offset = 0;  ///< index of the first element in what a rank contributes
  int factor = 0;          ///< (r + 1) of the rank, or its sum; 0: part p is of rank p
};

/// Each works on the stream, and throws when the launch fails.
void fill_values(float* values, std::size_t count, int rank, cudaStream_t stream);
/// Adds to *wrong (device memory) how many elements are not as expected.
void count_wrong(const float* values, const ExpectedValues& expected, unsigned long long* wrong,
                 cudaStream_t stream);
void launch_empty(cudaStream_t stream);

}  // namespace collsim::recorder
