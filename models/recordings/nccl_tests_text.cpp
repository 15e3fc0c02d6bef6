// What nccl-tests prints, of every version since 2.0: lines of `#` say how it ran and name the
// columns, which differ between versions and tests, so that they are found by name. Whatever else
// stands between the lines (launchers, NCCL's log) is passed over, save what it says of the run.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>

#include "models/recordings/listed_ranks.h"
#include "models/recordings/log_setting.h"
#include "models/recordings/log_text.h"
#include "models/recordings/named_rows.h"
#include "models/recordings/nccl_tests_table.h"
#include "models/recordings/readers.h"
#include "models/recordings/time_unit.h"

namespace collsim {

namespace {

constexpr std::array<std::string_view, 17> types{
    "int8",  "char",   "uint8",   "int32",   "int",     "uint32",   "int64",    "uint64", "half",
    "float", "double", "float16", "float32", "float64", "bfloat16", "fp8_e4m3", "f8e4m3"};

bool is_type(std::string_view word) {
  return std::find(types.begin(), types.end(), word) != types.end() || word == "f8e5m2" ||
         word == "fp8_e5m2";
}

/// Whether this is how a comment of nccl-tests goes on behind its '#'.
bool says_something(std::string_view text) {
  constexpr std::array<std::string_view, 10> beginnings{
      "nThread", "Using devices", "Rank ",   "Collective test",    "size ",
      "bytes ",  "(B) ",          "(bytes)", "nccl-tests version", "Out of bounds values"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

/// Where a row begins whose first word this is: launchers may print up to its first digit
/// ("[1,0]<stdout>:1024"). Nothing where it is no first word of a row.
std::optional<std::size_t> begin_of_row(const Word& word) {
  const auto last = word.text.find_last_not_of("0123456789");
  const auto begin = static_cast<std::size_t>(word.column) - 1;
  if (last == std::string_view::npos) return begin;
  const bool is_prefixed = std::string_view(":>|]").find(word.text[last]) != std::string_view::npos;
  if (!is_prefixed || last + 1 == word.text.size()) return std::nullopt;
  return begin + last + 1;
}

/// Where in a line begins what nccl-tests printed: a comment, or two numbers and a type. Before it
/// stands what launchers, schedulers and loggers put there: ranks, hosts, time stamps.
std::size_t begin_of_content(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] == '#') return 0;
  for (auto at = line.find('#'); at != std::string_view::npos;) {
    const auto text = line.find_first_not_of("# \t", at);
    if (text == std::string_view::npos) break;
    if (says_something(line.substr(text))) return at;
    at = line.find('#', text);
  }
  const auto words = split_words(line);
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (!is_type(words[i + 2].text) || !whole_number(words[i + 1].text)) continue;
    if (const auto begin = begin_of_row(words[i])) return *begin;
  }
  return 0;
}

class TextReader {
 public:
  TextReader(const TextFile& text, std::size_t* bad_rows)
      : position_{text.name, 0, 0}, bad_rows_(bad_rows) {
    file_benchmark_ = benchmark_name(text.name.substr(text.name.find_last_of('/') + 1));
    const auto lines = split_lines(text.content);
    for (const std::string_view line : lines) {
      ++position_.line;
      is_last_ = static_cast<std::size_t>(position_.line) == lines.size();
      const std::size_t prefix = begin_of_content(line);
      position_.column = static_cast<int>(prefix);
      read_line(line.substr(prefix));
    }
    finish_table();
    add_trailing_settings();
    if (recording_.rows.empty()) {
      throw InputError(SourcePosition{position_.file, 0, 0}, "no measured times are found",
                       "collsim's recording/1 or its CSV, or the text or JSON of nccl-tests");
    }
  }

  Recording take() { return std::move(recording_); }

 private:
  void read_line(std::string_view line) {
    const auto words = split_words(line);
    if (words.empty()) return;
    if (words.front().text.front() == '#') {
      read_comment(line, words);
    } else if (says_something(line.substr(line.find_first_not_of(" \t")))) {
      read_bare_comment(line);
    } else if (looks_like_row(words)) {
      if (!columns_) columns_ = guess_table_columns(words);
      if (columns_) read_or_pass_over_row({words, position_});
    } else {
      read_noise(line, words);
    }
  }

