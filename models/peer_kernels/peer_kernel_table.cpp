#include "models/peer_kernels/peer_kernel_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "models/machine/gpu_model.h"
#include "sim/base/data_directory.h"
#include "sim/base/root_of_squares.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr int max_capability = 999;
constexpr std::int64_t max_peers = 1024;
constexpr double max_share = 100;

int read_gpu(const YamlValue& value) {
  return static_cast<int>(value.integer(0, max_capability));
}

std::vector<Rank> read_ranks(const YamlValue& value) {
  std::vector<Rank> ranks;
  for (const YamlValue& each : value.sequence()) {
    ranks.push_back(static_cast<Rank>(each.integer(2, max_peers)));
  }
  return ranks;
}

std::vector<RecordedGpus> read_recorded(const YamlMapping& of) {
  std::vector<RecordedGpus> recorded;
  const auto list = of.find("recorded");
  if (!list) return recorded;
  for (const YamlValue& value : list->sequence()) {
    const YamlMapping keys = value.mapping({"gpu", "ranks"});
    recorded.push_back({keys.at("gpu").string(), read_ranks(keys.at("ranks"))});
  }
  return recorded;
}

PeerKernelCost read_cost(const YamlValue& value) {
  const YamlMapping keys =
      value.mapping({"kernels", "kernel", "gpu", "flags", "doubling", "wait", "peer_wait",
                     "port_share", "peer_share", "block_share", "uneven", "recorded"});
  return {.kernels = keys.at("kernels").string(),
          .kernel = keys.at("kernel").string(),
          .gpu = read_gpu(keys.at("gpu")),
          .flags = keys.at("flags").time(),
          .doubling = keys.at("doubling").time(),
          .wait = keys.time_or("wait", {}),
          .peer_wait = keys.time_or("peer_wait", {}),
          .port_share = keys.at("port_share").fraction(),
          .peer_share = keys.share_or("peer_share", max_share, 0),
          .block_share = keys.share_or("block_share", max_share, 0),
          .uneven = keys.time_or("uneven", {}),
          .recorded = read_recorded(keys)};
}

PeerKernelLaunch read_launch(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"kernels", "gpu", "calls", "gap", "copy"});
  return {.kernels = keys.at("kernels").string(),
          .gpu = read_gpu(keys.at("gpu")),
          .calls = keys.at("calls").share(max_share),
          .gap = keys.at("gap").time(),
          .copy = keys.at("copy").rate()};
}

HostCall read_host(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"gpu", "cpu", "call"});
  return {keys.string_or("gpu", ""), keys.string_or("cpu", ""), keys.at("call").time()};
}

ErrorClass read_errors(const YamlValue& value) {
  const YamlMapping keys = value.mapping({"trust", "graph", "machines", "rows", "ranges"});
  const std::string word = keys.at("trust").string();
  for (const Trust trust : {Trust::measured, Trust::derived, Trust::guessed}) {
    if (to_string(trust) != word) continue;
    constexpr std::int64_t many = 1'000'000;
    ErrorClass read{trust,
                    std::string(peer_medium(keys.at("graph").boolean())),
                    {},
                    static_cast<int>(keys.at("machines").integer(1, many)),
                    static_cast<int>(keys.at("rows").integer(1, many))};
    for (const YamlValue& range : keys.at("ranges").sequence()) {
      read.ranges.push_back(read_error_range(range));
    }
    read.max_hosts = 1;
    return read;
  }
  keys.at("trust").fail(fmt::format("there is no '{}'", word), "measured, derived or guessed");
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
  choice.ranks = read_ranks(keys.at("ranks"));
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
  const double peers = ranks - 1;
  const double of_a_peer = kernel.peer_share == 0 ? 0 : wire.value / peers / kernel.peer_share;
  return flag_time(kernel, ranks) +
         Seconds{root_of_squares(kernel.wait.value + peers * kernel.peer_wait.value,
                                 wire.value / kernel.port_share, of_a_peer)};
}

