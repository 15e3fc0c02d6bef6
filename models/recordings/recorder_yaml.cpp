// `collsim: recording/1`, what collsim-recorder writes (docs/formats.md).

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/nccl/settings/function.h"
#include "models/recordings/readers.h"
#include "sim/base/words.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr std::int64_t max_ranks = 16384;
constexpr std::int64_t max_iterations = 1'000'000'000;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// The columns of a run, by what we read of them.
struct Columns {
  std::size_t collective, bytes, place, mode, algorithm, protocol, first_channel, last_channel,
      iterations, time, estimate, wrong;
  std::optional<std::size_t> kernel;  ///< recorders before registered buffers had none
  std::size_t count;
};

std::size_t find_column(const std::vector<std::string>& names, std::string_view name,
                        const YamlValue& columns) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    columns.fail(fmt::format("no column '{}'", name), "the columns that the recorder writes");
  }
  return static_cast<std::size_t>(found - names.begin());
}

Columns read_columns(const YamlValue& value) {
  std::vector<std::string> names;
  for (const YamlValue& name : value.sequence()) names.push_back(name.string());
  const auto find = [&](std::string_view name) { return find_column(names, name, value); };
  std::optional<std::size_t> kernel;
  if (std::find(names.begin(), names.end(), "kernel") != names.end()) kernel = find("kernel");
  return {find("collective"),
          find("bytes"),
          find("place"),
          find("mode"),
          find("algorithm"),
          find("protocol"),
          find("first_channel"),
          find("last_channel"),
          find("iterations"),
          find("time_us"),
          find("estimate_us"),
          find("wrong"),
          kernel,
          names.size()};
}

/// A decimal of 0 or more; nothing for `none`.
std::optional<double> number_or_none(const YamlValue& value) {
  const std::string text = value.string();
  if (text == "none") return std::nullopt;
  const auto number = decimal_number(text);
  if (!number) value.fail(fmt::format("'{}' is not a number", text), "a number of 0 or more");
  return number;
}

template <typename Kind>
std::optional<Kind> kind_or_none(const YamlValue& value,
                                 std::optional<Kind> (*find)(std::string_view),
                                 const std::string& accepted) {
  const std::string text = value.string();
  if (text == "none") return std::nullopt;
  const auto kind = find(text);
  if (!kind) value.fail(fmt::format("unknown '{}'", text), accepted);
  return kind;
}

bool either(const YamlValue& value, std::string_view no, std::string_view yes) {
  const std::string text = value.string();
  if (text != no && text != yes) {
    value.fail(fmt::format("unknown '{}'", text), fmt::format("{} or {}", no, yes));
  }
  return text == yes;
}

std::optional<NcclAlgorithm> find_algorithm(std::string_view name) {
  const auto ours = value_called(name, all_nccl_algorithms);
  return ours ? ours : find_nccl_algorithm(name);
}

void read_row(const YamlValue& value, const Columns& columns, RecordedRow& row) {
  const std::vector<YamlValue> fields = value.sequence();
  if (fields.size() != columns.count) {
    value.fail(fmt::format("{} fields", fields.size()),
               fmt::format("{}, as there are columns", columns.count));
  }
  row.line = value.position().line;
  row.collective_name = fields[columns.collective].string();
  row.collective = find_recorded_collective(row.collective_name);
  row.size.count = fields[columns.bytes].integer(0, largest);
  row.in_place = either(fields[columns.place], "out", "in");
  row.mode = either(fields[columns.mode], "plain", "graph") ? CallMode::graph : CallMode::plain;
  row.algorithm = kind_or_none<NcclAlgorithm>(fields[columns.algorithm], find_algorithm,
                                              "an algorithm of NCCL's, or none");
  row.protocol = kind_or_none<Protocol>(fields[columns.protocol], find_nccl_protocol,
                                        "ll, ll128, simple or none");
  const auto first = number_or_none(fields[columns.first_channel]);
  const auto last = number_or_none(fields[columns.last_channel]);
  constexpr double max_channels = 1024;
  if (first && last && (*last < *first || *last >= max_channels)) {
    fields[columns.last_channel].fail("the last channel comes before the first, or is out of range",
                                      "a channel's number, at least the first one's");
  }
  if (first && last) row.channels = static_cast<std::uint32_t>(*last - *first) + 1;
  row.iterations =
      static_cast<std::uint32_t>(fields[columns.iterations].integer(1, max_iterations));
  const auto time = number_or_none(fields[columns.time]);
  if (!time) fields[columns.time].fail("no time", "a time in microseconds");
  set_time(row, fields[columns.time].string(), *time);
  const auto estimate = number_or_none(fields[columns.estimate]);
  if (estimate && *estimate > 0) row.nccl_estimate = microseconds(*estimate);  // 0: NCCL had none
  row.wrong = fields[columns.wrong].integer(0, largest) != 0;
  row.symmetric_kernel = columns.kernel ? fields[*columns.kernel].string() : "none";
  if (row.symmetric_kernel == "none") row.symmetric_kernel.clear();
}