  /// A comment whose # was lost where it was pasted: Markdown makes a heading of it.
  void read_bare_comment(std::string_view line) {
    const std::string whole = "# " + std::string(line);
    position_.column -= 2;
    read_comment(whole, split_words(whole));
  }

  void read_comment(std::string_view line, const std::vector<Word>& words) {
    if (line.find("nThread") != std::string_view::npos) {
      begin_run();
      iterations_ = number_after(words, "iters:");
      const auto graph = number_after(words, "graph:");
      mode_ = graph && *graph > 0 ? CallMode::graph : CallMode::plain;
    } else if (line.find("Using devices") != std::string_view::npos) {
      begin_devices();
    } else if (line.find("Out of bounds values") != std::string_view::npos) {
      read_footer(words);
    } else if (line.find("nccl-library=") != std::string_view::npos) {
      read_library(words);
    } else if (is_rank(words)) {
      read_rank(line, words);
    } else if (const auto name = benchmark_name(line); !name.empty()) {
      finish_table();
      benchmark_ = name;  // "# Collective test starting: all_reduce_perf"
    } else {
      read_header(words);
    }
  }

  // "# nThread 1 nGpus 8 ...", the first line of a run.
  void begin_run() {
    finish_table();
    settings_.begin_run();
    begin_devices();
    run_begin_ = last_run_ = recording_.rows.size();
  }

  /// A list that no table follows before the next one is of a run beside it.
  void begin_devices() {
    if (!columns_) return;
    finish_table();
    columns_.reset();
    listed_ = {};
  }

  // "# Out of bounds values : 2 FAILED", of all rows since the run began.
  void read_footer(const std::vector<Word>& words) {
    const std::span rows = std::span(recording_.rows).subspan(run_begin_);
    const bool failed = std::any_of(words.begin(), words.end(),
                                    [](const Word& word) { return word.text == "FAILED"; });
    const bool is_said =
        std::any_of(rows.begin(), rows.end(), [](const RecordedRow& row) { return row.wrong; });
    if (failed && !is_said) {
      for (RecordedRow& row : rows) row.wrong = true;  // which of them, nobody knows
    }
    run_begin_ = recording_.rows.size();
  }

