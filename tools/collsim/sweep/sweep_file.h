#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/report/records.h"

namespace collsim::command {

/// The row that a line of csv or jsonl says: numbers of CSV as they stand there, empty fields as
/// null. Nothing for a line that is none.
std::optional<Record> row_of(Format format, std::string_view line,
                             std::span<const std::string> columns);

/// A file that rows are appended to, and that a killed program leaves as a beginning of itself: all
/// but the last line are whole. Other processes that would write it are refused.
class SweepFile {
 public:
  /// Opens or makes it. Throws InputError where it cannot be written, or another process writes it.
  SweepFile(std::filesystem::path path, Format format, std::vector<std::string> columns);
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;

  /// Whether rows stay in it: not in a pipe or a device, which is only written.
  bool keeps_rows() const { return keeps_rows_; }
  bool is_empty() const;
  /// The whole rows that are there, which must be rows 0, 1, ... of the sweep. What follows the
  /// last of them, a part of a line, is cut off. Throws InputError, with the line, where they are
  /// not.
  std::vector<Record> resume(const std::string& sweep);
  /// Writes the header, if there is one and the file is empty.
  void begin();
  /// Appends whole lines in one write. Throws InputError where that fails.
  void append(std::string_view lines);

 private:
  std::string content() const;
  void cut_to(std::size_t size);

  std::filesystem::path path_;
  Format format_;
  std::vector<std::string> columns_;
  int descriptor_ = -1;
  bool keeps_rows_ = true;
};

}  // namespace collsim::command
