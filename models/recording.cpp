#include "models/recording.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <set>
#include <vector>

#include "sim/input_error.h"

namespace collsim {

namespace {

std::vector<std::string_view> split_csv_line(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Where the columns that we read stand, by the header line.
struct Columns {
  std::size_t id, ranks, collective, bytes, time;
};

std::size_t find_column(const std::vector<std::string_view>& header, std::string_view name,
                        const SourcePosition& position) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  throw InputError(position, fmt::format("no column '{}'", name),
                   "a recordings CSV as recordings/README.md describes");
}

template <typename Number>
Number read_number(std::string_view field, const SourcePosition& position) {
  Number number{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc{} || end != field.data() + field.size() || !(number >= 0)) {
    throw InputError(position, fmt::format("'{}' is not a number", field), "a number of 0 or more");
  }
  return number;
}

}  // namespace

Recording load_recording(const std::filesystem::path& path, std::string_view id,
                         Collective collective, Rank ranks) {
  SourcePosition position{path.string(), 0, 0};
  std::ifstream file(path);
  if (!file) throw InputError(position, "cannot be read", "a recordings CSV");
  std::string line;
  std::getline(file, line);
  position.line = 1;
  const auto header = split_csv_line(line);
  const Columns columns{find_column(header, "id", position), find_column(header, "ranks", position),
                        find_column(header, "collective", position),
                        find_column(header, "bytes", position),
                        find_column(header, "time_us_mean_over_ranks", position)};
  const std::size_t width = header.size();

  Recording recording{std::string(id), {}};
  std::set<std::string, std::less<>> ids;
  while (std::getline(file, line)) {
    ++position.line;
    if (line.empty()) continue;
    const auto fields = split_csv_line(line);
    if (fields.size() < width) {
      throw InputError(position, fmt::format("{} fields", fields.size()),
                       fmt::format("{} fields, as in the header", width));
    }
    ids.emplace(fields[columns.id]);
    if (fields[columns.id] != id || fields[columns.collective] != to_string(collective) ||
        read_number<Rank>(fields[columns.ranks], position) != ranks) {
      continue;
    }
    const Bytes bytes{read_number<std::int64_t>(fields[columns.bytes], position)};
    recording.times[bytes] = microseconds(read_number<double>(fields[columns.time], position));
  }
  if (recording.times.empty()) {
    position.line = 0;
    throw InputError(
        position,
        fmt::format("no {} rows of id '{}' on {} ranks", to_string(collective), id, ranks),
        fmt::format("ids are {}", fmt::join(ids, ", ")));
  }
  return recording;
}

}  // namespace collsim
