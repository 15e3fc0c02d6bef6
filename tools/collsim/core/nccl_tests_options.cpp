#include "tools/collsim/core/nccl_tests_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/base/file_status.h"
#include "sim/base/input_error.h"

namespace collsim::command {

namespace {

struct NcclTestsOption {
  std::string_view letter;
  std::string_view name;
  std::string_view meaning;  ///< in nccl-tests
  std::string_view instead;  ///< here
};

constexpr std::string_view leave_out = "a prediction does not need it: leave it out";

// nccl-tests src/common.cu, longopts.
constexpr std::array table{
    NcclTestsOption{"-g", "--ngpus", "GPUs of a thread", "here -n RANKS is the number of GPUs"},
    NcclTestsOption{"-t", "--nthreads", "threads of a process",
                    "here -n RANKS is the number of GPUs, and -t the machine"},
    NcclTestsOption{"-i", "--stepbytes", "step between sizes",
                    "this subcommand has no list of sizes"},
    NcclTestsOption{"-n", "--iters", "iterations", leave_out},
    NcclTestsOption{"-m", "--agg_iters", "aggregated iterations", leave_out},
    NcclTestsOption{"-w", "--warmup_iters", "warm-up iterations", leave_out},
    NcclTestsOption{"-N", "--run_cycles", "cycles of the whole test", leave_out},
    NcclTestsOption{"-p", "--parallel_init", "parallel initialisation", "here -p is the protocol"},
    NcclTestsOption{"-c", "--check", "check of results",
                    "here -c is the collective, and `collsim check` proves results"},
    NcclTestsOption{"-o", "--op", "reduction",
                    "predictions here do not depend on it: leave it out"},
    NcclTestsOption{"-d", "--datatype", "data type",
                    "predictions here do not depend on it: leave it out"},
    NcclTestsOption{"-z", "--blocking", "blocking calls", leave_out},
    NcclTestsOption{"-y", "--stream_null", "null stream", leave_out},
    NcclTestsOption{"-T", "--timeout", "timeout", leave_out},
    NcclTestsOption{"-G", "--cudagraph", "launches of a CUDA graph", "here --graph"},
    NcclTestsOption{"-C", "--report_cputime", "CPU time", leave_out},
    NcclTestsOption{"-a", "--average", "average over ranks",
                    "here -a is the algorithm, and times are the slowest rank's"},
    NcclTestsOption{"-R", "--local_register", "registered buffers",
                    "here buffers are never registered: leave it out"},
    NcclTestsOption{"-S", "--report_timestamps", "time stamps", leave_out},
    NcclTestsOption{"-J", "--output_file", "JSON file", "here --format json"},
};

const NcclTestsOption* find(std::string_view option) {
  const auto* found = std::find_if(table.begin(), table.end(), [&](const NcclTestsOption& each) {
    return option == each.letter || option == each.name;
  });
  return found == table.end() ? nullptr : found;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void refuse_nccl_tests_option(std::string_view option) {
  const NcclTestsOption* found = find(option);
  if (found == nullptr) return;
  throw InputError(fmt::format("{} is nccl-tests' {}", option, found->meaning),
                   std::string(found->instead));
}

void refuse_nccl_tests_number(std::string_view name, const std::string& text) {
  constexpr std::array names{std::pair{"topology", "-t"}, std::pair{"collective", "-c"},
                             std::pair{"algorithm", "-a"}, std::pair{"protocol", "-p"}};
  for (const auto& [ours, letter] : names) {
    if (name != ours || !is_number(text) || is_there(text)) continue;
    const NcclTestsOption& option = *find(letter);
    throw InputError(fmt::format("{} {} is nccl-tests' {}", letter, text, option.meaning),
                     std::string(option.instead));
  }
}

void refuse_nccl_tests_numbers(const boost::program_options::variables_map& values) {
  for (const auto& [name, value] : values) {
    const auto* const text = boost::any_cast<std::string>(&value.value());
    if (text != nullptr) refuse_nccl_tests_number(name, *text);
  }
}

}  // namespace collsim::command
