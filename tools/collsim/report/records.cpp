#include "tools/collsim/report/records.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "sim/base/clean_text.h"
#include "sim/base/json_text.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

namespace {

std::string quoted_if_needed(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + "\"";
}

std::string header_line(const Record& row) {
  std::string line;
  for (const auto& item : row.items()) {
    if (!line.empty()) line += ',';
    line += quoted_if_needed(item.key());
  }
  return line;
}

std::string csv_line(const Record& row) {
  std::string line;
  const char* separator = "";
  for (const auto& item : row.items()) {
    line += separator + csv_field(item.value());
    separator = ",";
  }
  return line;
}

/// A text that a spreadsheet would take for a formula, marked as text by an apostrophe: an id of a
/// log may say what it likes.
std::string inert(std::string text) {
  constexpr std::string_view begins_formula = "=+-@\t\r";
  const bool is_formula =
      !text.empty() && begins_formula.find(text.front()) != std::string_view::npos;
  return is_formula ? "'" + text : text;
}

}  // namespace

std::string csv_field(const Record& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return quoted_if_needed(inert(clean_text(value.get<std::string>())));
  if (value.is_number_float()) return fmt::format("{:.9g}", value.get<double>());
  return json_text(value);
}

void RecordWriter::begin(const Record& like) {
  if (format_ != Format::csv || header_written_) return;
  fmt::print(out_, "{}\n", header_line(like));
  header_written_ = true;
}

void RecordWriter::add(const Record& row) {
  begin(row);
  if (format_ == Format::csv) {
    fmt::print(out_, "{}\n", csv_line(row));
  } else {
    fmt::print(out_, "{}  {}", any_row_ ? ",\n" : "[\n", json_text(row));
  }
  out_.flush();
  any_row_ = true;
}

void RecordWriter::finish() {
  if (format_ == Format::json) out_ << (any_row_ ? "\n]\n" : "[]\n");
}

void write_records(Format format, std::span<const Record> rows, std::ostream& out) {
  RecordWriter writer(format, out);
  for (const Record& row : rows) writer.add(row);
  writer.finish();
}

Record microseconds_or_null(const std::optional<Seconds>& time) {
  if (!time) return {};
  return in_microseconds(*time);
}

}  // namespace collsim::command
