#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>

#include "models/calibration/transport.h"
#include "models/validation/score.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_format.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "sim/base/text.h"
#include "tools/collsim/calibrate/ablation.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/calibration_report.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_plan.h"
#include "tools/collsim/calibrate/fit_rows.h"
#include "tools/collsim/calibrate/fitted_calibration.h"
#include "tools/collsim/calibrate/network_fit.h"
#include "tools/collsim/calibrate/plausibility.h"
#include "tools/collsim/calibrate/recording_rows.h"
#include "tools/collsim/calibrate/whole_calibration.h"
#include "tools/collsim/core/interruption.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/progress_line.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/request/collective_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr const char* a_fit = "a fit of recordings";
constexpr const char* a_plan = "a plan";

FitSelection selection_of(const po::variables_map& values) {
  FitSelection selection;
  if (values.contains("collective")) selection.rows.collective = collective_option(values);
  selection.rows.id = values["id"].as<std::string>();
  const std::int64_t least = values["minbytes"].as<Bytes>().count;
  const std::int64_t most = values["maxbytes"].as<Bytes>().count;
  if (most < least) {
    throw InputError(fmt::format("sizes from {} to {}", least, most),
                     "-e must be at least as large as -b");
  }
  selection.sizes = RowPattern(fmt::format("size={}..{}", least, most));
  if (values.contains("hold-out")) {
    for (const std::string& text : values["hold-out"].as<std::vector<std::string>>()) {
      for (const std::string& item : split(text, ',')) selection.held_out.emplace_back(item);
    }
  }
  return selection;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

/// What a fit of this plan is asked for.
CalibrationFitOptions fit_options(const FitPlan& plan, std::uint32_t threads, ProgressLine& line) {
  CalibrationFitOptions options;
  options.names = plan.constants;
  options.sizes = plan.sizes;
  options.scale = plan.scale.value_or(options.scale);
  options.prior = plan.prior;
  options.threads = threads;
  options.stop = [] { return Interruption::asked(); };
  options.progress = [&](const std::string& text) { line.show(text); };
  return options;
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

/// Fits, and scores the constants as the file will state them.
CalibrationReport calibrate(const FitPlan& plan, FitRows& rows, const Topology& topology,
                            const CalibrationFitOptions& options) {
  CalibrationReport report;
  report.start = plan.start.name();
  report.fit = plan.of_network ? fit_network(rows, plan.start, plan.cost,
                                             load_network_spread(plan.cost.transport), options)
                               : fit_calibration(rows, plan.start, plan.cost, options);
  report.left_out = rows.left_out();
  const std::vector<Seconds> before = times_of(rows, plan.cost, options.threads);
  report.used_before = rows.validated(before, false);
  report.held_out_before = rows.validated(before, true);
  const Calibration fitted = cost_of(with_fitted(plan.start, report.fit));
  const std::vector<Seconds> times = times_of(rows, fitted, options.threads);
  report.used = rows.validated(times, false);
  report.held_out = rows.validated(times, true);
  // A network's own bandwidth may be far above what its transport carries.
  const bool is_machine = plan.subject == FitSubject::machine;
  report.objections =
      objections_to(report.fit, topology, is_machine ? max_ranks(rows, topology) : 0, fitted);
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

/// The plan that the options say.
FitPlan plan_of_options(const po::variables_map& values, std::ostream& err) {
  std::vector<PlannedRecording> recordings;
  if (values.contains("recording")) {
    const std::string machine =
        values.contains("topology") ? values["topology"].as<std::string>() : "";
    for (const std::string& file : values["recording"].as<std::vector<std::string>>()) {
      recordings.push_back({file, machine, selection_of(values)});
    }
  }
  const auto from_topology = [&] {
    return values.contains("topology")
               ? name_of_calibration_used(
                     load_with_warnings(values["topology"].as<std::string>(), err))
               : name_of_calibration_used(PlannedRecordings(recordings, err).first_machine());
  };
  const std::string from =
      values.contains("from") ? values["from"].as<std::string>() : from_topology();
  const CalibrationText start = whole_calibration(from);
  FitPlan plan{{}, today(), {}, start, start, named_calibration(from)};
  plan.constants = split(values["fit"].as<std::string>(), ',');
  static_cast<void>(parameters_named(plan.constants));
  constexpr std::uint32_t max_sizes = 1 << 20;
  plan.sizes = bounded_option(values, "sizes", 0, max_sizes);
  plan.recordings = std::move(recordings);
  return plan;
}

/// The plan that is the only recording named; empty where recordings are named.
std::optional<FitPlan> find_plan(const po::variables_map& values) {
  if (!values.contains("recording")) return std::nullopt;
  const auto& names = values["recording"].as<std::vector<std::string>>();
  if (names.front() == "-" || !is_readable_kind(names.front())) return std::nullopt;
  const TextFile file = read_text_file(names.front(), "a plan");
  if (own_kind(file.content) != "calibration") return std::nullopt;  // a recording
  if (names.size() > 1) throw InputError("calibrate: a plan and recordings", "one plan");
  const bool lists = values["list"].as<bool>();
  heed_only(values, calibrate_subcommand, {lists ? "--list" : a_plan});
  return read_fit_plan(file);
}

/// Whether the rows are of several nodes alone. They show what messages between nodes cost; what
/// thread blocks and links of a node cost is behind that, and a fit of it would follow the network.
bool is_between_nodes(const FitRows& rows) {
  return std::all_of(rows.rows().begin(), rows.rows().end(),
                     [](const FitRow& row) { return row.recorded.nodes > 1; });
}

/// What the options leave open: which rows are held out, and what is fitted.
void settle(const po::variables_map& values, FitRows& rows, FitPlan& plan) {
  plan.of_network = plan.constants.empty() && is_between_nodes(rows);
  constexpr std::size_t one_of_sizes = 3;
  // The two numbers of a network need fewer rows.
  constexpr std::size_t one_of_sizes_of_network = 2;
  if (values.contains("hold-out")) return;
  rows.hold_sizes_out(plan.of_network ? one_of_sizes_of_network : one_of_sizes);
}

/// A fit, and what is to become of it.
struct Result {
  const FitPlan& plan;
  const CalibrationReport& report;
  std::filesystem::path output;  ///< empty: nowhere
  bool of_plan = false;          ///< of a file, which says itself what it holds out
  bool force = false;

  /// Whether the machine seems healthy, and predictions have not become worse.
  bool is_good() const {
    return report.objections.empty() && (of_plan || !report.of_held_out().is_worse());
  }
  bool is_written() const { return !output.empty() && (is_good() || force); }
};

void print_worse(const HeldOutErrors& errors, const std::string& output, bool force,
                 std::ostream& err) {
  const std::string where = errors.worse_sizes.empty()
                                ? std::string()
                                : fmt::format(" (sizes {})", fmt::join(errors.worse_sizes, ", "));
  fmt::print(err,
             "\ncollsim: WARNING: these constants predict rows that are held out worse than the "
             "start does{}\n{} is {}\n",
             where, output,
             force ? "written anyway (--force)" : "not written; --force writes it anyway");
}

/// Who made the file. A plan makes the same file whenever it is asked.
void add_command(std::span<const std::string> args, const std::optional<std::string>& plan,
                 Provenance& provenance) {
  if (plan) {
    provenance.command = "collsim calibrate " + std::filesystem::path(*plan).filename().string();
    return;
  }
  provenance.command = fmt::format("collsim calibrate {}", fmt::join(args, " "));
  provenance.version = COLLSIM_VERSION;
}

void write_calibration(const Result& result, const Provenance& provenance) {
  const CalibrationReport& report = result.report;
  replace_file(result.output,
               fitted_calibration(result.plan, report.fit, provenance, total_score(report.used),
                                  total_score(report.held_out)));
}

/// Says on `err` why a result is not good, and whether it was written; returns the exit code.
int print_outcome(const Result& result, std::ostream& err) {
  const CalibrationReport& report = result.report;
  if (!report.objections.empty()) {
    print_objections(report, result.output.string(), result.force, err);
  } else if (!result.is_good()) {
    print_worse(report.of_held_out(), result.output.string(), result.force, err);
  }
  if (!result.is_good() && !result.force) return exit_answer_is_no;
  if (!report.fit.stopped) return exit_ok;
  fmt::print(err, "collsim: stopped early; {} has the best constants so far, without intervals\n",
             result.output.string());
  return exit_interrupted;
}

int run_calibrate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(calibrate_subcommand, args, out);
  if (!values) return exit_ok;
  if (!values->contains("recording") && !values->contains("topology")) {
    throw InputError("calibrate: no topology and no recording",
                     "collsim calibrate RECORDING..., or --help");
  }
  const std::optional<FitPlan> read = find_plan(*values);
  FitPlan plan = read ? *read : plan_of_options(*values, err);
  if ((*values)["list"].as<bool>()) {
    heed_only(*values, calibrate_subcommand, {"--list"});
    print_constants(plan.start, plan.cost, out);
    return exit_ok;
  }
  require(*values, "recording", "collsim calibrate RECORDING..., or --help");
  const bool ablates = (*values)["ablate"].as<bool>();
  if (!ablates) require(*values, "output", "-o FILE, the calibration to write");
  const std::filesystem::path output =
      values->contains("output") ? (*values)["output"].as<OutputFile>().name : "";
  if (!read) {
    plan.name =
        values->contains("name") ? (*values)["name"].as<std::string>() : output.stem().string();
  }
  PlannedRecordings recordings(plan.recordings, err);
  // Before more is read: a plan makes a shipped calibration anew, which its machine then names.
  if (!output.empty()) check_not_input(output);
  const Topology& topology = recordings.first_machine();
  FitRows rows = recordings.rows(plan.cost, plan.subject);
  print_warnings(rows.warnings(), err);
  if (rows.rows().empty()) print_unused(rows.left_out(), err);
  if (!read) settle(*values, rows, plan);
  if (plan.scale) rows.weigh_machines();
  if (ablates && plan.of_network) {
    throw InputError("--ablate of a network's two numbers", "--ablate with --fit NAMES");
  }
  ProgressLine line(err);
  const Interruption interruption;
  const CalibrationFitOptions options =
      fit_options(plan, thread_count(*values, processors()), line);
  const CalibrationReport report = calibrate(plan, rows, topology, options);
  print_calibration(report, out);
  const Result result{plan, report, output, read.has_value(), (*values)["force"].as<bool>()};
  if (result.is_written()) {
    Provenance provenance = recordings.provenance(rows);
    provenance.topology = topology.name();
    const auto& names = (*values)["recording"].as<std::vector<std::string>>();
    add_command(args, read ? std::optional(names.front()) : std::nullopt, provenance);
    write_calibration(result, provenance);
  }
  if (const int status = print_outcome(result, err); status != exit_ok) return status;
  if (ablates) {
    print_ablation(ablate(rows, with_fitted(plan.start, report.fit), report.fit, options), out);
  }
  return exit_ok;
}

}  // namespace

const Subcommand calibrate_subcommand{
    .name = "calibrate",
    .summary = "fit a machine's cost constants to recorded runs, with intervals",
    .usages = {"RECORDING... -o FILE [options]", "PLAN -o FILE"},
    .answers =
        "Says which constants of the cost model fit a machine, by recorded runs of it, and writes "
        "them as a calibration file. The file has a 95 % interval for every constant.",
    .manual =
        "A constant that the rows do not determine keeps its starting value, and the file says so. "
        "`collsim validate` reads the same recordings. Rows that are held out are scored but not "
        "fitted; their errors show how good predictions are. Ctrl-C ends early with the best "
        "constants so far (exit code 130). If the constants are not plausible for a healthy "
        "machine, or predict rows that are held out worse than the start, no file is written (exit "
        "code 1), except with --force. Of rows over several nodes alone it fits two numbers, the "
        "network's rate and latency, drawn towards those of other machines, which also predict "
        "more nodes.\n-c, --id, -b and -e select rows. A PLAN is a calibration with a section "
        "`fit` that says all of this (docs/formats.md). The same plan gives the same file, byte "
        "for byte.",
    .examples =
        {"calibrate my.log -t dgx-h100 --from hgx-h200 -o my-dgx.yaml",
         "calibrate my.log -t dgx-h100 --fit 'launch,simple.*' --hold-out ranks=3 -o my.yaml",
         "calibrate models/data/fits/h200-tcp.yaml -o h200-tcp.yaml",
         "calibrate -t hgx-h200 --list"},
    .argument = "recording",
    .first = "topology output from fit collective id minbytes maxbytes hold-out list",
    .modes = {{a_fit,
               "recording topology output name from fit force ablate collective id minbytes "
               "maxbytes hold-out sizes threads"},
              {a_plan, "recording output force ablate threads"},
              {"--list", "list recording topology from"}},
    .values = {{"minbytes", value_of<Bytes>("SIZE", Bytes{1}, "1")},
               {"maxbytes", value_of<Bytes>("SIZE", Bytes{std::int64_t{1} << 40}, "1T")}},
    .run = run_calibrate,
};

}  // namespace collsim::command
