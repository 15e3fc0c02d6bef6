#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/file_format.h"

namespace collsim {

/// A span of time in microseconds of the clock of one trace.
struct JobSpan {
  double begin_us = 0;
  double end_us = 0;
};

/// A send or a receive, of the several that one kernel may do.
struct JobMessage {
  bool sends = false;
  std::int64_t peer = 0;  ///< number of the other rank in the communicator
  double bytes = 0;
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
  std::vector<JobMessage> messages;  ///< of a kernel that only sends and receives
};

/// Anything that took time on a GPU: a kernel, a call's kernel, a copy, a fill.
struct TracedWork {
  JobSpan span;
  std::uint32_t stream = 0;
  double launch_us = 0;        ///< when the host began to launch it; 0 where the trace lacks it
  double launch_end_us = 0;    ///< when the host went on; 0 where the trace lacks it
  bool after_latest = false;   ///< its stream was told to wait for what was just issued elsewhere
  bool after_earlier = false;  ///< its stream was told to wait for something issued before that
  std::int32_t call = -1;      ///< its number among the trace's calls, -1 for no call
};

/// What one rank did.
struct RankTrace {
  std::string file;
  std::int64_t rank = 0;
  std::int64_t world_size = 0;    ///< 0 if unknown
  std::vector<JobSpan> compute;   ///< kernels that are no calls, by begin
  std::vector<TracedCall> calls;  ///< by begin
  std::vector<TracedWork> work;   ///< by launch, or by begin where launches are unknown
  std::vector<JobSpan> steps;     ///< ProfilerStep# or "step N" on the CPU, by begin
  std::vector<JobSpan> waits;     ///< in which the host waited for the GPU, by begin
  /// Ranks of each communicator whose ranks the trace names.
  std::map<std::string, std::vector<std::int64_t>> communicators;
};

/// Puts calls in the order of their begin, all work in that of its launch, and spans in that of
/// their begin.
void sort_by_time(RankTrace& trace);

/// How a trace is read. Its format shows in the first bytes, unpacked.
using TraceFormat = ReadFormat<FileKind::trace, RankTrace(const std::string& file)>;

/// Reads a trace of any format that a job's traces may have, plain or compressed by gzip. Throws
/// InputError for all others, with the name of the format if it is known.
RankTrace read_job_trace(const std::string& file);
/// Whether the file begins like one. Throws InputError where there is none.
bool is_job_trace(const std::string& file);

}  // namespace collsim
