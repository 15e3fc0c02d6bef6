#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace collsim {

/// A span of time in microseconds of the clock of one trace.
struct JobSpan {
  double begin_us = 0;
  double end_us = 0;
};

/// A kernel of NCCL or DeepEP that ran on a GPU, with what PyTorch says of its call.
struct TracedCall {
  JobSpan span;
  std::string operation;      ///< PyTorch's word, or NCCL's from the kernel's name
  std::string communicator;   ///< name of the process group, empty where the trace does not say it
  std::string type;           ///< PyTorch's word, as in BFloat16
  std::int64_t ranks = 0;     ///< of the communicator, 0 if unknown
  double bytes = 0;           ///< the larger of what goes in and what comes out, 0 if unknown
  std::int64_t channels = 0;  ///< blocks of the grid, 0 if unknown
};

/// What one rank did.
struct RankTrace {
  std::string file;
  std::int64_t rank = 0;
  std::int64_t world_size = 0;    ///< 0 if unknown
  std::vector<JobSpan> compute;   ///< all other kernels, by begin
  std::vector<TracedCall> calls;  ///< by begin
  std::vector<JobSpan> steps;     ///< of the profiler's ProfilerStep# on the CPU, by begin
};

/// Reads a trace of PyTorch's profiler (Kineto), plain or compressed by gzip, as a stream. Throws
/// InputError for what is no such trace, for more than 1 GiB of text, and for times or sizes that
/// no GPU has.
RankTrace read_kineto(const std::string& file);

}  // namespace collsim
