#include "models/scenario/scenario.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "models/calibration/transport.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/topologies/cluster_name.h"
#include "sim/topologies/loader.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr std::int64_t max_channels = 64;  // NCCL's MAXCHANNELS since 2.25
constexpr std::int64_t max_ranks = gpu_limit;
constexpr std::int64_t max_seeds = 1'000'000'000;

std::filesystem::path read_file(const YamlValue& value, std::string_view folder,
                                const std::filesystem::path& base) {
  try {
    if (folder == "topologies") return find_machine(value.string(), base);
    return find_data_file(value.string(), folder, base);
  } catch (const InputError& error) {
    value.fail(error.what(), fmt::format("a path relative to this file, or the name of one of the "
                                         "shipped {}",
                                         folder));
  }
}

Calibration read_named_calibration(const YamlValue& value, const std::filesystem::path& base) {
  try {
    return named_calibration(value.string(), base);
  } catch (const InputError& error) {
    value.fail(
        error.what(),
        "a path relative to this file, or the name of a shipped calibration, such as h100 or "
        "h100+efa");
  }
}

Sizes read_sizes(const YamlValue& value) {
  const YamlMapping mapping = value.mapping({"from", "to", "factor"});
  Sizes sizes;
  if (const auto from = mapping.find("from")) sizes.from = from->bytes();
  if (const auto to = mapping.find("to")) sizes.to = to->bytes();
  if (sizes.to < sizes.from) {
    value.fail(fmt::format("sizes from {} to {}", to_string(sizes.from), to_string(sizes.to)),
               "'to' at least as large as 'from'");
  }
  if (const auto factor = mapping.find("factor")) {
    sizes.factor = static_cast<double>(factor->integer(2, 1024));
  }
  return sizes;
}

Protocol read_protocol(const YamlValue& value) {
  const std::string name = value.string();
  if (name == "ll") return Protocol::ll;
  if (name == "ll128") return Protocol::ll128;
  if (name == "simple") return Protocol::simple;
  value.fail(fmt::format("unknown protocol '{}'", name), "ll, ll128 or simple");
}

std::string read_algorithm(const YamlValue& value, Collective collective) {
  std::string name = value.string();
  try {
    static_cast<void>(why_unsupported(collective, name, uniform_placement(1)));
  } catch (const InputError& error) {
    value.fail(fmt::format("unknown algorithm '{}'", name), error.what());
  }
  return name;
}

/// NCCL's rules: the keys that are NCCL's to choose are not taken.
RunSpec read_nccl_run(const YamlValue& value) {
  const YamlMapping mapping = value.mapping({"schedule", "algorithm", "protocol", "nccl_version",
                                             "env", "in_place", "graph", "measured"});
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  if (const auto algorithm = mapping.find("algorithm")) {
    run.algorithm = algorithm->string();
    if (run.algorithm != "auto" && !find_nccl_run(run.algorithm)) {
      algorithm->fail(fmt::format("NCCL algorithm '{}'", run.algorithm),
                      "auto, ring, tree, nvls, nvls_tree, collnet_direct, collnet_chain or pat");
    }
  }
  if (const auto protocol = mapping.find("protocol")) run.protocol = read_protocol(*protocol);
  if (const auto version = mapping.find("nccl_version")) {
    try {
      run.nccl_version = parse_nccl_version(version->string());
    } catch (const InputError& error) {
      version->fail(error.what(), "a release such as \"2.28\"");
    }
  }
  if (const auto env = mapping.find("env")) {
    const YamlMapping variables = env->free_mapping();
    for (const auto& [name, setting] : variables.entries()) {
      run.variables[name.string()] = setting.string();
    }
  }
  if (const auto in_place = mapping.find("in_place")) run.in_place = in_place->boolean();
  return run;
}

/// Whose schedule a run means by its keys: what it says, or whose keys it uses. Else the machine
/// decides.
std::optional<ScheduleKind> schedule_meant(const YamlValue& value) {
  const YamlMapping keys = value.free_mapping();
  if (const auto schedule = keys.find("schedule")) {
    const std::string kind = schedule->string();
    if (kind == "textbook") return ScheduleKind::textbook;
    if (kind == "nccl") return ScheduleKind::nccl;
    schedule->fail(fmt::format("unknown schedule '{}'", kind), "textbook or nccl");
  }
  for (const char* key : {"channels", "largest_chunk", "slices", "smallest_slice", "credits",
                          "smallest_channel_share"}) {
    if (keys.find(key)) return ScheduleKind::textbook;
  }
  if (keys.find("env") || keys.find("nccl_version") || keys.find("in_place")) {
    return ScheduleKind::nccl;
  }
  return std::nullopt;
}

/// A run that uses no key of one schedule alone.
RunSpec read_open_run(const YamlValue& value, Collective collective) {
  const YamlMapping mapping =
      value.mapping({"schedule", "algorithm", "protocol", "measured", "nccl_version", "env",
                     "in_place", "graph", "channels", "largest_chunk", "slices", "smallest_slice",
                     "credits", "smallest_channel_share"});
  RunSpec run;
  if (const auto algorithm = mapping.find("algorithm")) {
    run.algorithm = algorithm->string();
    if (run.algorithm != "auto" && !find_nccl_run(run.algorithm)) {
      run.algorithm = read_algorithm(*algorithm, collective);
    }
  }
  if (const auto protocol = mapping.find("protocol")) run.protocol = read_protocol(*protocol);
  return run;
}

std::optional<MeasuredSource> read_measured(const YamlMapping& run,
                                            const std::filesystem::path& base) {
  const auto measured = run.find("measured");
  if (!measured) return std::nullopt;
  const YamlMapping source = measured->mapping({"file", "id"});
  return MeasuredSource{read_file(source.at("file"), "recordings", base), source.at("id").string()};
}

