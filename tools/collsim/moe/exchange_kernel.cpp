#include "tools/collsim/moe/exchange_kernel.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "models/machine/gpu_model.h"
#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/words.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr auto families = std::to_array<std::pair<KernelFamily, std::string_view>>({
    {KernelFamily::deepep, "deepep"},
    {KernelFamily::deepep_low_latency, "deepep-low-latency"},
    {KernelFamily::nvlink_one_sided, "nvlink-one-sided"},
    {KernelFamily::nvlink_two_sided, "nvlink-two-sided"},
});
constexpr auto expert_operations = std::to_array<std::pair<ExpertOperation, std::string_view>>({
    {ExpertOperation::prepare, "prepare"},
    {ExpertOperation::dispatch, "dispatch"},
    {ExpertOperation::combine, "combine"},
    {ExpertOperation::combine_low_precision, "combine_low_precision"},
});
constexpr auto block_rules = std::to_array<std::pair<BlockRule, std::string_view>>(
    {{BlockRule::given, "given"}, {BlockRule::experts, "experts"}, {BlockRule::gpu, "gpu"}});
constexpr double largest_fill = 1000;

template <typename Words>
auto value_at(const YamlMapping& keys, std::string_view key, const Words& words) {
  const YamlValue value = keys.at(key);
  const std::string text = value.string();
  std::vector<std::string> names;
  for (const auto& [each, word] : words) {
    if (word == text) return each;
    names.emplace_back(word);
  }
  value.fail(fmt::format("there is no '{}'", text), names_instead_of(text, names));
}

KernelRuns runs_of(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"gpu", "network", "ranks", "error", "range"});
  constexpr std::uint32_t max_ranks = 1U << 17;
  KernelRuns runs{keys.at("gpu").string(),
                  keys.string_or("network", ""),
                  {},
                  keys.at("error").share(),
                  read_error_range(keys.at("range"))};
  for (const YamlValue& each : keys.at("ranks").sequence()) {
    runs.ranks.push_back(static_cast<std::uint32_t>(each.integer(1, max_ranks)));
  }
  return runs;
}

YamlMapping shipped_kernels() {
  return load_yaml(shipped_file("exchange-kernels", "models/data"), "exchange-kernels")
      .mapping({"kernels", "other_generations"});
}

/// How near constants are to a GPU: 2 of itself, 1 of its generation, 0 of another.
int nearness(const ExchangeKernel& kernel, std::string_view gpu) {
  if (kernel.measured.gpu == gpu) return 2;
  return is_kin(gpu, kernel.measured.gpu) ? 1 : 0;
}

ExchangeKernel kernel_of(const YamlValue& value) {
  const YamlMapping keys = value.mapping(
      {"kernel",         "operation",    "blocks",           "launch",       "doubling_ranks",
       "doubling_hosts", "expert",       "first_byte",       "token",        "token_byte",
       "message",        "message_byte", "network_message",  "network_byte", "nvlink_share",
       "network_share",  "many_hosts",   "many_hosts_share", "fill",         "measured",
       "source"});
  ExchangeKernel kernel;
  kernel.family = value_at(keys, "kernel", families);
  kernel.operation = value_at(keys, "operation", expert_operations);
  kernel.blocks = value_at(keys, "blocks", block_rules);
  kernel.launch = keys.at("launch").time();
  kernel.doubling_ranks = keys.time_or("doubling_ranks", {});
  kernel.doubling_hosts = keys.time_or("doubling_hosts", {});
  kernel.expert = keys.time_or("expert", {});
  kernel.first_byte = keys.time_or("first_byte", {});
  kernel.token = keys.time_or("token", {});
  kernel.token_byte = keys.time_or("token_byte", {});
  kernel.message = keys.time_or("message", {});
  kernel.message_byte = keys.time_or("message_byte", {});
  kernel.network_message = keys.time_or("network_message", {});
  kernel.network_byte = keys.time_or("network_byte", {});
  kernel.nvlink_share = keys.fraction_or("nvlink_share", 1);
  kernel.network_share = keys.fraction_or("network_share", 1);
  if (const auto many = keys.find("many_hosts")) {
    constexpr std::int64_t max_hosts = 1 << 17;
    kernel.many_hosts = static_cast<std::uint32_t>(many->integer(2, max_hosts));
    kernel.many_hosts_share = keys.fraction_or("many_hosts_share", 1);
  }
  if (const auto fill = keys.find("fill")) kernel.fill = fill->share(largest_fill);
  kernel.measured = runs_of(keys.at("measured"));
  kernel.source = keys.at("source").string();
  return kernel;
}

}  // namespace

std::string_view to_string(KernelFamily family) {
  return word_for(family, families);
}

std::string_view to_string(ExpertOperation operation) {
  return word_for(operation, expert_operations);
}

std::vector<std::string> kernel_family_names() {
  std::vector<std::string> names;
  names.reserve(families.size());
  for (const auto& [family, name] : families) names.emplace_back(name);
  return names;
}

KernelFamily read_kernel_family(std::string_view name) {
  for (const auto& [family, word] : families) {
    if (word == name) return family;
  }
  throw InputError(fmt::format("--kernels: there is no '{}'", name),
                   names_instead_of(name, kernel_family_names()));
}

bool is_kin(std::string_view gpu, std::string_view other) {
  const auto here = known_compute_capability(gpu);
  const auto there = known_compute_capability(other);
  return here && there && are_of_one_generation(*here, *there);
}

ExchangeKernel exchange_kernel(KernelFamily family, ExpertOperation operation,
                               std::string_view gpu) {
  const YamlMapping file = shipped_kernels();
  std::vector<std::string> has;
  std::optional<ExchangeKernel> nearest;
  for (const YamlValue& value : file.at("kernels").sequence()) {
    ExchangeKernel kernel = kernel_of(value);
    if (kernel.family != family) continue;
    has.emplace_back(fmt::format("moe_{}", to_string(kernel.operation)));
    if (kernel.operation != operation) continue;
    if (!nearest || nearness(kernel, gpu) > nearness(*nearest, gpu)) nearest = std::move(kernel);
  }
  if (nearest) return *std::move(nearest);
  throw InputError(fmt::format("{} has no moe_{}", to_string(family), to_string(operation)),
                   fmt::format("{}", fmt::join(has, ", ")));
}

ErrorRange range_of_other_generations() {
  return read_error_range(shipped_kernels().at("other_generations"));
}

}  // namespace collsim
