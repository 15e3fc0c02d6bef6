// `collsim: published-run/1`, what somebody else measured and published (docs/formats.md).

#include <fmt/format.h>

#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "models/nccl/settings/version.h"
#include "models/recordings/readers.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr std::int64_t max_ranks = 16384;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// A file's stem, which names its rows.
std::string id_of(const TextFile& text) {
  return std::filesystem::path(text.name).stem().string();
}

void read_source(const YamlValue& value, Recording& recording) {
  const YamlMapping source = value.mapping({"where", "url", "date"});
  recording.machine["source"] = source.at("where").string();
  for (const std::string_view key : std::array{"url", "date"}) {
    if (const auto text = source.find(key)) {
      recording.machine[std::string(key)] = text->string();
    }
  }
}

void read_machine(const YamlValue& value, Recording& recording) {
  const YamlMapping machine = value.mapping({"gpu", "gpus_per_node", "network", "nccl", "cuda"});
  for (const auto& [key, text] : machine.entries()) {
    recording.machine[key.string()] = text.string();
  }
}

/// Which machine of ours it is held against, or why none.
void read_topology(const YamlMapping& root, Recording& recording) {
  const auto topology = root.find("topology");
  const auto left_out = root.find("left_out");
  if (topology.has_value() == left_out.has_value()) {
    root.value().fail("which machine it is", "either `topology` or `left_out`, a reason");
  }
  if (topology) recording.topology = topology->string();
  if (left_out) recording.left_out = left_out->string();
  if (const auto rules = root.find("nccl_rules")) {
    recording.nccl_rules = parse_nccl_version(rules->string());
  }
}

/// NCCL's variables: those of the run, then what stands for them in a simulation.
std::map<std::string, std::string> read_variables(const YamlMapping& root) {
  std::map<std::string, std::string> variables;
  for (const std::string_view key : std::array{"environment", "simulated_environment"}) {
    const auto environment = root.find(key);
    if (!environment) continue;
    const YamlMapping mapping = environment->free_mapping();
    for (const auto& [name, value] : mapping.entries()) {
      const std::string variable = name.string();
      if (!variable.starts_with("NCCL_") || !changes_what_nccl_does(variable)) continue;
      variables[variable] = value.string();
      if (variables[variable] == "none") variables.erase(variable);
    }
  }
  return variables;
}

/// The variables that stand in the simulation for what the machine is like: the run itself set none
/// of them.
std::set<std::string> simulated_alone(const YamlMapping& root) {
  std::set<std::string> names;
  const auto simulated = root.find("simulated_environment");
  if (!simulated) return names;
  const auto own = root.find("environment");
  const YamlMapping mapping = simulated->free_mapping();
  for (const auto& [name, value] : mapping.entries()) {
    const bool is_of_run = own && own->free_mapping().find(name.string());
    if (!is_of_run) names.insert(name.string());
  }
  return names;
}

/// What all rows have in common.
RecordedRow read_common(const YamlMapping& root) {
  RecordedRow row;
  const YamlValue collective = root.at("collective");
  row.collective_name = collective.string();
  row.collective = find_recorded_collective(row.collective_name);
  if (!row.collective) collective.fail("no such collective", "a name of `collsim list`");
  row.nodes = static_cast<std::uint32_t>(root.at("nodes").integer(1, max_ranks));
  row.ranks = static_cast<Rank>(root.at("ranks").integer(1, max_ranks));
  if (const auto gpus = root.find("gpus_per_process")) {
    row.gpus_per_process = static_cast<std::uint32_t>(gpus->integer(1, max_ranks));
  }
  if (const auto iterations = root.find("iterations")) {
    row.iterations = static_cast<std::uint32_t>(iterations->integer(1, 1'000'000));
  }
  row.variables = read_variables(root);
  return row;
}

/// Adds the time in microseconds of one place; `none` adds nothing.
void add_time(const YamlValue& value, bool in_place, RecordedRow row, Recording& recording) {
  const std::string text = value.string();
  if (text == "none") return;
  const auto time = decimal_number(text);
  if (!time || *time <= 0)
    value.fail(fmt::format("'{}' is no time", text), "microseconds, or none");
  set_time(row, text, *time);
  row.in_place = in_place;
  recording.rows.push_back(std::move(row));
}

Recording read_published_run_yaml(const TextFile& text, std::size_t*) {
  const YamlMapping root =
      read_yaml(text, "published-run")
          .mapping({"source", "machine", "note", "topology", "left_out", "nccl_rules", "collective",
                    "nodes", "ranks", "gpus_per_process", "iterations", "environment",
                    "simulated_environment", "rows"});
  Recording recording;
  read_source(root.at("source"), recording);
  read_machine(root.at("machine"), recording);
  read_topology(root, recording);
  RecordedRow row = read_common(root);
  row.id = id_of(text);
  recording.simulated_variables = simulated_alone(root);
  for (const YamlValue& value : root.at("rows").sequence()) {
    const std::vector<YamlValue> fields = value.sequence();
    if (fields.size() != 3) {
      value.fail(fmt::format("{} fields", fields.size()),
                 "bytes, microseconds out of place, microseconds in place");
    }
    row.line = value.position().line;
    row.size.count = fields[0].integer(1, largest);
    add_time(fields[1], false, row, recording);
    add_time(fields[2], true, row, recording);
  }
  return recording;
}

const RecordingFormat published_format(
    "a published run",
    [](std::string_view text) {
      const bool says_so = first_line(text).starts_with("collsim: published-run");
      return says_so ? FormatSign::mark : FormatSign::no;
    },
    read_published_run_yaml);

}  // namespace

}  // namespace collsim
