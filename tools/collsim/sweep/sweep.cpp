#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "models/calibration/calibration_choice.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/base/parallel.h"
#include "sim/base/processes.h"
#include "sim/base/text.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/interruption.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/table.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/engine_name.h"
#include "tools/collsim/request/subject.h"
#include "tools/collsim/sweep/row_selection.h"
#include "tools/collsim/sweep/sweep_dealer.h"
#include "tools/collsim/sweep/sweep_file.h"
#include "tools/collsim/sweep/sweep_page.h"
#include "tools/collsim/sweep/sweep_processes.h"
#include "tools/collsim/sweep/sweep_rows.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// What is asked for, besides the scenario.
struct SweepOrder {
  std::filesystem::path scenario;
  std::optional<std::filesystem::path> file;
  Format format = Format::table;
  bool resume = false;
  EngineName engine_name = EngineName::native;
  bool exact = false;
  std::uint32_t threads = 1;
  std::string best_by;
  std::vector<std::string> pareto;
  std::string command;  ///< as it was asked
};

SweepOrder read_order(const po::variables_map& values, std::span<const std::string> args,
                      bool under_mpirun) {
  SweepOrder order;
  const Subject subject = find_subject(values["scenario"].as<std::string>());
  if (subject.is_machine) {
    throw InputError(fmt::format("'{}' is a machine", values["scenario"].as<std::string>()),
                     "a scenario with a sweep");
  }
  order.scenario = subject.file;
  if (values.count("output") != 0) order.file = values["output"].as<OutputFile>().name;
  order.format = format_option(values);
  order.command = command_text("sweep", args);
  order.resume = values["resume"].as<bool>();
  order.engine_name = values["engine"].as<EngineName>();
  order.exact = values["exact"].as<bool>();
  require_heeded(
      values,
      {{"exact", order.engine_name != EngineName::analytic, "an engine that simulates"},
       {"threads", order.engine_name != EngineName::simgrid, "an engine that runs on several"}});
  order.threads = thread_count(values, under_mpirun ? 1 : processors());
  // SimGrid has one simulation a process.
  if (order.engine_name == EngineName::simgrid) order.threads = 1;
  if (values.count("best-by") != 0) order.best_by = values["best-by"].as<std::string>();
  if (values.count("pareto") != 0) order.pareto = split(values["pareto"].as<std::string>(), ',');
  return order;
}

Format format_of(const std::filesystem::path& file) {
  return file.extension() == ".jsonl" ? Format::jsonl : Format::csv;
}

/// What is printed: rows as they come, or at the end those that are chosen among them, or a page.
class SweepPrinter {
 public:
  SweepPrinter(const Sweep& sweep, const SweepOrder& order, std::ostream& out)
      : sweep_(sweep),
        order_(order),
        columns_(sweep_columns(sweep)),
        out_(out),
        writer_(order.format, out) {
    page_.command = order.command;
    if (!order.best_by.empty()) {
      page_.best_by = find_column("best-by", order.best_by, columns_);
      fastest_.emplace(page_.best_by);
    }
    for (const char* key : {"size_bytes", "time_us", "busbw_GBps"}) show(key);
    if (!order.pareto.empty()) {
      std::vector<std::string> named;
      for (const std::string& name : order.pareto) {
        named.push_back(find_column("pareto", name, columns_));
      }
      front_.emplace(named);
      page_.pareto = named;
      for (const std::string& column : named) show(column);
    }
    show_fields(sweep);
  }

  bool chooses() const { return fastest_ || front_; }

  void add(const Record& row) {
    if (fastest_) return fastest_->add(row);
    if (front_) return front_->add(row);
    if (is_report(order_.format)) {
      rows_.push_back(row);
    } else if (!order_.file) {
      print(row);
    }
  }

  void finish() {
    if (fastest_) rows_ = fastest_->rows();
    if (front_) rows_ = front_->rows();
    if (is_report(order_.format)) {
      return write_answer(order_.format, sweep_report(sweep_, page_, rows_), out_);
    }
    for (const Record& row : rows_) print(row);
  }

 private:
  static constexpr std::size_t min_width = 8;

  void show(const std::string& key, std::size_t width = min_width) {
    const auto is_shown = [&](const std::string& each) { return each == key; };
    if (std::any_of(shown_.begin(), shown_.end(), is_shown)) return;
    shown_.push_back(key);
    widths_.push_back(std::max(key.size(), width));
  }

  void show_fields(const Sweep& sweep) {
    std::size_t column = 1;  // after the row's number
    for (const SweepField* const field : sweep.space.fields()) {
      std::size_t width = min_width;
      for (const std::string& text : field->texts) width = std::max(width, text.size());
      show(columns_[column++], width);
    }
    for (const char* key : {"algorithm", "protocol", "channels"}) show(key);
  }

