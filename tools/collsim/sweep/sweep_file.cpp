#include "tools/collsim/sweep/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/json_text.h"

namespace collsim::command {

namespace {

std::string reason() {
  return std::generic_category().message(errno);
}

/// The fields of a line of CSV (RFC 4180, section 2), without their quotes, and whether each had
/// them.
struct Field {
  std::string text;
  bool quoted = false;
};

/// Reads one field from the front of the line.
Field take_field(std::string_view& line) {
  Field field;
  if (!line.starts_with('"')) {
    const std::size_t end = std::min(line.find(','), line.size());
    field.text = line.substr(0, end);
    line.remove_prefix(end);
    return field;
  }
  field.quoted = true;
  for (line.remove_prefix(1); !line.empty(); line.remove_prefix(1)) {
    if (line.front() == '"') {
      line.remove_prefix(1);
      if (!line.starts_with('"')) return field;
    }
    field.text += line.front();
  }
  return field;
}

/// A number where the field would be written so again; "2.30" is a text.
Record value_of(const Field& field) {
  if (field.quoted) return field.text;
  if (field.text.empty()) return {};
  Record number = Record::parse(field.text, nullptr, false);
  if (number.is_number() && csv_field(number) == field.text) return number;
  return field.text;
}

/// Whether a row has these columns and single values in them, as every row that is written does.
bool has_columns(const Record& row, std::span<const std::string> columns) {
  return row.size() == columns.size() &&
         std::all_of(columns.begin(), columns.end(), [&](const std::string& column) {
           const auto value = row.find(column);
           return value != row.end() && value->is_primitive();
         });
}

std::optional<Record> row_of_csv(std::string_view line, std::span<const std::string> columns) {
  Record row;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) {
      if (!line.starts_with(',')) return std::nullopt;
      line.remove_prefix(1);
    }
    row[columns[i]] = value_of(take_field(line));
  }
  if (!line.empty()) return std::nullopt;
  return row;
}

}  // namespace

std::optional<Record> row_of(Format format, std::string_view line,
                             std::span<const std::string> columns) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (format == Format::csv) return row_of_csv(line, columns);
  Record row = Record::parse(line, nullptr, false);
  if (!row.is_object()) return std::nullopt;
  return row;
}

SweepFile::SweepFile(std::filesystem::path path, Format format, std::vector<std::string> columns)
    : path_(std::move(path)), format_(format), columns_(std::move(columns)) {
  constexpr mode_t readable_by_all = 0644;
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, readable_by_all);
  if (descriptor_ < 0) {
    throw InputError(fmt::format("cannot write {}: {}", path_.string(), reason()),
                     "a file in a writable folder");
  }
  struct stat status {};
  keeps_rows_ = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!keeps_rows_) return;  // a pipe or a device, for as many as like
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor_);
    throw InputError(fmt::format("another process writes {}", path_.string()),
                     "one process for a file");
  }
}

SweepFile::~SweepFile() {
  close(descriptor_);
}

bool SweepFile::is_empty() const {
  struct stat status {};
  return !keeps_rows_ || (fstat(descriptor_, &status) == 0 && status.st_size == 0);
}

std::string SweepFile::content() const {
  std::string content;
  std::array<char, 1 << 16> buffer{};
  off_t offset = 0;
  while (true) {
    const ssize_t count = pread(descriptor_, buffer.data(), buffer.size(), offset);
    if (count < 0) {
      throw InputError(fmt::format("cannot read {}: {}", path_.string(), reason()), "a file");
    }
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    offset += count;
  }
}

void SweepFile::cut_to(std::size_t size) {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) == 0) return;
  throw InputError(fmt::format("cannot write {}: {}", path_.string(), reason()), "a file");
}

std::vector<Record> SweepFile::resume(const std::string& sweep) {
  if (!keeps_rows_) return {};
  const std::string text = content();
  const std::string header = header_of(format_, columns_);
  std::vector<Record> rows;
  std::size_t begin = 0;
  int number = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(text).substr(begin, end + 1 - begin);
    const SourcePosition place{path_.string(), ++number, 0};
    begin = end + 1;
    if (number == 1 && !header.empty()) {
      if (line == header) continue;
      throw InputError(place, "not the columns of this sweep",
                       "the file of the same sweep, or another -o FILE");
    }
    auto row = row_of(format_, line, columns_);
    if (!row || !has_columns(*row, columns_) || (*row)["row"] != rows.size()) {
      throw InputError(place, fmt::format("not row {} of a sweep", rows.size()),
                       "a file as `collsim sweep` left it, or another -o FILE");
    }
    const Record& made_by = (*row)["sweep"];
    if (made_by != sweep) {
      throw InputError(place,
                       fmt::format("the scenario, collsim or its options have changed since: sweep "
                                   "{}, now {}",
                                   csv_field(made_by), sweep),
                       "the scenario and options that the file was made with, or another -o FILE");
    }
    rows.push_back(std::move(*row));
  }
  if (begin < text.size()) cut_to(begin);
  return rows;
}

void SweepFile::begin() {
  if (is_empty()) append(header_of(format_, columns_));
}

void SweepFile::append(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t count = write(descriptor_, lines.data(), lines.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw InputError(fmt::format("cannot write {}: {}", path_.string(), reason()),
                       "room on the disk; --resume then goes on");
    }
    lines.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace collsim::command
