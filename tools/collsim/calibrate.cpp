#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <thread>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/calibration_file.h"
#include "models/fit/calibration_fit.h"
#include "models/fit/calibration_text.h"
#include "models/fit/fit_rows.h"
#include "models/fit/fitted_calibration.h"
#include "models/fit/plausibility.h"
#include "models/fit/whole_calibration.h"
#include "models/imports/machine.h"
#include "models/machine/gpu_model.h"
#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/split.h"
#include "tools/collsim/calibration_report.h"
#include "tools/collsim/collective_option.h"
#include "tools/collsim/interruption.h"
#include "tools/collsim/numbers.h"
#include "tools/collsim/options.h"
#include "tools/collsim/recorded_input.h"
#include "tools/collsim/replace_file.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim calibrate RECORDING... -o FILE [options]";
constexpr std::string_view epilogue =
    "Fits the constants of the cost model to recorded runs and writes a calibration file. The "
    "file\n"
    "has a 95 % interval for every constant. A constant that the rows do not determine keeps its\n"
    "starting value, and the file says so. `collsim validate` reads the same recordings. Rows "
    "that\n"
    "are held out are scored but not fitted; their errors show how good predictions are. Ctrl-C\n"
    "ends early with the best constants so far (exit code 130). If the constants are not "
    "plausible\n"
    "for a healthy machine, no file is written (exit code 1), except with --force.\n"
    "\n"
    "  collsim calibrate my.log -t dgx-h100 --from hgx-h200 -o my-dgx.yaml\n"
    "  collsim calibrate my.log -t dgx-h100 --fit 'launch,simple.*' --hold-out ranks=3 -o my.yaml\n"
    "  collsim calibrate -t hgx-h200 --list";

po::options_description calibrate_options() {
  po::options_description options("options");
  options.add_options()  //
      ("recording", po::value<std::vector<std::string>>()->composing(),
       "recordings; --recording may be omitted")  //
      ("topology,t", po::value<std::string>(),
       "machine: a file, or a shipped name (default: the one in the recordings)")          //
      ("output,o", po::value<std::string>(), "the calibration file to write")              //
      ("name", po::value<std::string>(), "name of the calibration (default: the file's)")  //
      ("from", po::value<std::string>(),
       "calibration that the search starts from: a file, or a shipped name (default: the "
       "topology's)")  //
      ("fit", po::value<std::string>()->default_value(""),
       "constants to fit, names or patterns: launch,simple.*,*.alpha.nvlink (default: all that the "
       "starting calibration states and that rows depend on)")  //
      ("force", po::bool_switch(),
       "write the calibration even if it is not plausible for a healthy machine")                 //
      ("list", po::bool_switch(), "print the constants with meaning and value, and exit")         //
      ("collective,c", po::value<std::string>(), "only rows of this collective")                  //
      ("id", po::value<std::string>()->default_value(""), "only rows whose id begins with this")  //
      ("minbytes,b", po::value<std::string>()->default_value("1"), "smallest size of rows")       //
      ("maxbytes,e", po::value<std::string>()->default_value("64M"), "largest size of rows")      //
      ("hold-out", po::value<std::vector<std::string>>()->composing(),
       "rows that are scored but not fitted: id=PATTERN, collective=PATTERN, ranks=A..B or "
       "size=A..B; may be repeated")  //
      ("sizes", po::value<std::int64_t>()->default_value(8),
       "number of sizes of each run that are fitted, spread evenly; 0: all")  //
      ("threads", po::value<std::int64_t>()->default_value(0), "threads; 0: one per core");
  return options;
}

/// The calibration that the search starts from, as text and as costs.
struct Start {
  CalibrationText text;
  Calibration cost;
};

Start read_start(const po::variables_map& values, const Topology& topology) {
  const std::string name =
      values.contains("from") ? values["from"].as<std::string>() : calibration_name(topology);
  const TextFile file =
      read_text_file(find_data_file(name, "models/calibrations"), "a calibration file");
  return {whole_calibration(file), read_calibration(file)};
}

FitSelection read_selection(const po::variables_map& values) {
  FitSelection selection;
  if (values.contains("collective")) selection.rows.collective = collective_option(values);
  selection.rows.id = values["id"].as<std::string>();
  const std::int64_t least = parse_size("minbytes", values["minbytes"].as<std::string>());
  const std::int64_t most = parse_size("maxbytes", values["maxbytes"].as<std::string>());
  if (most < least) {
    throw InputError(fmt::format("sizes from {} to {}", least, most), "-e at least as large as -b");
  }
  selection.sizes = RowPattern(fmt::format("size={}..{}", least, most));
  if (values.contains("hold-out")) {
    for (const std::string& text : values["hold-out"].as<std::vector<std::string>>()) {
      for (const std::string& item : split(text, ',')) selection.held_out.emplace_back(item);
    }
  }
  return selection;
}