Seconds kernel_time(const PeerKernelCost& kernel, double ranks, Seconds wire, Seconds handled,
                    KernelBlocks blocks) {
  if (kernel.block_share == 0 || blocks.count == 0) return kernel_time(kernel, ranks, handled);
  const double of_blocks = handled.value / (blocks.count * kernel.block_share);
  return flag_time(kernel, ranks) + (blocks.even ? Seconds{} : kernel.uneven) +
         Seconds{root_of_squares(wire.value / kernel.port_share, of_blocks)};
}

PeerKernelTable load_peer_kernels() {
  const YamlMapping keys = load_yaml(shipped_file("peer-kernels", "models/data"), "peer-kernels")
                               .mapping({"costs", "launches", "hosts", "errors", "choices"});
  PeerKernelTable table;
  for (const YamlValue& cost : keys.at("costs").sequence()) table.costs.push_back(read_cost(cost));
  for (const YamlValue& launch : keys.at("launches").sequence()) {
    table.launches.push_back(read_launch(launch));
  }
  for (const YamlValue& host : keys.at("hosts").sequence()) table.hosts.push_back(read_host(host));
  for (const YamlValue& each : keys.at("errors").sequence()) {
    table.errors.push_back(read_errors(each));
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

const PeerKernelCost* find_cost(const PeerKernelTable& table,
                                const std::vector<std::string>& kernels, std::string_view kernel,
                                int gpu) {
  const PeerKernelCost* found = nullptr;
  for (const std::string& name : kernels) {
    const PeerKernelCost* const cost = nearest_cost(table, name, kernel, gpu);
    if (cost == nullptr) continue;
    if (cost->gpu == gpu) return cost;
    if (found == nullptr) found = cost;
  }
  if (found == nullptr && kernel == "multimem_one_shot") {
    return find_cost(table, kernels, "multimem_two_shot", gpu);
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

std::string common_gpu(const Topology& topology, const std::vector<DeviceId>& gpus) {
  const auto name = [&](DeviceId gpu) {
    const GpuModel* const known = find_gpu_model(topology.device(gpu).model);
    return known == nullptr ? std::string_view() : known->name;
  };
  const bool equal = std::all_of(gpus.begin(), gpus.end(),
                                 [&](DeviceId gpu) { return name(gpu) == name(gpus.front()); });
  return std::string(equal ? name(gpus.front()) : std::string_view());
}

Seconds host_call(const PeerKernelTable& table, std::string_view gpu, std::string_view cpu) {
  const auto fits = [&](const HostCall& host) {
    return (host.gpu.empty() || host.gpu == gpu) && cpu.find(host.cpu) != std::string_view::npos;
  };
  const auto found = std::find_if(table.hosts.begin(), table.hosts.end(), fits);
  return found == table.hosts.end() ? Seconds{} : found->call;
}

Trust trust_of(const PeerKernelCost& cost, std::string_view kernel, std::string_view gpu,
               Rank ranks) {
  const auto holds = [&](const RecordedGpus& recorded) {
    const auto& counts = recorded.ranks;
    return recorded.gpu == gpu && std::find(counts.begin(), counts.end(), ranks) != counts.end();
  };
  if (cost.kernel == kernel && std::any_of(cost.recorded.begin(), cost.recorded.end(), holds)) {
    return Trust::measured;
  }
  const auto capability = known_compute_capability(gpu);
  return capability && are_of_one_generation(*capability, cost.gpu) ? Trust::derived
                                                                    : Trust::guessed;
}

std::string describe_recorded(const PeerKernelCost& cost) {
  std::vector<std::string> texts;
  for (const RecordedGpus& recorded : cost.recorded) {
    texts.push_back(fmt::format("{} on {} ranks", recorded.gpu, fmt::join(recorded.ranks, ", ")));
  }
  if (texts.empty()) return "NCCL's own estimates";
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string_view peer_medium(bool graph) {
  return graph ? "peers' memory, in CUDA graphs" : "peers' memory, call by call";
}

}  // namespace collsim
