#include <algorithm>

#include "tools/recorder/cuda_check.h"
#include "tools/recorder/device_values.h"

namespace collsim::recorder {

namespace {

constexpr int period = 31;
constexpr int threads = 256;
constexpr std::size_t max_blocks = 1024;

__device__ float value_of(std::size_t index, int factor) {
  return static_cast<float>(factor * (1 + static_cast<int>(index % period)));
}

__global__ void fill_kernel(float* values, std::size_t count, int factor) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    values[i] = value_of(i, factor);
  }
}

__global__ void check_kernel(const float* values, ExpectedValues expected,
                             unsigned long long* wrong) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < expected.count; i += stride) {
    const int factor =
        expected.factor != 0 ? expected.factor : static_cast<int>(i / expected.part) + 1;
    // Written so that a NaN is wrong.
    if (!(values[i] == value_of(expected.offset + i % expected.part, factor))) ++mine;
  }
  if (mine > 0) atomicAdd(wrong, mine);
}

__global__ void empty_kernel() {}

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>((count + threads - 1) / threads, 1, max_blocks));
}

}  // namespace

void fill_values(float* values, std::size_t count, int rank, cudaStream_t stream) {
  fill_kernel<<<blocks_for(count), threads, 0, stream>>>(values, count, rank + 1);
  check(cudaGetLastError(), "fill the buffer");
}

void count_wrong(const float* values, const ExpectedValues& expected, unsigned long long* wrong,
                 cudaStream_t stream) {
  if (expected.count == 0) return;
  check_kernel<<<blocks_for(expected.count), threads, 0, stream>>>(values, expected, wrong);
  check(cudaGetLastError(), "check the result");
}

void launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  check(cudaGetLastError(), "launch");
}

}  // namespace collsim::recorder