/// Throws if a recording is from another GPU than the topology's.
void check_machine(const Recording& recording, const Topology& topology) {
  const auto gpu = recording.machine.find("gpu");
  const std::string& model = topology.device(topology.gpus().front()).model;
  const GpuModel* const known = find_gpu_model(model);
  if (gpu == recording.machine.end() || known == nullptr) return;
  if (find_gpu_model(gpu->second) == known) return;
  throw InputError(
      SourcePosition{recording.file.string(), 0, 0},
      fmt::format("recorded on {}, and '{}' has GPUs {}", gpu->second, topology.name(), model),
      "recordings of the topology's machine");
}

NcclVersion version_of(const Recording& recording) {
  const auto recorded = recording.machine.find("nccl");
  return recorded == recording.machine.end() ? newest_nccl_version
                                             : parse_nccl_version(recorded->second);
}

/// Adds what a recording says about the machine, each different value once.
void add_machine(const Recording& recording, std::map<std::string, std::string>& machine) {
  for (const char* key : {"gpu", "nccl", "driver"}) {
    const auto found = recording.machine.find(key);
    if (found == recording.machine.end()) continue;
    std::string& values = machine[key];
    if (values.empty()) {
      values = found->second;
    } else if (values.find(found->second) == std::string::npos) {
      values += ", " + found->second;
    }
  }
}

/// The machines of rows: the one that the options name, or each row's own.
class Machines {
 public:
  Machines(const po::variables_map& values, std::ostream& err) : err_(err) {
    if (values.contains("topology")) asked_ = values["topology"].as<std::string>();
  }

  const Topology& of(const Recording& recording, const RecordedRow& row) {
    if (!asked_.empty()) return load(asked_);
    if (!row.topology.empty()) return load(row.topology);
    std::string& machine = of_recordings_[recording.file.string()];
    if (machine.empty()) machine = machine_of_recording(recording, err_);
    return load(machine);
  }

  /// The machine of the first selected row. The search starts from its calibration.
  const Topology& first(const std::vector<Recording>& recordings, const FitSelection& selection) {
    if (!asked_.empty()) return load(asked_);
    for (const Recording& recording : recordings) {
      for (const RecordedRow& row : recording.rows) {
        if (!excluded(row, selection.rows)) return of(recording, row);
      }
    }
    throw InputError("calibrate: no recorded row is selected, so the machine is unknown",
                     "-t TOPOLOGY, or recordings of a known machine");
  }

 private:
  const Topology& load(const std::string& name) {
    const auto found = topologies_.find(name);
    if (found != topologies_.end()) return found->second;
    return topologies_.emplace(name, load_machine(name).topology).first->second;
  }

  std::string asked_;
  std::map<std::string, std::string> of_recordings_;
  std::map<std::string, Topology> topologies_;
  std::ostream& err_;
};

std::vector<Recording> read_recordings(const po::variables_map& values) {
  std::vector<Recording> recordings;
  if (!values.contains("recording")) return recordings;
  for (const std::string& name : values["recording"].as<std::vector<std::string>>()) {
    recordings.push_back(open_recording(name));
  }
  return recordings;
}

FitRows read_rows(const std::vector<Recording>& recordings, FitSelection selection,
                  Machines& machines, const Calibration& cost, Provenance& provenance) {
  FitRows rows(cost);
  for (const Recording& recording : recordings) {
    selection.rows.nccl_version = version_of(recording);
    const auto machine_of = [&](const RecordedRow& row) -> const Topology& {
      const Topology& topology = machines.of(recording, row);
      check_machine(recording, topology);
      return topology;
    };
    rows.add(recording, machine_of, selection);
    provenance.recordings.push_back({recording.file.filename().string(), 0, 0});
    add_machine(recording, provenance.machine);
  }
  for (const FitRow& row : rows.rows()) {
    Provenance::Recording& recording = provenance.recordings[row.recording];
    ++(row.held_out ? recording.held_out : recording.rows);
  }
  return rows;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

/// One line that is overwritten again and again, only on a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& err)
      : err_(err), shown_(&err == &std::cerr && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (shown_) err_.write(clear_line.data(), clear_line.size());
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) {
    if (!shown_) return;
    fmt::print(err_, "{}{}", clear_line, text);
    err_.flush();
  }

 private:
  static constexpr std::string_view clear_line = "\r\x1b[K";
  std::ostream& err_;
  bool shown_;
};

CalibrationFit fit(const po::variables_map& values, FitRows& rows, const Start& start,
                   std::uint32_t threads, std::ostream& err) {
  CalibrationFitOptions options;
  options.names = split(values["fit"].as<std::string>(), ',');
  constexpr std::uint32_t max_sizes = 1 << 20;
  options.sizes = bounded_option(values, "sizes", 0, max_sizes);
  options.threads = threads;
  ProgressLine line(err);
  const Interruption interruption;
  options.stop = [] { return Interruption::asked(); };
  options.progress = [&](const std::string& text) { line.show(text); };
  return fit_calibration(rows, start.text, start.cost, options);
}

