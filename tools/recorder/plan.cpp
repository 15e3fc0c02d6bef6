#include "tools/recorder/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "sim/plan/collective.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/recorder/rank_environment.h"
#include "tools/recorder/rank_group.h"

namespace collsim::recorder {

namespace {

/// One choice of something that is crossed with the rest: what it adds to a run.
struct Choice {
  std::string label;  ///< its part of the run's name; may be empty
  Environment environment;
};
using Choices = std::vector<Choice>;

/// Who takes part: so many ranks, maybe on several hosts.
struct Crew {
  std::string label;
  int ranks = 0;
  std::optional<Hosts> hosts;
};

constexpr std::string_view launch = "launch";
/// nccl-tests cuts the parts of ranks down to whole 16 bytes (src/all_gather.cu and others).
constexpr std::int64_t part_alignment = 16;

std::vector<YamlValue> one_or_more(const YamlValue& value) {
  std::vector<YamlValue> values = value.is_sequence() ? value.sequence() : std::vector{value};
  if (values.empty()) value.fail("an empty list", "one or more");
  return values;
}

std::int64_t bits_per_second(const YamlValue& value) {
  return std::llround(value.rate().value * 8);
}

std::string gigabits(std::int64_t rate) {
  return fmt::format("{:.6g}g", static_cast<double>(rate) * 1e-9);
}

Hosts read_hosts(const YamlValue& value) {
  const YamlMapping map = value.mapping({"count", "gpus", "rate", "burst", "slow", "uplink"});
  Hosts hosts;
  hosts.count = static_cast<int>(map.at("count").integer(2, max_ranks));
  hosts.gpus = static_cast<int>(map.at("gpus").integer(1, max_ranks / hosts.count));
  hosts.bits_per_second = bits_per_second(map.at("rate"));
  hosts.burst = map.at("burst").bytes().count;
  if (hosts.burst < 4096) map.at("burst").fail("a burst below one packet", "4 KiB or more");
  if (const auto slow = map.find("slow")) {
    const YamlMapping entries = slow->mapping({"host", "rate"});
    hosts.slow = SlowHost{static_cast<int>(entries.at("host").integer(0, hosts.count - 1)),
                          bits_per_second(entries.at("rate"))};
  }
  if (const auto uplink = map.find("uplink")) {
    hosts.uplink_bits_per_second = bits_per_second(*uplink);
  }
  return hosts;
}

Crew crew_of(const Hosts& hosts) {
  Crew crew{fmt::format("{}x{}-{}", hosts.count, hosts.gpus, gigabits(hosts.bits_per_second)),
            hosts.count * hosts.gpus, hosts};
  if (hosts.slow) {
    crew.label +=
        fmt::format("-slow{}-{}", hosts.slow->host, gigabits(hosts.slow->bits_per_second));
  }
  if (hosts.uplink_bits_per_second) {
    crew.label += "-uplink-" + gigabits(*hosts.uplink_bits_per_second);
  }
  return crew;
}

std::vector<Crew> read_crews(const YamlMapping& run) {
  const auto ranks = run.find("ranks");
  const auto hosts = run.find("hosts");
  if (ranks.has_value() == hosts.has_value()) {
    run.value().fail("a run needs one of ranks and hosts", "ranks: [2, 4], or hosts");
  }
  std::vector<Crew> crews;
  for (const YamlValue& value : one_or_more(ranks ? *ranks : *hosts)) {
    if (hosts) {
      crews.push_back(crew_of(read_hosts(value)));
    } else {
      const int count = static_cast<int>(value.integer(1, max_ranks));
      crews.push_back({std::to_string(count), count, std::nullopt});
    }
  }
  return crews;
}

/// One alternative per value; each sets `variables` to it.
Choices read_choices(const YamlMapping& run, std::string_view key,
                     std::initializer_list<const char*> variables, std::string_view prefix) {
  const auto values = run.find(key);
  if (!values) return {Choice{}};
  Choices choices;
  for (const YamlValue& value : one_or_more(*values)) {
    const std::string text = value.string();
    if (text.find_first_of(" \t\n\r") != std::string::npos || text.empty()) {
      value.fail("'" + text + "'", "a value without spaces, as NCCL's variable has it");
    }
    Choice& choice = choices.emplace_back();
    choice.label = std::string(prefix) + text;
    for (const char* variable : variables) choice.environment[variable] = text;
  }
  return choices;
}

void check_variable(const YamlValue& name, const YamlValue& value) {
  const std::string text = name.string();
  if (text.substr(0, 5) != "NCCL_" ||
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != std::string::npos) {
    name.fail("'" + text + "'", "the name of an NCCL variable, NCCL_...");
  }
  const std::string setting = value.string();
  if (setting.find_first_of(" \t\n\r") != std::string::npos) {
    value.fail("'" + setting + "'", "a value without spaces");
  }
}

Choices read_environments(const YamlMapping& run) {
  const auto values = run.find("environment");
  if (!values) return {Choice{}};
  Choices choices;
  for (const YamlValue& alternative : one_or_more(*values)) {
    Choice& choice = choices.emplace_back();
    const YamlMapping variables = alternative.free_mapping();
    for (const auto& [name, value] : variables.entries()) {
      check_variable(name, value);
      choice.environment[name.string()] = value.string();
      if (!choice.label.empty()) choice.label += ',';
      choice.label += name.string().substr(5) + '=' + value.string();
    }
  }
  return choices;
}

std::vector<std::int64_t> read_sizes(const YamlValue& value) {
  std::vector<std::int64_t> sizes;
  if (!value.is_mapping()) {
    for (const YamlValue& size : one_or_more(value)) sizes.push_back(size.bytes().count);
    return sizes;
  }
  const YamlMapping range = value.mapping({"from", "to", "factor"});
  const std::int64_t from = range.at("from").bytes().count;
  const std::int64_t to = range.at("to").bytes().count;
  const std::int64_t by = range.integer_or("factor", 2, 1 << 20, 2);
  if (from < 1 || to < from) value.fail("an empty range of sizes", "1 B <= from <= to");
  for (std::int64_t size = from; size <= to; size *= by) sizes.push_back(size);
  return sizes;
}

std::vector<std::string> read_collectives(const YamlValue& value) {
  std::vector<std::string> names;
  for (const YamlValue& entry : one_or_more(value)) {
    names.push_back(entry.string());
    const auto known = find_collective(names.back());
    if (names.back() != launch && (!known || *known == Collective::barrier)) {
      entry.fail("'" + names.back() + "'",
                 "all_reduce, all_gather, reduce_scatter, broadcast, reduce, send_recv, "
                 "all_to_all, gather, scatter or launch");
    }
  }
  return names;
}

/// The choices of two words that a list may have; `yes` for the second.
std::vector<bool> read_flags(const YamlMapping& run, std::string_view key, std::string_view no,
                             std::string_view yes) {
  const auto values = run.find(key);
  if (!values) return {false};
  std::vector<bool> flags;
  for (const YamlValue& value : one_or_more(*values)) {
    const std::string text = value.string();
    if (text != no && text != yes) value.fail("'" + text + "'", fmt::format("{} or {}", no, yes));
    flags.push_back(text == yes);
  }
  return flags;
}

std::vector<Buffers> read_buffers(const YamlMapping& run) {
  const auto values = run.find("buffers");
  if (!values) return {Buffers::plain};
  const std::map<std::string, Buffers> words{{"plain", Buffers::plain},
                                             {"registered", Buffers::registered},
                                             {"user_registered", Buffers::user_registered}};
  std::vector<Buffers> buffers;
  for (const YamlValue& value : one_or_more(*values)) {
    const auto known = words.find(value.string());
    if (known == words.end()) {
      value.fail("'" + value.string() + "'", "plain, registered or user_registered");
    }
    buffers.push_back(known->second);
  }
  return buffers;
}

/// The size that a call nearest below `bytes` really has; 0 when there is none.
std::int64_t real_size(const std::string& collective, std::int64_t bytes, int ranks) {
  if (collective == launch) return 0;
  const auto blocks = *find_collective(collective);
  const bool cut = blocks == Collective::all_gather || blocks == Collective::reduce_scatter ||
                   blocks == Collective::all_to_all || blocks == Collective::gather ||
                   blocks == Collective::scatter;
  constexpr std::int64_t element = sizeof(float);
  if (!cut) return bytes / element * element;
  return bytes / ranks / part_alignment * part_alignment * ranks;
}

/// nccl-tests has no in-place form of these whose result could be checked.
bool has_in_place(const std::string& collective) {
  return collective != "send_recv" && collective != "all_to_all" && collective != launch;
}

/// What the runs of one entry of the plan have in common.
struct Entry {
  std::string name;
  std::vector<Crew> crews;
  std::vector<Choices> crossed;
  std::vector<std::string> collectives;
  std::vector<std::int64_t> sizes;
  std::vector<bool> in_place;
  std::vector<Buffers> buffers;
  std::vector<bool> graph;
  Run settings;
};

std::vector<Case> cases_of(const Entry& entry, int ranks) {
  std::vector<Case> cases;
  std::set<Case> seen;
  // Graphs last: while one exists, NCCL launches plain calls in another way too.
  for (const bool graph : entry.graph) {
    for (const std::string& collective : entry.collectives) {
      for (const bool in_place : entry.in_place) {
        if (in_place && !has_in_place(collective)) continue;
        for (const std::int64_t size : entry.sizes) {
          const Case c{collective, real_size(collective, size, ranks), in_place, graph};
          if (c.bytes == 0 && collective != launch) continue;
          if (seen.insert(c).second) cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

int read_count(const YamlMapping& map, std::string_view key, int least, int otherwise) {
  return static_cast<int>(map.integer_or(key, least, 1'000'000, otherwise));
}

std::string read_name(const YamlValue& value) {
  std::string name = value.string();
  if (name.empty() || name.find_first_of(" \t\n\r/") != std::string::npos) {
    value.fail("'" + name + "'", "a name without spaces and slashes");
  }
  return name;
}

Entry read_entry(const YamlValue& value) {
  const YamlMapping map =
      value.mapping({"name", "ranks", "hosts", "collectives", "sizes", "places", "modes",
                     "algorithms", "protocols", "channels", "environment", "buffers", "allow_nvls",
                     "warmup", "iterations", "repeats", "case_time", "stall_time"});
  Entry entry;
  entry.name = read_name(map.at("name"));
  entry.crews = read_crews(map);
  entry.crossed = {
      read_choices(map, "algorithms", {"NCCL_ALGO"}, ""),
      read_choices(map, "protocols", {"NCCL_PROTO"}, ""),
      read_choices(map, "channels", {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"}, "ch"),
      read_environments(map)};
  entry.collectives = read_collectives(map.at("collectives"));
  entry.sizes = read_sizes(map.at("sizes"));
  entry.in_place = read_flags(map, "places", "out", "in");
  entry.graph = read_flags(map, "modes", "plain", "graph");
  entry.buffers = read_buffers(map);
  if (const auto allowed = map.find("allow_nvls")) entry.settings.allow_nvls = allowed->boolean();
  entry.settings.warmup = read_count(map, "warmup", 0, 5);
  entry.settings.iterations = read_count(map, "iterations", 1, 20);
  entry.settings.repeats = read_count(map, "repeats", 1, 10);
  entry.settings.case_seconds = map.time_or("case_time", Seconds{0.1}).value;
  entry.settings.stall_seconds = std::max(1.0, map.time_or("stall_time", Seconds{30}).value);
  return entry;
}

/// All combinations of one choice each, the last counting fastest.
Choices crossed(const std::vector<Choices>& dimensions) {
  Choices result{Choice{}};
  for (const Choices& choices : dimensions) {
    Choices longer;
    for (const Choice& before : result) {
      for (const Choice& choice : choices) {
        Choice both = before;
        if (!choice.label.empty()) both.label += '/' + choice.label;
        both.environment.insert(choice.environment.begin(), choice.environment.end());
        longer.push_back(std::move(both));
      }
    }
    result = std::move(longer);
  }
  return result;
}

Run run_of(const Entry& entry, const Crew& crew, const Choice& choice, Buffers buffers) {
  Run run = entry.settings;
  run.name = entry.name + '/' + crew.label + choice.label;
  if (buffers == Buffers::registered) run.name += "/registered";
  if (buffers == Buffers::user_registered) run.name += "/user_registered";
  run.buffers = buffers;
  run.ranks = crew.ranks;
  for (int gpu = 0; gpu < crew.ranks; ++gpu) run.gpus.push_back(gpu);
  run.hosts = crew.hosts;
  run.environment = choice.environment;
  run.cases = cases_of(entry, crew.ranks);
  return run;
}

}  // namespace

std::vector<Run> load_plan(const std::filesystem::path& path) {
  const YamlMapping root = load_yaml(path, "recording-plan").mapping({"runs"});
  std::vector<Run> runs;
  std::set<std::string> names;
  for (const YamlValue& value : root.at("runs").sequence()) {
    const Entry entry = read_entry(value);
    for (const Crew& crew : entry.crews) {
      for (const Choice& choice : crossed(entry.crossed)) {
        for (const Buffers buffers : entry.buffers) {
          runs.push_back(run_of(entry, crew, choice, buffers));
          check_nvls(runs.back());
          if (!names.insert(runs.back().name).second) {
            value.fail("a second run called " + runs.back().name, "another name");
          }
        }
      }
    }
  }
  return runs;
}

}  // namespace collsim::recorder
