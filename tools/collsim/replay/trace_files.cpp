#include "tools/collsim/replay/trace_files.h"

#include "sim/base/input_error.h"
#include "tools/collsim/replay/chakra.h"
#include "tools/collsim/replay/trace_format.h"

namespace collsim {

RankTrace read_job_trace(const std::string& file) {
  const TraceFormat format = trace_format(trace_start(file));
  if (format == TraceFormat::chakra_json || format == TraceFormat::chakra_protobuf) {
    return read_chakra(file);
  }
  if (format == TraceFormat::nccl_profiler) {
    throw InputError(SourcePosition{file, 0, 0},
                     "a trace of the example of NCCL's profiler plug-in, which is not JSON",
                     "a trace of PyTorch's profiler, or lines of NCCL's Inspector (`diagnose`)");
  }
  return read_kineto(file);
}

}  // namespace collsim
