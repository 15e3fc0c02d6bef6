#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "sim/base/units.h"
#include "tools/collsim/core/format.h"

namespace collsim::command {

/// A row for programs: columns in order, each with its name and value. Names end in their unit
/// (`time_us`, `size_bytes`, `busbw_GBps`). A missing value is null. In CSV, values must be
/// scalars.
using Record = nlohmann::ordered_json;

/// A value as a field of CSV: quoted if necessary (RFC 4180, section 2), numbers to nine digits,
/// empty for null. A text that begins like a formula of a spreadsheet gets an apostrophe before it.
std::string csv_field(const Record& value);

/// The first line of such rows, with its line end; empty for JSON Lines. `format` is csv or jsonl.
std::string header_of(Format format, std::span<const std::string> columns);

/// The row as a line of csv or jsonl, with its line end. A text of several lines stays one line.
std::string line_of(Format format, const Record& row);

/// Writes rows as they come. CSV has one header line with the first row's columns, and one line per
/// row. JSON is one array with one object per row, JSON Lines an object per line. All rows have the
/// same columns.
class RecordWriter {
 public:
  /// `format` is csv, json or jsonl.
  RecordWriter(Format format, std::ostream& out) : format_(format), out_(out) {}

  /// Writes the header of rows like this one. It is for output that may have no rows.
  void begin(const Record& like);
  void add(const Record& row);
  /// Ends the output, after the last row.
  void finish();

 private:
  Format format_;
  std::ostream& out_;
  bool is_begun_ = false;
  bool any_row_ = false;
};

/// Microseconds, or null without a time.
Record microseconds_or_null(const std::optional<Seconds>& time);

}  // namespace collsim::command
