#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/calibration/trust.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/row_table.h"

namespace collsim::command {

/// How the values of an axis are laid out.
enum class AxisScale : std::uint8_t {
  bytes,        ///< logarithmic, with ticks such as 64 KiB
  counts,       ///< logarithmic, with ticks at powers of two
  logarithmic,  ///< a person may switch to linear
  linear,       ///< from zero; a person may switch to logarithmic
  words,        ///< each value has a place of its own
};

struct ReportAxis {
  std::string label;
  AxisScale scale = AxisScale::linear;
  std::vector<std::string> words{};  ///< in their order; empty: in the order of the points
};

/// How a series is drawn.
enum class SeriesMark : std::uint8_t {
  line,     ///< a line with small marks
  dashes,   ///< a dashed line without marks
  dots,     ///< marks alone
  rings,    ///< around points of others, with a dotted line through them
  band,     ///< the area from `low` to `high`
  bars,     ///< from the left: x is a number and y a word; a whisker from `low` to `high`
  cells,    ///< of a map of words by words, as dark as `weight`, with `label`
  hatched,  ///< the same, hatched over what lies below
};

/// A point of a series. Every number of it is one of the report's rows.
struct ReportPoint {
  Record x{};
  Record y{};
  Record low{};         ///< null: none
  Record high{};        ///< null: none
  double weight = 1;    ///< from 0 to 1
  std::string label{};  ///< written at the point
  std::string text{};   ///< shown where the pointer is
};

/// The tone of what others are held against: grey.
inline constexpr int reference_tone = -1;

struct ReportSeries {
  std::string name;  ///< in the legend; empty: not there
  SeriesMark mark = SeriesMark::line;
  /// Which colour, shape and dashes; colours come back after the seventh.
  int tone = 0;
  bool quiet = false;  ///< thin and grey, behind the others
  std::vector<ReportPoint> points{};
};

struct ReportChart {
  std::string title;
  std::string note{};  ///< a sentence or two under the title
  ReportAxis x;
  ReportAxis y;
  std::vector<ReportSeries> series{};
  bool wide = false;  ///< takes a row of the page for itself
};

/// A column of a table: the values that the rows' records have under a key.
struct ReportColumn {
  std::string key;
  std::string title;
  int digits = 2;    ///< of numbers that are not whole
  double scale = 1;  ///< shown are values times this: 100 for shares in percent
};

struct ReportTable {
  std::string title;
  std::vector<ReportColumn> columns;
  std::vector<Record> rows;
};

/// Charts, under them sentences, under them tables.
struct ReportSection {
  std::string title{};  ///< may be empty
  std::vector<ReportChart> charts{};
  std::vector<std::string> texts{};
  std::vector<ReportTable> tables{};
};

/// A report that opens from disk in a browser: what was asked, by which command, and the answer.
struct Report {
  std::string title;
  std::string command;                                       ///< that made it
  std::vector<std::pair<std::string, std::string>> facts{};  ///< name and text
  std::vector<ReportSection> sections{};
};

/// The columns of a printed table as those of a page: all of them, with their units.
std::vector<ReportColumn> report_columns(std::span<const Column> columns);

/// A value of the column as people read it: "-" for null and for what is not finite, "yes" and
/// "no".
std::string shown_text(const Record& value, const ReportColumn& column);

/// Whether the column has a number in some row.
bool is_of_numbers(const ReportTable& table, const ReportColumn& column);

/// "collsim run -t hgx-h200 --env 'A=b c'": arguments as a shell reads them.
std::string command_text(std::string_view subcommand, std::span<const std::string> args);

/// The different texts under a key of the rows, in their order, joined by commas; "-" for null.
std::string joined_values(std::span<const Record> rows, const std::string& key);

/// Adds the facts that say how far to trust predictions of these classes, and collsim's version.
void add_trust_and_version(Report& report, std::span<const TrustError> errors,
                           const std::set<Trust>& classes);

}  // namespace collsim::command