/// Machines that the file says its runs were made on.
std::vector<MachineOfRows> read_machines(const YamlMapping& root) {
  std::vector<MachineOfRows> machines;
  const auto list = root.find("machines");
  if (!list) return machines;
  for (const YamlValue& value : list->sequence()) {
    const YamlMapping machine = value.mapping({"runs", "topology"});
    machines.push_back({machine.at("runs").string(), machine.at("topology").string()});
  }
  return machines;
}

/// What the rows of a run have in common.
RecordedRow read_common(const YamlMapping& run) {
  RecordedRow row;
  row.id = run.at("run").string();
  row.ranks = static_cast<Rank>(run.at("ranks").integer(1, max_ranks));
  if (const auto hosts = run.find("hosts")) {
    const YamlMapping mapping =
        hosts->mapping({"count", "gpus", "rate", "burst", "slow", "uplink"});
    row.nodes = static_cast<std::uint32_t>(mapping.at("count").integer(1, max_ranks));
  }
  if (const auto buffers = run.find("buffers")) {
    row.user_registered = buffers->string() == "user_registered";
    row.registered = !row.user_registered && either(*buffers, "plain", "registered");
  }
  const YamlMapping environment = run.at("environment").free_mapping();
  for (const auto& [name, value] : environment.entries()) {
    const std::string variable = name.string();
    if (changes_what_nccl_does(variable)) row.variables[variable] = value.string();
  }
  return row;
}

Recording read_recorder_yaml(const TextFile& text, std::size_t*) {
  const YamlMapping root =
      read_yaml(text, "recording")
          .mapping({"machine", "machines", "type", "redop", "topology", "runs"});
  Recording recording;
  const YamlMapping machine = root.at("machine").free_mapping();
  for (const auto& [name, value] : machine.entries()) {
    recording.machine[name.string()] = value.string();
  }
  const std::string type = root.at("type").string();
  const std::string redop = root.at("redop").string();
  for (const YamlValue& value : root.at("runs").sequence()) {
    const YamlMapping run = value.mapping({"run", "recorded", "ranks", "gpus", "hosts", "buffers",
                                           "environment", "columns", "rows", "end"});
    RecordedRow row = read_common(run);
    row.type = type;
    row.redop = redop;
    const auto rows = run.find("rows");
    if (!rows || !rows->is_sequence()) continue;  // stopped before its first row
    const Columns columns = read_columns(run.at("columns"));
    for (const YamlValue& fields : rows->sequence()) {
      read_row(fields, columns, row);
      recording.rows.push_back(row);
      row.channels.reset();
      row.nccl_estimate.reset();
    }
  }
  set_machines(read_machines(root), text.name, recording.rows);
  return recording;
}

/// Of other files of ours it says that they are no recording.
const RecordingFormat recorder_format(
    "a recording of collsim-recorder's",
    [](std::string_view text) {
      const std::string_view line = first_line(text);
      if (line.starts_with("collsim: recording")) return FormatSign::mark;
      return line.starts_with("collsim:") ? FormatSign::any : FormatSign::no;
    },
    read_recorder_yaml);

}  // namespace

}  // namespace collsim
