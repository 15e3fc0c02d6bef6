#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>

#include "tools/recorder/device_values.h"
#include "tools/recorder/run_list.h"

namespace collsim::recorder {

/// A case as one rank calls it. The root is rank 0.
struct NcclCall {
  Case measured;
  int ranks = 0;
  int rank = 0;
  const float* send = nullptr;
  float* receive = nullptr;
  std::size_t send_count = 0;  ///< elements that this rank contributes
  std::size_t part = 0;        ///< elements between one pair of ranks, or of the whole call
  ExpectedValues expected;     ///< of `receive`
};

/// Lays the case out on buffers that hold its bytes each; in place, on the second alone.
NcclCall lay_out(const Case& c, int ranks, int rank, float* first, float* second);

/// Whether it is made of sends and receives, which NCCL neither tunes nor estimates.
bool is_point_to_point(const Case& c);

/// Puts the call on the stream.
void enqueue(const NcclCall& call, ncclComm_t communicator, cudaStream_t stream);

}  // namespace collsim::recorder
