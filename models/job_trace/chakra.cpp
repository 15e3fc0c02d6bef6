#include "models/job_trace/chakra.h"

#include "sim/base/input_error.h"

namespace collsim {

RankTrace read_chakra(const std::string& file) {
  throw InputError(SourcePosition{file, 0, 0}, "an execution trace of Chakra",
                   "a trace of PyTorch's profiler, as JSON or .json.gz");
}

}  // namespace collsim