  /// The last number after that word: "iters:" comes after "warmup iters:".
  static std::optional<std::uint32_t> number_after(const std::vector<Word>& words,
                                                   std::string_view name) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const bool other = words[i - 1].text == "warmup" || words[i - 1].text == "agg";
      if (words[i].text != name || other) continue;
      const auto number = whole_number(words[i + 1].text);
      if (number && *number < std::int64_t{1} << 31) return static_cast<std::uint32_t>(*number);
    }
    return std::nullopt;
  }

  // "# nccl-tests version 2.17.4 nccl-headers=22807 nccl-library=22807": 2.28.7.
  void read_library(const std::vector<Word>& words) {
    constexpr std::string_view name = "nccl-library=";
    for (const Word& word : words) {
      if (!word.text.starts_with(name)) continue;
      if (const auto code = whole_number(word.text.substr(name.size()))) {
        recording_.machine["nccl"] =
            fmt::format("{}.{}.{}", *code / 10000, *code / 100 % 100, *code % 100);
      }
    }
  }

  // "#  Rank  0 Group  0 Pid  1234 on  host-1 device  0 [0x07] NVIDIA H200"
  static bool is_rank(const std::vector<Word>& words) {
    return words.size() > 3 && words[1].text == "Rank" && whole_number(words[2].text);
  }
  void read_rank(std::string_view line, const std::vector<Word>& words) {
    if (columns_) begin_devices();
    std::string_view host;
    std::int64_t group = 0;
    for (std::size_t i = 3; i + 1 < words.size(); ++i) {
      if (words[i].text == "on") host = words[i + 1].text;
      if (words[i].text == "Group") group = whole_number(words[i + 1].text).value_or(0);
    }
    listed_.add(*whole_number(words[2].text), group, host);
    if (!host.empty()) recording_.hosts.emplace(host);
    const auto bracket = line.rfind("] ");
    if (bracket == std::string_view::npos) return;
    const std::string_view gpu = line.substr(bracket + 2);
    const auto last = gpu.find_last_not_of(' ');
    if (last != std::string_view::npos) recording_.machine["gpu"] = gpu.substr(0, last + 1);
  }

  void read_header(const std::vector<Word>& words) {
    std::vector<std::string_view> names;
    names.reserve(words.size());
    for (const Word& word : words) names.push_back(word.text);
    if (names.front() == "#") {
      names.erase(names.begin());
    } else {
      names.front().remove_prefix(1);
    }
    if (names.empty()) return;
    if (columns_ && (names.front() == "(B)" || names.front() == "(bytes)")) {
      for (const std::string_view name : names) {
        if (name == "(us)") header_unit_ = 1;
        if (name == "(ms)") header_unit_ = 1000;
      }
      return;
    }
    if (names.front() != "size" && names.front() != "bytes") return;
    if (std::find(names.begin(), names.end(), "cputime") != names.end()) {
      throw InputError({position_.file, position_.line, 0}, "a table of the CPU's times (-C 1)",
                       "nccl-tests' wall times, without -C");
    }
    finish_table();
    columns_ = find_table_columns(names);
    // The oldest release names no units, and prints milliseconds.
    header_unit_ = names.front() == "bytes" ? 1000 : 1;
  }

  static bool looks_like_row(const std::vector<Word>& words) {
    return words.size() >= 3 && whole_number(words[0].text) && whole_number(words[1].text) &&
           is_type(words[2].text);
  }

  void read_or_pass_over_row(const TableRow& row) {
    const std::size_t rows = recording_.rows.size();
    try {
      read_row(row);
    } catch (const InputError&) {
      if (bad_rows_ == nullptr) throw;
      recording_.rows.resize(rows);
      ++*bad_rows_;
    }
  }

  void read_row(const TableRow& printed) {
    // The run was stopped while it printed.
    if (is_last_ && printed.size() < columns_->min_count()) return;
    printed.at(columns_->min_count() - 1);
    RecordedRow row;
    row.line = position_.line;
    row.nodes = listed_.nodes();
    row.ranks = listed_.ranks();
    row.variables = settings_.variables();
    row.size.count = *whole_number(printed.at(0).text);
    row.type = printed.at(2).text;
    const Word* const redop = printed.find(columns_->redop);
    row.redop = redop == nullptr ? "none" : redop->text;
    if (const Word* const word = printed.find(columns_->root)) {
      const auto root = whole_number(word->text);  // -1 where there is none
      signs_.rooted = root.has_value();
      row.root = rank_of(root.value_or(0));
    }
    row.mode = mode_;
    row.iterations = iterations_;
    for (std::size_t place = 0; place < columns_->time.size(); ++place) {
      if (!columns_->time[place]) continue;
      row.in_place = place == 1;
      add(row, printed);
    }
    settings_.end_of_row();
  }

  void add(RecordedRow row, const TableRow& printed) {
    const std::size_t place = row.in_place ? 1 : 0;
    const std::size_t column = *columns_->time[place];
    const Word& word = printed.at(column);
    if (word.text == "N/A") return;
    const auto time = decimal_number(word.text);
    if (!time)
      printed.fail(word, fmt::format("'{}' is not a time", word.text), "a number of 0 or more");
    const Word& rate = printed.at(column + 1);
    check_unit({row.size, row.ranks, word.text, rate.text}, word, printed);
    set_time(row, word.text, *time);  // or milliseconds, which finish_table() knows
    const ResultCheck check = result_check(*columns_, printed, place);
    row.wrong = check == ResultCheck::wrong;
    is_timed_[place] = true;
    if (check != ResultCheck::unchecked) is_checked_[place] = true;
    narrow(signs_.factor, rate.text, printed.at(column + 2).text);
    recording_.rows.push_back(std::move(row));
  }

  /// A row tells in which unit its table is where its figures are not too small.
  void check_unit(const PrintedTime& printed, const Word& word, const TableRow& row) {
    const TimeUnits units = units_that_fit(printed);
    if (!units.microseconds && !units.milliseconds) {
      row.fail(word, describe_misfit(printed), "rows whose size / time is their algbw");
    }
    if (units.microseconds && units.milliseconds) return;
    const double unit = units.microseconds ? 1 : 1000;
    if (to_microseconds_ && *to_microseconds_ != unit) {
      row.fail(
          word, describe_misfit(printed),
          fmt::format("{}, as in the rows above", unit == 1 ? "milliseconds" : "microseconds"));
    }
    to_microseconds_ = unit;
  }

  /// Names the rows of the table that ends here, and makes microseconds of their times.
  void finish_table() {
    const double unit = to_microseconds_.value_or(header_unit_);
    for (std::size_t i = table_begin_; i < recording_.rows.size(); ++i) {
      recording_.rows[i].time.value *= unit;
      recording_.rows[i].half_digit.value *= unit;
    }
    to_microseconds_.reset();
    if (table_begin_ < recording_.rows.size()) {
      name_rows_of_table(std::span(recording_.rows).subspan(table_begin_));
    }
    table_begin_ = recording_.rows.size();
    signs_ = {};
    is_checked_ = {};
    is_timed_ = {};
  }

  void name_rows_of_table(std::span<RecordedRow> table) {
    const std::string name = benchmark_.empty() ? file_benchmark_ : benchmark_;
    signs_.reduces = table.back().redop != "none";
    signs_.checks_in_place = is_checked_[1] || !is_checked_[0] || !is_timed_[1];
    for (RecordedRow& row : table) {
      row.collective_name = name;
      row.collective = find_recorded_collective(name);
      row.signs = signs_;
    }
    for (const std::string& note : name_table(table, {})) add_note(note);
    if (listed_.runs() > 1) add_note(several_runs(listed_.runs(), listed_.ranks()));
    if (listed_.groups() > 1) add_note(several_groups(listed_.groups(), listed_.ranks()));
    if (name == uneven_exchange) add_note(std::string(note_of_uneven_exchange));
    if (listed_.empty()) recording_.names_hosts = false;
    const std::string& found = table.front().collective_name;
    const std::string id = fmt::format("{}#{}", found.empty() ? "table" : found, ++tables_);
    for (RecordedRow& row : table) row.id = id;
  }

  void add_note(const std::string& note) {
    std::vector<std::string>& notes = recording_.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }

  /// What was printed after the last row belongs to the last run.
  void add_trailing_settings() {
    for (std::size_t i = last_run_; i < recording_.rows.size(); ++i) {
      const auto& settings = settings_.trailing();
      recording_.rows[i].variables.insert(settings.begin(), settings.end());
    }
  }

  // A command line, "NCCL version 2.28.9+cuda13.0", "NCCL INFO NCCL_ALGO set by environment to
  // Ring."
  void read_noise(std::string_view line, const std::vector<Word>& words) {
    if (const auto name = benchmark_name(line); !name.empty()) {
      finish_table();
      benchmark_ = name;
      if (columns_) listed_ = {};
      columns_.reset();
      settings_.begin_command(line);
      return;
    }
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (words[i].text == "NCCL" && words[i + 1].text == "version") {
        const std::string_view version = words[i + 2].text;
        recording_.machine["nccl"] = version.substr(0, version.find('+'));
      }
    }
    for (const LogSetting& setting : settings_in(line)) settings_.add(setting);
  }

  SourcePosition position_;  ///< its column is what a launcher put before the line
  std::size_t* bad_rows_;    ///< null: they are refused
  bool is_last_ = false;
  Recording recording_;
  std::string file_benchmark_;  ///< that the file is named after
  std::string benchmark_;       ///< that the file said last
  RunSettings settings_;
  std::optional<std::uint32_t> iterations_;
  CallMode mode_ = CallMode::plain;
  ListedRanks listed_;
  std::optional<TableColumns> columns_;
  double header_unit_ = 1;                 ///< microseconds, by the table's header
  std::optional<double> to_microseconds_;  ///< by the table's rows
  std::size_t run_begin_ = 0;              ///< of the rows, since the last footer
  std::size_t last_run_ = 0;               ///< where the rows of the last run begin
  std::size_t table_begin_ = 0;
  int tables_ = 0;
  TableSigns signs_;                  ///< of the table
  std::array<bool, 2> is_timed_{};    ///< whether it has times out of place and in place
  std::array<bool, 2> is_checked_{};  ///< whether its results were, likewise
};

/// Whatever is nothing else may have a table somewhere.
const RecordingFormat nccl_tests_text_format(
    "the output of nccl-tests",
    [](std::string_view text) {
      const bool is_other = begins_with_object(text) || first_line(text).starts_with("collsim:");
      return is_other ? FormatSign::no : FormatSign::any;
    },
    [](const TextFile& text, std::size_t* bad_rows) {
      return TextReader({text.name, log_text(text.content)}, bad_rows).take();
    });

}  // namespace

}  // namespace collsim
