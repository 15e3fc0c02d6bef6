#include "tools/recorder/recording_file.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sim/base/input_error.h"

namespace collsim::recorder {

namespace {

constexpr std::string_view run_line = "  - run: ";
constexpr std::string_view row_line = "      - [";
constexpr std::string_view end_line = "    end: ";
constexpr std::string_view runs_line = "runs:\n";
constexpr std::string_view columns =
    "[collective, bytes, place, mode, algorithm, protocol, first_channel, last_channel, "
    "iterations, repeats, time_us, least_us, most_us, p99_us, slowest_rank_us, estimate_us, wrong, "
    "kernel]";

std::string written(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  return text.data();
}

std::string in_microseconds(double seconds) {
  return written(seconds * 1e6);
}

std::string bits_per_second(std::int64_t rate) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.9g Gb/s", static_cast<double>(rate) * 1e-9);
  return text.data();
}

/// What must be equal for rows to belong together. Not the topology: NCCL writes a hash of the boot
/// into it.
std::string facts_of(const Machine& machine) {
  std::ostringstream out;
  out << "collsim: recording/1\nmachine:\n";
  for (const auto& [name, value] : machine.facts) {
    out << "  " << name << ": " << yaml_quoted(value) << '\n';
  }
  out << "type: float\nredop: sum\n";
  return out.str();
}

std::string topology_of(const Machine& machine) {
  if (machine.topology.empty()) return {};
  std::ostringstream out;
  out << "topology:\n";
  std::istringstream lines(machine.topology);
  for (std::string line; std::getline(lines, line);) out << "  - " << yaml_quoted(line) << '\n';
  return out.str();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  gmtime_r(&now, &broken_down);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  return text.data();
}

std::string written(const Hosts& hosts) {
  std::ostringstream out;
  out << "    hosts: {count: " << hosts.count << ", gpus: " << hosts.gpus
      << ", rate: " << bits_per_second(hosts.bits_per_second) << ", burst: " << hosts.burst << " B";
  if (hosts.slow) {
    out << ", slow: {host: " << hosts.slow->host
        << ", rate: " << bits_per_second(hosts.slow->bits_per_second) << '}';
  }
  if (hosts.uplink_bits_per_second) {
    out << ", uplink: " << bits_per_second(*hosts.uplink_bits_per_second);
  }
  out << "}\n";
  return out.str();
}

std::string head_of(const Run& run, const std::map<std::string, std::string>& environment) {
  std::ostringstream out;
  out << run_line << yaml_quoted(run.name) << "\n    recorded: " << yaml_quoted(utc_now())
      << "\n    ranks: " << run.ranks << "\n    gpus: [";
  for (std::size_t i = 0; i < run.gpus.size(); ++i) out << (i > 0 ? ", " : "") << run.gpus[i];
  out << "]\n";
  if (run.hosts) out << written(*run.hosts);
  if (run.buffers == Buffers::registered) out << "    buffers: registered\n";
  if (run.buffers == Buffers::user_registered) out << "    buffers: user_registered\n";
  out << "    environment: {";
  bool first = true;
  for (const auto& [name, value] : environment) {
    out << (first ? "" : ", ") << name << ": " << yaml_quoted(value);
    first = false;
  }
  out << "}\n    columns: " << columns << '\n';
  return out.str();
}

std::string written(const std::optional<int>& channel) {
  return channel ? std::to_string(*channel) : "none";
}

std::string written(const Row& row) {
  const Case& c = row.measured;
  const NcclChoice choice = row.choice.value_or(NcclChoice{});
  std::ostringstream out;
  out << row_line << c.collective << ", " << c.bytes << ", " << (c.in_place ? "in" : "out") << ", "
      << (c.graph ? "graph" : "plain") << ", " << choice.algorithm << ", " << choice.protocol
      << ", " << written(choice.first_channel) << ", " << written(choice.last_channel) << ", "
      << row.iterations << ", " << row.repeats << ", " << in_microseconds(row.seconds.median)
      << ", " << in_microseconds(row.seconds.min) << ", " << in_microseconds(row.seconds.max)
      << ", " << in_microseconds(row.seconds.p99) << ", "
      << in_microseconds(row.slowest_rank_seconds) << ", "
      << (row.estimate_seconds ? in_microseconds(*row.estimate_seconds) : "none") << ", "
      << row.wrong << ", " << choice.kernel << "]\n";
  return out.str();
}

bool starts(const std::string& line, std::string_view with) {
  return line.compare(0, with.size(), with) == 0;
}

/// The case of a row that we wrote ourselves.
Case case_of(std::string line) {
  line.erase(0, row_line.size());
  for (char& c : line) {
    if (c == ',') c = ' ';
  }
  std::istringstream words(line);
  std::string place;
  std::string mode;
  Case c;
  words >> c.collective >> c.bytes >> place >> mode;
  c.in_place = place == "in";
  c.graph = mode == "graph";
  return c;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    // Control characters have no place in a name, a variable or an XML file's line.
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

RecordingFile::RecordingFile(std::filesystem::path path, const Machine& machine)
    : path_(std::move(path)) {
  const std::string text = content_of(path_);
  const std::string facts = facts_of(machine);
  if (!text.empty()) resume(text, facts);
  if (recorded_.empty()) {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file << facts << topology_of(machine) << runs_line << std::flush;
    if (!file) throw InputError({path_.string(), 0, 0}, "cannot be written", "a new file's name");
  }
}

void RecordingFile::resume(const std::string& text, const std::string& facts) {
  std::istringstream lines(text);
  std::string run;
  std::size_t read = 0;
  std::size_t whole = 0;
  for (std::string line; std::getline(lines, line);) {
    read += line.size() + 1;
    if (read > text.size()) break;  // no end of line: half-written
    if (starts(line, run_line)) run = line.substr(run_line.size());
    if (starts(line, row_line)) recorded_.emplace(run, case_of(line));
    if (starts(line, row_line) || starts(line, end_line)) whole = read;
  }
  if (recorded_.empty()) return;
  if (!starts(text, facts)) {
    throw InputError({path_.string(), 0, 0}, "holds rows of another machine or software",
                     "a new file's name");
  }
  std::filesystem::resize_file(path_, whole);
}

bool RecordingFile::has(const std::string& run, const Case& c) const {
  return recorded_.count({yaml_quoted(run), c}) > 0;
}

void RecordingFile::begin_run(const Run& run,
                              const std::map<std::string, std::string>& environment) {
  run_name_ = yaml_quoted(run.name);
  run_head_ = head_of(run, environment);
}

void RecordingFile::add(const Row& row) {
  append((run_head_.empty() ? "" : run_head_ + "    rows:\n") + written(row));
  run_head_.clear();
  recorded_.emplace(run_name_, row.measured);
}

void RecordingFile::end_run(const std::string& how) {
  append((run_head_.empty() ? "" : run_head_ + "    rows: []\n") + std::string(end_line) +
         yaml_quoted(how) + '\n');
  run_head_.clear();
}

void RecordingFile::append(const std::string& text) {
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  file << text << std::flush;
  if (!file) throw InputError({path_.string(), 0, 0}, "cannot be written", "space on its disk");
}

}  // namespace collsim::recorder