std::uint32_t thread_count(const po::variables_map& values) {
  constexpr std::uint32_t max_threads = 1024;
  const std::uint32_t threads = bounded_option(values, "threads", 0, max_threads);
  return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

void require(const po::variables_map& values, const char* option, std::string_view accepted) {
  if (values.contains(option)) return;
  throw InputError(fmt::format("calibrate: no {}", option), std::string(accepted));
}

/// The times of all rows with these costs.
std::vector<Seconds> times_of(FitRows& rows, const Calibration& cost, std::uint32_t threads) {
  std::vector<std::size_t> points(rows.points().size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = i;
  return rows.times(cost, points, threads);
}

/// The most ranks of the rows on that machine.
Rank max_ranks(const FitRows& rows, const Topology& topology) {
  Rank most = 0;
  for (const FitRow& row : rows.rows()) {
    if (row.recorded.ranks <= topology.gpus().size()) most = std::max(most, row.recorded.ranks);
  }
  return most;
}

/// Fits, scores the constants as the file will state them, and writes the file unless there are
/// objections.
CalibrationReport calibrate(const po::variables_map& values, FitRows& rows,
                            const Topology& topology, const Start& start,
                            const Provenance& provenance, std::ostream& err) {
  const std::filesystem::path output = values["output"].as<std::string>();
  const std::uint32_t threads = thread_count(values);
  for (const std::string& warning : rows.warnings()) {
    fmt::print(err, "collsim: warning: {}\n", warning);
  }
  if (rows.rows().empty()) print_unused(rows.left_out(), err);
  CalibrationReport report{
      start.text.name(), fit(values, rows, start, threads, err), {}, {}, {}, rows.left_out(), {}};
  report.before = rows.validated(times_of(rows, start.cost, threads), false);
  const auto text = [&] {
    return fitted_calibration(start.text, report.fit, provenance, total_score(report.used).all,
                              total_score(report.held_out).all);
  };
  const Calibration fitted = read_calibration({output.string(), text()});
  const std::vector<Seconds> times = times_of(rows, fitted, threads);
  report.used = rows.validated(times, false);
  report.held_out = rows.validated(times, true);
  report.objections = objections_to(report.fit, topology, max_ranks(rows, topology), fitted);
  if (report.objections.empty() || values["force"].as<bool>()) replace_file(output, text());
  return report;
}

/// Prints the objections to the fit, and whether the file was written.
void print_objections(const CalibrationReport& report, const std::string& output, bool force,
                      std::ostream& err) {
  fmt::print(
      err,
      "\ncollsim: WARNING: these constants are not plausible for a healthy machine. The machine "
      "may\nhave been faulty (a link that is down or slow, throttled clocks, another job), or "
      "another\nthan -t says:\n");
  for (const std::string& objection : report.objections) fmt::print(err, "  {}\n", objection);
  if (force) {
    fmt::print(err, "{} is written anyway (--force)\n", output);
  } else {
    fmt::print(err, "{} is not written; --force writes it anyway\n", output);
  }
}

}  // namespace

int run_calibrate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(calibrate_options(), usage, epilogue, "recording", args, out);
  if (!values) return exit_ok;
  if (!values->contains("recording") && !values->contains("topology")) {
    throw InputError("calibrate: no topology and no recording",
                     "collsim calibrate RECORDING..., or --help");
  }
  const std::vector<Recording> recordings = read_recordings(*values);
  const FitSelection selection = read_selection(*values);
  Machines machines(*values, err);
  const Topology& topology = machines.first(recordings, selection);
  const Start start = read_start(*values, topology);
  if ((*values)["list"].as<bool>()) {
    print_constants(start.text, start.cost, out);
    return exit_ok;
  }
  require(*values, "recording", "collsim calibrate RECORDING..., or --help");
  require(*values, "output", "-o FILE, the calibration to write");
  const std::filesystem::path output = (*values)["output"].as<std::string>();
  check_writable(output);
  static_cast<void>(parameters_named(split((*values)["fit"].as<std::string>(), ',')));
  Provenance provenance;
  provenance.name =
      values->contains("name") ? (*values)["name"].as<std::string>() : output.stem().string();
  provenance.date = today();
  provenance.command = fmt::format("collsim calibrate {}", fmt::join(args, " "));
  provenance.version = COLLSIM_VERSION;
  provenance.topology = topology.name();
  FitRows rows = read_rows(recordings, selection, machines, start.cost, provenance);
  const CalibrationReport report = calibrate(*values, rows, topology, start, provenance, err);
  print_calibration(report, out);
  if (!report.objections.empty()) {
    const bool force = (*values)["force"].as<bool>();
    print_objections(report, output.string(), force, err);
    if (!force) return exit_answer_is_no;
  }
  if (!report.fit.stopped) return exit_ok;
  fmt::print(err, "collsim: stopped early; {} has the best constants so far, without intervals\n",
             output.string());
  return exit_interrupted;
}

}  // namespace collsim::command