  std::vector<Column> table() const {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      columns.push_back(fixed_column(shown_[i], shown_[i], "", widths_[i]));
    }
    return columns;
  }

  void print(const Record& row) {
    if (order_.format != Format::table) return writer_.add(row);
    const std::vector<Column> columns = table();
    if (!any_) out_ << titles_of(columns);
    out_ << line_of(columns, row) << '\n';
    out_.flush();
    any_ = true;
  }

  const Sweep& sweep_;
  const SweepOrder& order_;
  std::vector<std::string> columns_;
  std::ostream& out_;
  RecordWriter writer_;
  std::optional<FastestBy> fastest_;
  std::optional<ParetoFront> front_;
  std::vector<std::string> shown_;
  std::vector<std::size_t> widths_;
  std::vector<Record> rows_;  ///< that are printed at the end
  SweepPage page_;
  bool any_ = false;
};

/// Rows that have no answer.
struct Problems {
  std::uint64_t count = 0;
  std::uint64_t rows = 0;
  std::string first;

  void add(const Record& row) {
    ++rows;
    if (row["problem"].is_null()) return;
    if (count++ == 0)
      first = fmt::format("row {}: {}", json_text(row["row"]), csv_field(row["problem"]));
  }
};

/// Where the rows go: file, print-out, count of problems.
class SweepOutput {
 public:
  SweepOutput(const Sweep& sweep, const SweepOrder& order, std::ostream& out)
      : sweep_(sweep), columns_(sweep_columns(sweep)), printer_(sweep, order, out) {
    if (!order.file) return;
    format_ = format_of(*order.file);
    check_not_input(*order.file);
    file_.emplace(*order.file, format_, columns_);
    if (order.resume && !file_->keeps_rows()) {
      throw InputError(fmt::format("--resume: {} is no file that keeps rows", order.file->string()),
                       "the file that an earlier sweep wrote");
    }
    if (!file_->is_empty() && !order.resume) {
      throw InputError(fmt::format("{} is there", order.file->string()),
                       "--resume to go on with it, or another file");
    }
  }

  /// Takes over the rows that are there. Returns their number.
  std::uint64_t begin() {
    if (!file_) return 0;
    const std::vector<Record> rows = file_->resume(sweep_.id);
    if (rows.size() > row_count(sweep_)) {
      throw InputError("the file has more rows than the sweep", "the file of the same sweep");
    }
    if (!rows.empty()) check_last(rows.back());
    file_->begin();
    for (const Record& row : rows) take_over(row);
    return rows.size();
  }

  void add(const Record& row) {
    if (!file_) return take_over(row);
    const std::string line = line_of(format_, row);
    file_->append(line);
    // As it stands in the file, so that rows of a resumed sweep are equal to others.
    take_over(printer_.chooses() ? *row_of(format_, line, columns_) : row);
  }

  void finish() { printer_.finish(); }
  const Problems& problems() const { return problems_; }

 private:
  void take_over(const Record& row) {
    printer_.add(row);
    problems_.add(row);
  }

  /// Machines and calibrations may have changed, too: the last row is answered again.
  void check_last(const Record& row) {
    const Record again = SweepRows(sweep_).answer(row["row"].get<std::uint64_t>());
    if (line_of(format_, again) == line_of(format_, row)) return;
    throw InputError(
        fmt::format(
            "row {} has another answer now: a machine, a calibration or collsim has changed",
            json_text(row["row"])),
        "what the file was made with, or another -o FILE");
  }

  const Sweep& sweep_;
  std::vector<std::string> columns_;
  Format format_ = Format::csv;
  std::optional<SweepFile> file_;
  SweepPrinter printer_;
  Problems problems_;
};

void work(const Sweep& sweep, SweepDealer& dealer) {
  SweepRows rows(sweep);
  while (const auto part = dealer.take()) {
    for (std::uint64_t row = part->first; row < part->first + part->count; ++row) {
      dealer.put(rows.answer(row));
    }
  }
}

/// On all threads; under mpirun one more serves the other processes.
void work_on_all(const Sweep& sweep, SweepDealer& dealer, std::uint32_t threads,
                 Processes* processes, std::uint32_t remote) {
  const std::uint32_t servers = processes != nullptr ? 1 : 0;
  try {
    for_each_in_parallel(threads + servers, threads + servers, [&](std::size_t i) {
      try {
        if (i < servers) {
          serve_workers(*processes, remote, sweep, dealer);
        } else {
          work(sweep, dealer);
        }
      } catch (...) {
        dealer.stop();
        throw;
      }
    });
  } catch (...) {
    errno = dealer.write_error();  // each thread has its own; messages about output quote it
    throw;
  }
}

int report(const Problems& problems, std::ostream& err) {
  if (problems.count == 0) return exit_ok;
  fmt::print(err, "collsim: {} of {} rows have no answer (column problem); the first is {}\n",
             problems.count, problems.rows, problems.first);
  return problems.count == problems.rows ? exit_bad_input : exit_ok;
}

