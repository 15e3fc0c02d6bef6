#include "models/nccl/symmetric_setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/nccl/settings/path_type.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

/// Thread blocks that a variable names.
std::optional<std::uint32_t> blocks_of(const Nccl::Variables& variables, const char* name) {
  constexpr std::uint32_t most = 64;
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  const std::string& text = found->second;
  const auto blocks = parse_number<std::uint32_t>(text);
  if (blocks && *blocks >= 1 && *blocks <= most) return blocks;
  throw InputError(fmt::format("{}={}", name, text), fmt::format("1 to {}", most));
}

std::optional<SymmetricKernel> kernel_of(const Nccl::Variables& variables) {
  const auto found = variables.find("NCCL_SYM_KERNEL");
  if (found == variables.end() || found->second == "^") return std::nullopt;
  if (const auto kernel = find_symmetric_kernel(found->second)) return kernel;
  throw InputError(fmt::format("NCCL_SYM_KERNEL={}", found->second),
                   "a kernel's name, such as AllReduce_AGxLL_R or AllGather_ST");
}

}  // namespace

SymmetricSetting symmetric_setting(const Nccl& nccl, const Nccl::Variables& variables,
                                   const Reduction& reduction) {
  SymmetricSetting setting;
  setting.version = nccl.version();
  setting.ranks = nccl.ranks();
  setting.compute_capability = nccl.system().min_compute_capability();
  setting.one_host = nccl.nodes() == 1;
  setting.nvlink = setting.ranks < 2 || nccl.graphs().ring.intra_type <= PathType::nvl;
  setting.multicast = nccl.nvls_channels() > 0;
  const auto windows = variables.find("NCCL_WIN_ENABLE");
  setting.windows = windows == variables.end() || windows->second != "0";
  setting.reduction = reduction;
  setting.min_thread_blocks = blocks_of(variables, "NCCL_MIN_CTAS").value_or(1);
  setting.max_thread_blocks =
      blocks_of(variables, "NCCL_MAX_CTAS").value_or(setting.max_thread_blocks);
  setting.thread_blocks = blocks_of(variables, "NCCL_SYM_CTAS");
  setting.kernel = kernel_of(variables);
  return setting;
}

std::vector<std::string> warnings_of_registered(std::vector<std::string> warnings) {
  std::erase_if(warnings, [](const std::string& text) {
    constexpr std::array heeded{"NCCL_SYM_KERNEL", "NCCL_SYM_CTAS", "NCCL_CTA_POLICY",
                                "NCCL_WIN_ENABLE"};
    return std::any_of(heeded.begin(), heeded.end(),
                       [&](const char* name) { return text.starts_with(name); });
  });
  return warnings;
}

}  // namespace collsim
