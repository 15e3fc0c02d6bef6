#include "models/peer_kernels/peer_kernel_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr int max_capability = 999;
constexpr std::int64_t max_peers = 1024;

int read_gpu(const YamlValue& value) {
  return static_cast<int>(value.integer(0, max_capability));
}

PeerKernelCost read_cost(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"kernels", "kernel", "gpu", "flags", "doubling", "wait",
                                          "port_share", "block_share", "uneven"});
  const auto block_share = keys.find("block_share");
  const auto uneven = keys.find("uneven");
  return {.kernels = keys.at("kernels").string(),
          .kernel = keys.at("kernel").string(),
          .gpu = read_gpu(keys.at("gpu")),
          .flags = keys.at("flags").time(),
          .doubling = keys.at("doubling").time(),
          .wait = keys.at("wait").time(),
          .port_share = keys.at("port_share").fraction(),
          .block_share = block_share ? block_share->fraction() : 0,
          .uneven = uneven ? uneven->time() : Seconds{}};
}

PeerKernelLaunch read_launch(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"kernels", "gpu", "issue", "gap", "copy"});
  return {.kernels = keys.at("kernels").string(),
          .gpu = read_gpu(keys.at("gpu")),
          .issue = keys.at("issue").time(),
          .gap = keys.at("gap").time(),
          .copy = keys.at("copy").rate()};
}

PeerKernelStep read_step(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"kernels", "kernel", "below"});
  PeerKernelStep step{keys.at("kernels").string(), keys.at("kernel").string(), std::nullopt};
  if (const auto below = keys.find("below")) step.below = below->bytes();
  return step;
}

PeerKernelChoice read_choice(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"engine", "since", "gpus", "ranks", "runs"});
  PeerKernelChoice choice;
  choice.engine = keys.at("engine").string();
  choice.since = parse_release(keys.at("since").string());
  if (choice.since.empty()) keys.at("since").fail("no release", "numbers, such as \"0.19\"");
  for (const YamlValue& gpu : keys.at("gpus").sequence()) choice.gpus.push_back(read_gpu(gpu));
  for (const YamlValue& ranks : keys.at("ranks").sequence()) {
    choice.ranks.push_back(static_cast<Rank>(ranks.integer(2, max_peers)));
  }
  for (const YamlValue& step : keys.at("runs").sequence()) choice.runs.push_back(read_step(step));
  return choice;
}

bool is_released(const PeerKernelChoice& choice, const EngineRelease& engine) {
  return choice.engine == engine.engine &&
         (engine.release.empty() || choice.since <= engine.release);
}

/// How far the costs of one GPU are from another's: nothing for its own, less for an older
/// generation than for any newer one.
int distance(int of, int from) {
  return of <= from ? from - of : max_capability + of - from;
}

const PeerKernelCost* nearest_cost(const PeerKernelTable& table, std::string_view kernels,
                                   std::string_view kernel, int gpu) {
  const PeerKernelCost* nearest = nullptr;
  for (const PeerKernelCost& cost : table.costs) {
    if (cost.kernels != kernels || cost.kernel != kernel) continue;
    if (nearest == nullptr || distance(cost.gpu, gpu) < distance(nearest->gpu, gpu)) {
      nearest = &cost;
    }
  }
  return nearest;
}

}  // namespace

Seconds flag_time(const PeerKernelCost& kernel, double ranks) {
  return kernel.flags + std::log2(ranks) * kernel.doubling;
}

Seconds kernel_time(const PeerKernelCost& kernel, double ranks, Seconds wire) {
  return flag_time(kernel, ranks) +
         Seconds{std::hypot(kernel.wait.value, wire.value / kernel.port_share)};
}

Seconds kernel_time(const PeerKernelCost& kernel, double ranks, Seconds wire, Seconds handled,
                    KernelBlocks blocks) {
  if (kernel.block_share == 0 || blocks.count == 0) return kernel_time(kernel, ranks, handled);
  const double of_blocks = handled.value / (blocks.count * kernel.block_share);
  return flag_time(kernel, ranks) + (blocks.even ? Seconds{} : kernel.uneven) +
         Seconds{std::hypot(wire.value / kernel.port_share, of_blocks)};
}

PeerKernelTable load_peer_kernels() {
  const YamlMapping keys = load_yaml(shipped_file("peer-kernels", "models/data"), "peer-kernels")
                               .mapping({"costs", "launches", "choices"});
  PeerKernelTable table;
  for (const YamlValue& cost : keys.at("costs").sequence()) table.costs.push_back(read_cost(cost));
  for (const YamlValue& launch : keys.at("launches").sequence()) {
    table.launches.push_back(read_launch(launch));
  }
  for (const YamlValue& choice : keys.at("choices").sequence()) {
    table.choices.push_back(read_choice(choice));
  }
  return table;
}

std::vector<std::string> engines_of(const PeerKernelTable& table) {
  std::vector<std::string> engines;
  for (const PeerKernelChoice& choice : table.choices) {
    if (std::find(engines.begin(), engines.end(), choice.engine) == engines.end()) {
      engines.push_back(choice.engine);
    }
  }
  return engines;
}

const PeerKernelChoice* find_choice(const PeerKernelTable& table, const EngineRelease& engine,
                                    int gpu, Rank ranks) {
  const PeerKernelChoice* latest = nullptr;
  for (const PeerKernelChoice& choice : table.choices) {
    const bool fits =
        is_released(choice, engine) &&
        std::find(choice.gpus.begin(), choice.gpus.end(), gpu) != choice.gpus.end() &&
        std::find(choice.ranks.begin(), choice.ranks.end(), ranks) != choice.ranks.end();
    if (fits && (latest == nullptr || latest->since < choice.since)) latest = &choice;
  }
  return latest;
}

std::vector<std::string> kernels_of(const PeerKernelTable& table, const EngineRelease& engine) {
  std::vector<const PeerKernelChoice*> choices;
  for (const PeerKernelChoice& choice : table.choices) {
    if (is_released(choice, engine)) choices.push_back(&choice);
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const auto* a, const auto* b) { return b->since < a->since; });
  std::vector<std::string> kernels;
  const auto add = [&](const std::string& name) {
    if (std::find(kernels.begin(), kernels.end(), name) == kernels.end()) kernels.push_back(name);
  };
  for (const PeerKernelChoice* const choice : choices) {
    for (const PeerKernelStep& step : choice->runs) add(step.kernels);
  }
  add("pytorch");
  return kernels;
}

FoundCost find_cost(const PeerKernelTable& table, const std::vector<std::string>& kernels,
                    std::string_view kernel, int gpu) {
  FoundCost found;
  for (const std::string& name : kernels) {
    const PeerKernelCost* const cost = nearest_cost(table, name, kernel, gpu);
    if (cost == nullptr) continue;
    if (cost->gpu == gpu) return {cost, true};
    if (found.cost == nullptr) found.cost = cost;
  }
  if (found.cost == nullptr && kernel == "multimem_one_shot") {
    return {find_cost(table, kernels, "multimem_two_shot", gpu).cost, false};
  }
  return found;
}

const PeerKernelLaunch* find_launch(const PeerKernelTable& table, std::string_view kernels,
                                    int gpu) {
  const PeerKernelLaunch* nearest = nullptr;
  for (const PeerKernelLaunch& launch : table.launches) {
    if (launch.kernels != kernels) continue;
    if (nearest == nullptr || distance(launch.gpu, gpu) < distance(nearest->gpu, gpu)) {
      nearest = &launch;
    }
  }
  return nearest;
}

}  // namespace collsim
