#include "tools/collsim/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/base/json_text.h"
#include "tools/collsim/report/call_rows.h"

namespace collsim::command {

namespace {

bool is_plain_in_shell(char letter) {
  constexpr std::string_view others = "_@%+=:,./-";
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         others.find(letter) != std::string_view::npos;
}

std::string shell_word(const std::string& arg) {
  if (!arg.empty() && std::all_of(arg.begin(), arg.end(), is_plain_in_shell)) return arg;
  std::string word;
  for (const char letter : arg) {
    if (letter == '\'') {
      word += "'\\''";
    } else {
      word += letter;
    }
  }
  return fmt::format("'{}'", word);
}

}  // namespace

std::vector<ReportColumn> report_columns(std::span<const Column> columns) {
  std::vector<ReportColumn> all;
  for (const Column& column : columns) {
    std::string title(column.title);
    if (!column.unit.empty()) title += fmt::format(" {}", column.unit);
    all.push_back({std::string(column.key), title, column.digits});
  }
  return all;
}

std::string shown_text(const Record& value, const ReportColumn& column) {
  std::string exact = json_text(value);
  if (exact == "null") return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float() || column.scale != 1) {
    return fmt::format("{:.{}f}", value.get<double>() * column.scale, column.digits);
  }
  return exact;
}

bool is_of_numbers(const ReportTable& table, const ReportColumn& column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const Record& row) { return row.at(column.key).is_number(); });
}

std::string command_text(std::string_view subcommand, std::span<const std::string> args) {
  std::string text = fmt::format("collsim {}", subcommand);
  for (const std::string& arg : args) text += fmt::format(" {}", shell_word(arg));
  return text;
}

std::string joined_values(std::span<const Record> rows, const std::string& key) {
  std::vector<std::string> texts;
  for (const Record& row : rows) {
    const Record& value = row.at(key);
    const std::string text = value.is_null()     ? "-"
                             : value.is_string() ? value.get<std::string>()
                                                 : json_text(value);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void add_trust_and_version(Report& report, std::span<const TrustError> errors,
                           const std::set<Trust>& classes) {
  for (const Trust trust : classes) {
    const auto error = std::find_if(errors.begin(), errors.end(),
                                    [&](const TrustError& each) { return each.trust == trust; });
    report.facts.emplace_back(
        "trust", error == errors.end() ? std::string(to_string(trust)) : describe(*error));
  }
  report.facts.emplace_back("made by", fmt::format("collsim {}", COLLSIM_VERSION));
}

}  // namespace collsim::command
