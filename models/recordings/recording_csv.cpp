// The CSV of recordings/README.md: `# key: value` lines, a header, a line per case.

#include <fmt/format.h>

#include <algorithm>

#include "models/recordings/log_text.h"
#include "models/recordings/readers.h"

namespace collsim {

namespace {

/// Reads the lines of one file.
class CsvReader {
 public:
  explicit CsvReader(const TextFile& text) : position_{text.name, 0, 0} {
    for (const std::string_view line : split_lines(text.content)) {
      ++position_.line;
      read_line(line);
    }
    set_machines(machines_, text.name, recording_.rows);
  }

  Recording take() { return std::move(recording_); }

 private:
  void read_line(std::string_view line) {
    if (line.empty()) return;
    if (line.front() == '#') {
      read_fact(line.substr(1));
    } else if (header_.empty()) {
      for (const Word& name : split_fields(line, ',')) header_.emplace_back(name.text);
      for (const char* name : {"id", "ranks", "collective", "bytes", "time_us_mean_over_ranks"}) {
        if (column(name) == header_.size()) {
          throw InputError(position_, fmt::format("no column '{}'", name),
                           "a recordings CSV as recordings/README.md describes");
        }
      }
    } else {
      fields_ = split_fields(line, ',');
      if (fields_.size() != header_.size()) {
        throw InputError(position_, fmt::format("{} fields", fields_.size()),
                         fmt::format("{} fields, as in the header", header_.size()));
      }
      read_row();
    }
  }

  /// "nccl: 2.28.9", "env: NCCL_NVLS_ENABLE=0", "machine of net8x1-*: eight-hosts.yaml"
  void read_fact(std::string_view line) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string key(trimmed(line.substr(0, colon)));
    const std::string value(trimmed(line.substr(colon + 1)));
    constexpr std::string_view machine = "machine of ";
    if (key.starts_with(machine)) {
      machines_.push_back({key.substr(machine.size()), value});
    } else if (key == "env") {
      read_variables({value, 1}, variables_);
    } else if (key == "topology") {
      recording_.topology = value;
    } else {
      recording_.machine[key] = value;
    }
  }

  std::size_t column(std::string_view name) const {
    return static_cast<std::size_t>(std::find(header_.begin(), header_.end(), name) -
                                    header_.begin());
  }
  /// Empty where there is no such column.
  Word field(std::string_view name) const {
    const std::size_t index = column(name);
    return index == header_.size() ? Word{} : fields_[index];
  }

  [[noreturn]] void fail(const Word& word, const std::string& accepted) const {
    throw InputError({position_.file, position_.line, word.column},
                     fmt::format("'{}' is not a number", word.text), accepted);
  }
  std::int64_t whole(const Word& word, std::int64_t most) const {
    const auto number = whole_number(word.text);
    if (!number || *number > most) fail(word, fmt::format("a whole number from 0 to {}", most));
    return *number;
  }
  std::optional<Seconds> time(std::string_view name) const {
    const Word word = field(name);
    if (word.text.empty()) return std::nullopt;
    const auto number = decimal_number(word.text);
    if (!number) fail(word, "a time in microseconds, 0 or more");
    return microseconds(*number);
  }

  void read_variables(const Word& word, std::map<std::string, std::string>& variables) const {
    for (const Word& setting : split_words(word.text)) {
      const auto equals = setting.text.find('=');
      if (equals == std::string_view::npos) {
        throw InputError({position_.file, position_.line, word.column + setting.column - 1},
                         fmt::format("'{}'", setting.text), "NCCL variables as NAME=VALUE");
      }
      variables[std::string(setting.text.substr(0, equals))] = setting.text.substr(equals + 1);
    }
  }

  /// "4x2": nodes and GPUs of each.
  void read_shape(RecordedRow& row) const {
    const Word shape = field("nodes_x_gpus");
    if (shape.text.empty()) return;
    const auto nodes = whole_number(shape.text.substr(0, shape.text.find('x')));
    if (!nodes || *nodes < 1 || *nodes > row.ranks) fail(shape, "nodes x GPUs, as 4x2");
    row.nodes = static_cast<std::uint32_t>(*nodes);
  }

  void read_row() {
    constexpr std::int64_t max_ranks = 16384;
    constexpr std::int64_t max_iterations = 1'000'000'000;
    RecordedRow row;
    row.id = field("id").text;
    row.line = position_.line;
    row.collective_name = field("collective").text;
    row.collective = find_recorded_collective(row.collective_name);
    row.ranks = static_cast<Rank>(whole(field("ranks"), max_ranks));
    row.variables = variables_;
    read_variables(field("env"), row.variables);
    row.size.count = whole(field("bytes"), std::int64_t{1} << 50);
    if (!field("iterations").text.empty()) {
      row.iterations = static_cast<std::uint32_t>(whole(field("iterations"), max_iterations));
    }
    read_shape(row);
    row.nccl_estimate = time("nccl_own_estimate_us");
    if (row.nccl_estimate && row.nccl_estimate->value <= 0) row.nccl_estimate.reset();
    const auto plain = time("time_us_mean_over_ranks");
    if (!plain) fail(field("time_us_mean_over_ranks"), "a time in microseconds");
    set_time(row, field("time_us_mean_over_ranks").text, in_microseconds(*plain));
    recording_.rows.push_back(row);
    if (const auto graph = time("time_us_cuda_graph")) {
      row.mode = CallMode::graph;
      set_time(row, field("time_us_cuda_graph").text, in_microseconds(*graph));
      recording_.rows.push_back(row);
    }
  }

  SourcePosition position_;
  Recording recording_;
  std::vector<std::string> header_;
  std::vector<Word> fields_;
  std::map<std::string, std::string> variables_;  ///< of all rows
  std::vector<MachineOfRows> machines_;
};

const RecordingFormat csv_format(
    "a CSV of measured times",
    [](std::string_view text) {
      return first_line(text).starts_with("id,") ? FormatSign::inside : FormatSign::no;
    },
    [](const TextFile& text, std::size_t*) {
      return CsvReader({text.name, log_text(text.content)}).take();
    });

}  // namespace

}  // namespace collsim
