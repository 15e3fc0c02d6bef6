#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

/// Whether the question is about peer kernels: it names an engine (--kernels), or with -a `nccl`,
/// `multimem` or one of the kernels that only NVSwitches run.
bool asks_for_kernels(const boost::program_options::variables_map& values);

/// The question, whose engine is PyTorch where --kernels names none, and whose kernels are
/// one_shot, two_shot, multimem and nccl where -a names none.
KernelQuestion kernels_to_compare(const boost::program_options::variables_map& values);

/// Answers where peer kernels and NCCL cross over on each set of GPUs: a table of thresholds, with
/// --map what is fastest for each size, with --svg and --png the times of the first set, with
/// --html a page, and with --export-thresholds the thresholds as code.
void answer_kernel_crossover(const CallRequest& request, const KernelQuestion& question,
                             const std::vector<std::vector<DeviceId>>& gpus,
                             const boost::program_options::variables_map& values,
                             const std::string& command, std::ostream& out);

}  // namespace collsim::command