/// Prints what a person should know about the first point's answers. What is wrong with that point,
/// its rows say.
void warn_of_first_point(const Sweep& sweep, std::ostream& err) {
  try {
    Scenario scenario = sweep.space.scenario(0);
    Topology machine = sweep.space.machine(scenario, 0);
    const CallRequest request =
        question_about(std::move(scenario), std::move(machine), sweep.errors);
    if (const auto warning = calibration_warning(request.cost)) print_warning(*warning, err);
    for (const RunSpec& run : request.scenario.runs) warn(CallCompiler(spec_of(request, run)), err);
  } catch (const InputError&) {
    return;
  }
}

/// The whole sweep, in the only process or in process 0. `served` says whether the other processes
/// have been told to stop.
int sweep_all(const SweepOrder& order, Processes* processes, std::uint32_t remote, bool& served,
              std::ostream& out, std::ostream& err) {
  const Sweep sweep = read_sweep(order.scenario, order.engine_name, order.exact);
  SweepOutput output(sweep, order, out);
  warn_of_first_point(sweep, err);
  const std::uint64_t there = output.begin();
  // Rows of a file end whole; a print-out may end anywhere, also while nobody reads it.
  std::optional<Interruption> interruption;
  if (order.file) interruption.emplace();
  SweepDealer dealer(
      sweep, there, order.threads + remote, [&](const Record& row) { output.add(row); }, err);
  try {
    served = true;
    work_on_all(sweep, dealer, order.threads, processes, remote);
  } catch (const SweepInterrupted&) {
    fmt::print(err, "collsim: interrupted after {} of {} rows{}\n", dealer.written(),
               row_count(sweep), order.file ? "; --resume goes on" : "");
    return exit_interrupted;
  }
  interruption.reset();
  output.finish();
  return report(output.problems(), err);
}

int lead(const SweepOrder& order, Processes* processes, std::ostream& out, std::ostream& err) {
  const std::uint32_t remote =
      processes == nullptr ? 0 : static_cast<std::uint32_t>(processes->size() - 1) * order.threads;
  bool served = false;
  try {
    return sweep_all(order, processes, remote, served, out, err);
  } catch (...) {
    if (processes != nullptr && !served) dismiss_workers(*processes, remote);
    throw;
  }
}

/// In a process of an mpirun other than 0. What goes wrong, process 0 says.
int follow(const SweepOrder& order, Processes& processes) {
  std::optional<Sweep> sweep;
  std::exception_ptr failure;
  try {
    sweep = read_sweep(order.scenario, order.engine_name, order.exact);
  } catch (...) {
    failure = std::current_exception();
  }
  for_each_in_parallel(order.threads, order.threads, [&](std::size_t i) {
    const auto thread = static_cast<std::uint32_t>(i);
    std::exception_ptr of_thread = failure;
    try {
      if (sweep) return work_for_process_0(processes, thread, *sweep);
    } catch (...) {
      of_thread = std::current_exception();
    }
    report_failure(processes, thread, of_thread);
  });
  return exit_ok;
}

int run_sweep(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(sweep_subcommand, args, out);
  if (!values) return exit_ok;
  const std::unique_ptr<Processes> processes = join_processes();
  const SweepOrder order = read_order(*values, args, processes != nullptr);
  if (processes == nullptr || processes->rank() == 0) {
    return lead(order, processes.get(), out, err);
  }
  return follow(order, *processes);
}

}  // namespace

const Subcommand sweep_subcommand{
    .name = "sweep",
    .summary = "run a scenario over a grid of fields, on all cores or under mpirun",
    .usages = {"SCENARIO [options]"},
    .answers =
        "Says how times change over many machines, sizes and settings: it runs every combination "
        "of the fields that the scenario's `sweep` lists (docs/formats.md), on all cores. Rows "
        "come in a fixed order: the same bytes however many cores or hosts work.",
    .manual =
        "With -o rows go to a file as they come, as JSON Lines if it ends in .jsonl, else as CSV; "
        "after a kill, --resume goes on with it. Under mpirun the processes share the work, with "
        "one thread each.",
    .examples = {"sweep sweep-hgx-h200-buffers -o rows.csv",
                 "sweep sweep-hgx-h200-buffers --best-by size",
                 "sweep my-sweep.yaml --pareto time,nranks",
                 "sweep sweep-hgx-h200-buffers -o rows.csv --resume",
                 "sweep sweep-hgx-h200-buffers --format html > sweep.html"},
    .argument = "scenario",
    .needs = "scenario",
    .first = "output resume best-by pareto threads engine exact format",
    .modes = {{"", "scenario output resume best-by pareto threads engine exact"}},
    .formats = {Format::table, Format::csv, Format::jsonl, Format::markdown, Format::html},
    .run = run_sweep,
};

}  // namespace collsim::command
