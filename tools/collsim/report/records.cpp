#include "tools/collsim/report/records.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>
#include <vector>

#include "sim/base/clean_text.h"
#include "sim/base/json_text.h"

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

std::string header_of(Format format, std::span<const std::string> columns) {
  if (format == Format::jsonl) return {};
  std::vector<std::string> fields;
  for (const std::string& column : columns) fields.push_back(csv_field(column));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

std::string line_of(Format format, const Record& row) {
  if (format == Format::jsonl) return json_text(row) + "\n";
  std::vector<std::string> fields;
  for (const auto& item : row.items()) fields.push_back(csv_field(item.value()));
  std::string line = fmt::format("{}", fmt::join(fields, ","));
  for (char& letter : line) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return line + "\n";
}

void RecordWriter::begin(const Record& like) {
  if (format_ == Format::json || is_begun_) return;
  std::vector<std::string> columns;
  for (const auto& item : like.items()) columns.push_back(item.key());
  out_ << header_of(format_, columns);
  is_begun_ = true;
}

void RecordWriter::add(const Record& row) {
  begin(row);
  if (format_ == Format::json) {
    fmt::print(out_, "{}  {}", any_row_ ? ",\n" : "[\n", json_text(row));
  } else {
    out_ << line_of(format_, row);
  }
  out_.flush();
  any_row_ = true;
}

void RecordWriter::finish() {
  if (format_ == Format::json) out_ << (any_row_ ? "\n]\n" : "[]\n");
}

Record microseconds_or_null(const std::optional<Seconds>& time) {
  if (!time) return {};
  return in_microseconds(*time);
}

}  // namespace collsim::command
