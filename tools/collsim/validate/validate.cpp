#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "models/recordings/named_rows.h"
#include "models/recordings/recording.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/diagnose/correctness.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/recorded_input.h"
#include "tools/collsim/request/word_options.h"
#include "tools/collsim/validate/requirement_option.h"
#include "tools/collsim/validate/validation_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::uint32_t max_ranks = 1U << 20U;
ValidationOptions read_options(const po::variables_map& values) {
  ValidationOptions options;
  if (values.contains("collective")) options.collective = collective_option(values);
  if (values.contains("ranks")) options.ranks = bounded_option(values, "ranks", 1, max_ranks);
  options.id = values["id"].as<std::string>();
  const auto& place = values["place"].as<std::string>();
  if (place != "all") options.in_place = place == "in";
  if (values.contains("largest")) options.largest = values["largest"].as<Bytes>();
  const auto& mode = values["mode"].as<std::string>();
  options.mode.reset();
  if (mode != "all") options.mode = mode == "graph" ? CallMode::graph : CallMode::plain;
  options.analytic = values["engine"].as<std::string>() == "analytic";
  options.threads = thread_count(values, processors());
  return options;
}

/// The release that the options name, else the recording's, else the one that is assumed.
NcclVersion version_of(const Recording& recording, const po::variables_map& values,
                       std::ostream& err) {
  if (const auto asked = nccl_version_option(values)) return *asked;
  const NcclVersion version = nccl_version_of(recording);
  if (!recording.nccl_rules && !recording.machine.contains("nccl")) {
    fmt::print(err,
               "collsim: {}: does not say which release of NCCL ran; {} is assumed (--nccl-version "
               "names another)\n",
               recording.file.filename().string(), to_string(version));
  }
  return version;
}

void append(Validation& all, Validation more) {
  std::move(more.rows.begin(), more.rows.end(), std::back_inserter(all.rows));
  for (const auto& [reason, rows] : more.left_out) {
    LeftOut& left_out = all.left_out[reason];
    if (left_out.rows == 0) left_out.first_id = rows.first_id;
    left_out.rows += rows.rows;
  }
  all.warnings.merge(more.warnings);
}

void leave_out(const Recording& recording, const std::string& reason, Validation& validation) {
  LeftOut& left_out = validation.left_out[reason];
  if (left_out.rows == 0) left_out.first_id = recording.rows.front().id;
  left_out.rows += recording.rows.size();
}

Calibration cost_on(const Topology& topology, const po::variables_map& values) {
  if (!values.contains("calibration")) return calibration_for(topology);
  return with_transports(named_calibration(values["calibration"].as<std::string>()), topology);
}

/// The rows of a recording on the machine that the options name, or each on its own.
std::vector<RecordedMachine> machines_of(const Recording& recording,
                                         const po::variables_map& values,
                                         const ValidationOptions& options) {
  if (values.contains("topology")) return {{values["topology"].as<std::string>(), recording}};
  return by_machine(recording, options);
}

/// The machine that a person or the rows name, or else that the text shows.
Machine load_named_or_shown(const std::string& name, const RecordedInput& input,
                            std::ostream& err) {
  if (name.empty()) return {machine_of_recording(input, err), {}};
  return load_machine(name);
}

/// What one file says, and on which machine its rows are.
struct FileReport {
  ValidationReport report;
  std::ostringstream messages;  // for people
  bool is_wrong = false;        ///< some of its results were
  bool is_untold = false;       ///< it cannot be compared, though it should be
};

/// Says which results were wrong. That does not depend on the machine.
bool report_wrong_results(const Recording& recording, const ValidationOptions& options,
                          std::ostream& err) {
  const Correctness correctness = correctness_of(recording, {}, options);
  if (!correctness.is_wrong()) return false;
  fmt::print(err, "collsim: {}: wrong data: {}\n", recording.file.filename().string(),
             describe(correctness, recording));
  return true;
}

/// A file whose rows are not compared.
void leave_out_file(const Recording& recording, const std::string& machine,
                    const std::string& reason, ValidationReport& report) {
  report.files.push_back(recording.file.filename().string());
  report.machines.push_back(machine);
  leave_out(recording, reason, report.validation);
}

void compare_file(const RecordedInput& input, const po::variables_map& values,
                  ValidationOptions options, FileReport& of_file) {
  const Recording& recording = input.recording;
  ValidationReport& report = of_file.report;
  const std::string name = recording.file.filename().string();
  options.nccl_version = version_of(recording, values, of_file.messages);
  Validation validation;
  for (const auto& [machine, of_machine] : machines_of(recording, values, options)) {
    const auto [topology, assumed] = load_named_or_shown(machine, input, of_file.messages);
    report.validation.warnings.insert(assumed.begin(), assumed.end());
    check_machine(of_machine, topology);
    const Recording rows = placed_on(of_machine, topology);
    for (const std::string& note : rows.notes) {
      report.validation.warnings.insert(fmt::format("{}: {}", name, note));
    }
    report.files.push_back(name);
    report.machines.push_back(topology.name());
    const Calibration cost = cost_on(topology, values);
    report.calibrations.insert(cost.name);
    if (auto warning = calibration_warning(cost)) report.validation.warnings.insert(*warning);
    append(validation, validate(rows, topology, cost, options));
  }
  std::stable_sort(validation.rows.begin(), validation.rows.end(),
                   [](const ValidatedRow& a, const ValidatedRow& b) {
                     return a.recorded.line < b.recorded.line;
                   });
  append(report.validation, std::move(validation));
}