RunSpec read_textbook_run(const YamlValue& value, Collective collective) {
  const YamlMapping mapping =
      value.mapping({"schedule", "algorithm", "protocol", "channels", "largest_chunk", "slices",
                     "smallest_slice", "credits", "smallest_channel_share", "graph", "measured"});
  RunSpec run;
  run.schedule = ScheduleKind::textbook;
  if (const auto algorithm = mapping.find("algorithm")) {
    run.algorithm = read_algorithm(*algorithm, collective);
  }
  if (const auto protocol = mapping.find("protocol")) run.protocol = read_protocol(*protocol);
  if (const auto channels = mapping.find("channels")) {
    run.channels = static_cast<std::uint32_t>(channels->integer(1, max_channels));
  }
  // One key decides all: what is not said of the others is a textbook's.
  const auto chunking = [&run]() -> Chunking& {
    return run.chunking ? *run.chunking : run.chunking.emplace();
  };
  if (const auto chunk = mapping.find("largest_chunk")) {
    chunking().largest_chunk = chunk->bytes();
  }
  if (const auto slices = mapping.find("slices")) {
    chunking().slices = static_cast<std::uint32_t>(slices->integer(1, 64));
  }
  if (const auto smallest = mapping.find("smallest_slice")) {
    chunking().smallest_slice = smallest->bytes();
  }
  if (const auto credits = mapping.find("credits")) {
    chunking().credits = static_cast<std::uint32_t>(credits->integer(1, 1024));
  }
  const Chunking asked = run.chunking.value_or(Chunking{});
  if (asked.credits < 2 * asked.slices) {
    value.fail(fmt::format("{} credits for chunks of {} slices", asked.credits, asked.slices),
               "credits for two chunks at least, or rings would wait for themselves");
  }
  if (const auto share = mapping.find("smallest_channel_share")) {
    chunking().smallest_channel_share = share->bytes();
  }
  return run;
}

RunSpec read_run(const YamlValue& value, Collective collective, const std::filesystem::path& base) {
  const auto schedule = schedule_meant(value);
  RunSpec run = !schedule                         ? read_open_run(value, collective)
                : *schedule == ScheduleKind::nccl ? read_nccl_run(value)
                                                  : read_textbook_run(value, collective);
  if (const auto graph = value.free_mapping().find("graph")) run.graph = graph->boolean();
  run.measured = read_measured(value.free_mapping(), base);
  return run;
}

}  // namespace

std::vector<Bytes> expand(const Sizes& sizes, Bytes element) {
  std::vector<Bytes> expanded;
  auto size = static_cast<double>(sizes.from.count);
  while (size <= static_cast<double>(sizes.to.count)) {
    expanded.push_back((static_cast<std::int64_t>(size) / element.count) * element);
    if (size < 1 && sizes.step.count == 0) break;  // a multiple of nothing is nothing
    size =
        sizes.step.count > 0 ? size + static_cast<double>(sizes.step.count) : size * sizes.factor;
  }
  return expanded;
}

Scenario load_scenario(const std::filesystem::path& path) {
  const YamlValue root = load_yaml(path, "scenario");
  if (const auto sweep = root.free_mapping().find("sweep")) {
    sweep->fail("this scenario has a sweep",
                "run it by `collsim sweep`, or name a scenario without a sweep");
  }
  return read_scenario(root, path.parent_path());
}

std::span<const std::string_view> scenario_keys() {
  static constexpr std::array<std::string_view, 11> keys{
      "name",        "topology", "collective", "ranks", "ranks_per_node", "root", "sizes",
      "calibration", "runs",     "faults",     "seed"};
  return keys;
}

Scenario read_scenario(const YamlValue& file, const std::filesystem::path& base) {
  const YamlMapping root = file.mapping(scenario_keys());
  Scenario scenario;
  scenario.name = root.at("name").string();
  scenario.topology = read_file(root.at("topology"), "topologies", base);
  if (const auto collective = root.find("collective")) {
    const auto found = find_collective(collective->string());
    if (!found) {
      std::vector<std::string> names;
      for (const Collective known : all_collectives()) names.emplace_back(to_string(known));
      collective->fail(fmt::format("unknown collective '{}'", collective->string()),
                       names_instead_of(collective->string(), names));
    }
    scenario.collective = *found;
  }
  if (const auto ranks = root.find("ranks")) {
    scenario.ranks = static_cast<std::uint32_t>(ranks->integer(1, max_ranks));
  }
  if (const auto ranks = root.find("ranks_per_node")) {
    scenario.ranks_per_node = static_cast<std::uint32_t>(ranks->integer(1, max_ranks));
  }
  if (const auto rank = root.find("root")) {
    const std::int64_t last = scenario.ranks.value_or(max_ranks) - std::int64_t{1};
    scenario.root = static_cast<Rank>(rank->integer(0, last));
  }
  if (const auto sizes = root.find("sizes")) scenario.sizes = read_sizes(*sizes);
  if (const auto calibration = root.find("calibration")) {
    scenario.calibration = read_named_calibration(*calibration, base);
  }
  const YamlValue runs = root.at("runs");
  for (const YamlValue& run : runs.sequence()) {
    scenario.runs.push_back(read_run(run, scenario.collective, base));
  }
  if (const auto faults = root.find("faults")) {
    for (const YamlValue& fault : faults->sequence()) scenario.faults.push_back(read_fault(fault));
  }
  if (const auto seed = root.find("seed")) {
    scenario.seed = static_cast<std::uint64_t>(seed->integer(0, max_seeds));
  }
  if (scenario.runs.empty())
    runs.fail("the scenario has no runs", "at least one run, such as { algorithm: ring }");
  return scenario;
}

}  // namespace collsim