void validate_file(const std::string& file, const po::variables_map& values,
                   const ValidationOptions& options, FileReport& of_file) {
  RecordedInput input = open_recording(file);
  Recording& recording = input.recording;
  name_rows(recording, {options.collective, options.ranks});
  of_file.is_wrong = report_wrong_results(recording, options, of_file.messages);
  if (!recording.left_out.empty() && !values.contains("topology")) {
    leave_out_file(recording, "no shipped machine", recording.left_out, of_file.report);
    return;
  }
  try {
    compare_file(input, values, options, of_file);
  } catch (const InputError& error) {
    // Wrong results are an answer without a machine, too, and one file does not end a batch.
    const bool is_alone = values["recording"].as<std::vector<std::string>>().size() == 1;
    if (is_alone && !of_file.is_wrong) throw;
    fmt::print(of_file.messages, "collsim: {}\n", error.what());
    of_file.report = {};
    leave_out_file(recording, "none", error.what(), of_file.report);
    of_file.is_untold = true;
  }
}

/// All files, as many at a time as there are threads for.
ValidationReport validate_files(const std::vector<std::string>& files,
                                const po::variables_map& values, ValidationOptions options,
                                bool& is_answered, std::ostream& err) {
  const auto at_once = static_cast<std::uint32_t>(files.size());
  const std::uint32_t threads = options.threads;
  options.threads = std::max(1U, threads / at_once);
  std::vector<FileReport> reports(files.size());
  {
    Waiting waiting(err, fmt::format("validating {} recordings", files.size()));
    for_each_in_parallel(files.size(), threads, [&](std::size_t i) {
      waiting.say("validating " + files[i]);
      validate_file(files[i], values, options, reports[i]);
    });
  }
  ValidationReport all;
  for (FileReport& each : reports) {
    err << each.messages.str();
    is_answered = is_answered && !each.is_wrong && !each.is_untold;
    all.files.insert(all.files.end(), each.report.files.begin(), each.report.files.end());
    all.machines.insert(all.machines.end(), each.report.machines.begin(),
                        each.report.machines.end());
    all.calibrations.merge(each.report.calibrations);
    append(all.validation, std::move(each.report.validation));
  }
  return all;
}

int run_validate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(validate_subcommand, args, out);
  if (!values) return exit_ok;
  const auto requirements = parse_required_figures((*values)["require"].as<std::string>());
  const ValidationOptions options = read_options(*values);
  bool is_answered = true;
  const ValidationReport report = validate_files(
      (*values)["recording"].as<std::vector<std::string>>(), *values, options, is_answered, err);
  print_warnings(report.validation.warnings, err);
  write_answer(format_option(*values), answer_of(report, command_text("validate", args)), out);
  const auto failed = failures(requirements, report.validation.rows);
  for (const std::string& failure : failed) fmt::print(err, "collsim: {}\n", failure);
  if (format_option(*values) == Format::csv || format_option(*values) == Format::jsonl) {
    Answer left_out;  // their rows cannot say it
    left_out.sections.push_back(left_out_section(report.validation.left_out));
    write_answer(Format::table, left_out, err);
  }
  if (report.validation.rows.empty()) fmt::print(err, "collsim: no row is compared\n");
  is_answered = is_answered && failed.empty() && !report.validation.rows.empty();
  return is_answered ? exit_ok : exit_answer_is_no;
}

}  // namespace

const Subcommand validate_subcommand{
    .name = "validate",
    .summary = "compare predictions with recorded runs: errors, choices, crossovers",
    .usages = {"RECORDING... [options]"},
    .answers =
        "Says how far predictions are off from recorded runs. Each row is predicted under NCCL's "
        "rules and in its environment. Prints errors by family and size, whether NCCL chose what "
        "collsim chooses, and where algorithms and protocols cross over. Exit code 1 means that "
        "--require fails, that results were wrong, or that no row could be compared.",
    .manual =
        "A recording is a file of collsim-recorder, a CSV like recordings/h200.csv, nccl-tests' "
        "text or JSON (-J) output, or one of recordings/published; `-` is standard input. Without "
        "-t the machine is the one that the recording names, or else that it shows, as in `collsim "
        "diagnose`. -c, -n, --id, --place, --largest and --mode select rows; of a table that does "
        "not say its collective or its ranks, -c and -n say them. docs/validate.md explains the "
        "output.",
    .examples =
        {"validate recordings/h200x4/forced-4-ranks.yaml",
         "validate my-nccl-tests.log -t dgx-h100 --require median=10,choice=95",
         "validate recordings/published/*.yaml --engine analytic",
         "validate recordings/h200x4/tcp.yaml --id tcp-forced/4x1",
         "validate recordings/published/a100x8-80gb-mpi-allreduce.yaml --format html > a.html"},
    .argument = "recording",
    .needs = "recording",
    .first = "topology collective ranks id place largest mode require engine format",
    .modes = {{"",
               "recording topology calibration collective ranks id place largest mode nccl-version "
               "require engine threads"}},
    .formats = formats_with_page(),
    .values = {{"engine", words("native|analytic", "native")}},
    .run = run_validate,
};

}  // namespace collsim::command
