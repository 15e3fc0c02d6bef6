#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <utility>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/diagnosis/correctness.h"
#include "models/diagnosis/machine_guess.h"
#include "models/diagnosis/run_change.h"
#include "models/imports/machine.h"
#include "models/recordings/named_rows.h"
#include "models/recordings/readers.h"
#include "models/validation/recorded_call.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/base/text_stream.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/diagnose/comparison_report.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/diagnose/like_logs.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::uint32_t max_ranks = 1U << 20U;
constexpr std::string_view usage = "collsim diagnose LOG... [options]";
constexpr std::string_view epilogue =
    "Says whether the busbw of a log is right and, if not, why. Every measured time is held\n"
    "against the simulated one and against what physics allows. Where it is low, causes are\n"
    "simulated (slow and dead links, fewer NICs, no peer-to-peer, no GPUDirect, settings, late\n"
    "ranks, ...) and ranked by how well they fit all sizes.\n"
    "\n"
    "A log is nccl-tests' text or JSON (-J), with or without lines of NCCL_DEBUG=INFO, or a\n"
    "recording as in `collsim validate`; `-` is standard input. A file of INFO lines alone\n"
    "belongs to all logs. A table alone will do: busbw / algbw says its collective and ranks, or\n"
    "-c and -n do. Without -t the machine is told by the log. Logs of the same call on several\n"
    "hosts are held against each other as well. Exit code 1 means that a log is not healthy.\n"
    "\n"
    "--compare holds the second of two logs against the first, size by size and without a "
    "machine;\n"
    "exit code 1 means that a call got slower by more than noise and the threshold.\n"
    "\n"
    "  collsim diagnose all_reduce_perf.log\n"
    "  collsim diagnose pairs/*.log nccl-info.log -t dgx-h100-x4\n"
    "  collsim diagnose --compare last-week.log today.log\n"
    "  collsim diagnose --brief all_reduce_perf.log || drain this-node\n"
    "  collsim diagnose all_reduce_perf.log --format html > diagnosis.html\n"
    "  mpirun ... all_reduce_perf -b 8 -e 1G -f 2 | collsim diagnose - --format junit";

po::options_description diagnose_options() {
  po::options_description options("options");
  options.add_options()                                                                          //
      ("log", po::value<std::vector<std::string>>()->composing(), "logs; --log may be omitted")  //
      ("topology,t", po::value<std::string>(),
       "machine: a file, or a shipped name (default: the one that the log shows)")  //
      ("collective,c", po::value<std::string>(),
       "only rows of this collective; of a table that does not say its collective, what it is")  //
      ("ranks,n", po::value<std::int64_t>(),
       "only rows of so many ranks; of a table that does not say how many, their number")  //
      ("calibration", po::value<std::string>(),
       "cost constants: a file, or a shipped name (default: the topology's)")  //
      ("nccl-version", po::value<NcclVersion>(),
       "the release whose rules apply (default: the logged one)")                      //
      ("compare", po::bool_switch(), "what changed from the first log to the second")  //
      ("threshold", po::value<double>()->default_value(5),
       "with --compare: percent that a time may change")  //
      ("brief", po::bool_switch(), "one line for each log");
  add_format_option(options, {Format::table, Format::json, Format::junit, Format::prometheus,
                              Format::markdown, Format::html});
  return options;
}

/// A log with a table.
struct Log {
  Recording recording;
  LogFacts facts;
  std::size_t bad_rows = 0;
};

TextFile read_log(const std::string& argument) {
  if (argument != "-") return read_text_file(find_data_file(argument, "recordings"), "a log");
  return read_text_stream(std::cin, "standard input");
}

/// All logs with tables. Facts of files that have none are everybody's; what a log with a table
/// says was set, its rows have, each run its own.
std::vector<Log> read_logs(const std::vector<std::string>& arguments) {
  std::vector<Log> logs;
  LogFacts common;
  for (const std::string& argument : arguments) {
    const TextFile text = read_log(argument);
    LogFacts facts = read_log_facts(text);
    try {
      std::size_t bad_rows = 0;
      Recording recording = read_recording(text, bad_rows);
      facts.variables.clear();
      logs.push_back({std::move(recording), facts, bad_rows});
    } catch (const InputError&) {
      if (!facts.any) throw;
      common = merged(common, facts);
    }
  }
  if (logs.empty()) {
    throw InputError("diagnose: no measured times, but NCCL's log alone",
                     "the output of nccl-tests as well");
  }
  for (Log& log : logs) log.facts = merged(log.facts, common);
  return logs;
}

/// What the options say of rows: which are wanted, and what those are that do not say it.
ValidationOptions row_options(const po::variables_map& values) {
  ValidationOptions options;
  if (values.contains("collective")) options.collective = collective_option(values);
  if (values.contains("ranks")) options.ranks = bounded_option(values, "ranks", 1, max_ranks);
  return options;
}

/// The rows that are wanted, with the collective and ranks that the options name.
void select_rows(Log& log, const ValidationOptions& options) {
  name_rows(log.recording, {options.collective, options.ranks});
  std::erase_if(log.recording.rows, [&](const RecordedRow& row) { return excluded(row, options); });
  if (!log.recording.rows.empty()) return;
  throw InputError(SourcePosition{log.recording.file.string(), 0, 0},
                   "no row is of the collective and ranks that are asked for", "other -c and -n");
}

/// The release whose rules apply.
struct Release {
  NcclVersion version = newest_nccl_version;
  bool is_logged = true;  ///< or asked for, or not known
  std::string logged;     ///< else
  bool is_assumed = false;
};

/// That of a log, whose rules may not be known: then those of the nearest that are.
Release logged_release(const std::string& logged) {
  try {
    return {parse_nccl_version(logged), true, logged, false};
  } catch (const InputError&) {
    const std::vector<std::string> numbers = split(logged, '.');
    const auto minor = numbers.size() > 1 ? whole_number(numbers[1]) : std::nullopt;
    const bool is_old = minor && *minor < oldest_nccl_version.minor_number;
    return {is_old ? oldest_nccl_version : newest_nccl_version, false, logged, false};
  }
}

Release release_of(const Log& log, const po::variables_map& values) {
  if (values.contains("nccl-version")) {
    return {values["nccl-version"].as<NcclVersion>(), true, {}, false};
  }
  const auto& machine = log.recording.machine;
  const auto recorded = machine.find("nccl");
  const std::string logged = recorded == machine.end() ? log.facts.nccl : recorded->second;
  Release release =
      logged.empty() ? Release{newest_nccl_version, true, {}, true} : logged_release(logged);
  if (log.recording.nccl_rules) {
    release.version = *log.recording.nccl_rules;
    release.is_assumed = false;
  }
  return release;
}

/// A log that is not held against a machine.
DiagnosedLog uncompared(const Log& log, Verdict verdict, std::string reason) {
  DiagnosedLog diagnosed{log.recording.file.filename().string(), {}, {}, {}, {}};
  diagnosed.diagnosis.verdict = verdict;
  diagnosed.diagnosis.reason = std::move(reason);
  diagnosed.diagnosis.notes = log.recording.notes;
  return diagnosed;
}

void add_notes_of_release(const Release& release, std::vector<std::string>& notes) {
  if (!release.is_logged) {
    notes.push_back(
        fmt::format("NCCL {} is predicted by the rules of {}: limits are twice as wide "
                    "where the algorithm is not forced",
                    release.logged, to_string(release.version)));
  } else if (release.is_assumed) {
    notes.push_back(
        fmt::format("the log does not say which release of NCCL ran: {} is assumed "
                    "(--nccl-version)",
                    to_string(release.version)));
  }
}

DiagnosedLog diagnose_on(const Log& log, const Topology& topology, const po::variables_map& values,
                         const Spread& spread) {
  if (std::string why = contradiction(log.recording, topology); !why.empty()) {
    return uncompared(log, Verdict::not_this_machine, std::move(why));
  }
  const Calibration cost =
      values.contains("calibration")
          ? with_transports(named_calibration(values["calibration"].as<std::string>()), topology)
          : calibration_for(topology);
  const Release release = release_of(log, values);
  const Recording recording = placed_on(log.recording, topology);
  DiagnosedLog diagnosed{log.recording.file.filename().string(),
                         topology.name(),
                         cost.name,
                         to_string(release.version),
                         {}};
  diagnosed.diagnosis = diagnose(
      {&recording, &log.facts, &topology, &cost, release.version, release.is_logged}, spread);
  std::vector<std::string>& notes = diagnosed.diagnosis.notes;
  add_notes_of_release(release, notes);
  if (log.bad_rows > 0) {
    notes.push_back(fmt::format("{} rows of the table cannot be read", log.bad_rows));
  }
  if (const auto warning = calibration_warning(cost)) notes.push_back(*warning);
  return diagnosed;
}

/// The machine of rows that do not name one.
Topology machine_of(const Log& log, std::ostream& err) {
  GuessedMachine guessed = guessed_machine(log.recording, log.facts);
  if (log.recording.topology.empty()) {
    fmt::print(err, "collsim: {}: assuming {} (-t names another)\n",
               log.recording.file.filename().string(), guessed.name);
  }
  return std::move(guessed.topology);
}

/// A recording may have rows of several machines. Whether its results are right does not depend on
/// any of them.
std::vector<DiagnosedLog> diagnose_log(const Log& log, const po::variables_map& values,
                                       const Spread& spread, std::ostream& err) {
  const Correctness correctness = correctness_of(log.recording, log.facts);
  if (correctness.is_wrong()) {
    return {uncompared(log, Verdict::wrong, describe(correctness, log.recording))};
  }
  if (values.contains("topology")) {
    const Topology topology = load_machine(values["topology"].as<std::string>()).topology;
    return {diagnose_on(log, topology, values, spread)};
  }
  std::vector<DiagnosedLog> diagnosed;
  for (RecordedMachine& part : by_machine(log.recording, {})) {
    const Log of_part{part.recording, log.facts, log.bad_rows};
    const Topology topology =
        part.topology.empty() ? machine_of(of_part, err) : load_machine(part.topology).topology;
    diagnosed.push_back(diagnose_on(of_part, topology, values, spread));
  }
  return diagnosed;
}

/// All logs. One that cannot be told does not end a batch.
std::vector<DiagnosedLog> diagnose_logs(std::vector<Log> logs, const po::variables_map& values,
                                        std::ostream& err) {
  const Spread spread = load_spread();
  const ValidationOptions options = row_options(values);
  std::vector<DiagnosedLog> diagnosed;
  for (Log& log : logs) {
    const Waiting waiting(err, "diagnosing " + log.recording.file.filename().string());
    try {
      select_rows(log, options);
      for (DiagnosedLog& each : diagnose_log(log, values, spread, err)) {
        each.hosts = log.recording.hosts;
        diagnosed.push_back(std::move(each));
      }
    } catch (const InputError& error) {
      if (logs.size() == 1) throw;
      fmt::print(err, "collsim: {}\n", error.what());
      diagnosed.push_back(uncompared(log, Verdict::cannot_tell, error.what()));
    }
  }
  return diagnosed;
}

/// The recording of a log that is to be held against another.
Recording compared_recording(const std::string& argument, const ValidationOptions& options) {
  std::size_t bad_rows = 0;
  Log log{read_recording(read_log(argument), bad_rows), {}, bad_rows};
  select_rows(log, options);
  return std::move(log.recording);
}

int compare_two_logs(const po::variables_map& values, std::ostream& out) {
  const auto& logs = values["log"].as<std::vector<std::string>>();
  const Format format = format_option(values);
  if (logs.size() != 2) {
    throw InputError(fmt::format("--compare of {} logs", logs.size()), "two: before and after");
  }
  if (format != Format::table && format != Format::json) {
    throw InputError(fmt::format("--compare with --format {}", to_string(format)), "table or json");
  }
  const double percent = values["threshold"].as<double>();
  if (!(percent >= 0 && percent <= 100)) {
    throw InputError(fmt::format("--threshold: {}", percent), "percent from 0 to 100");
  }
  const ValidationOptions options = row_options(values);
  const Recording before = compared_recording(logs[0], options);
  const Recording after = compared_recording(logs[1], options);
  const RunChange change = compare_runs(before, after, percent / 100, load_spread());
  Answer answer;
  answer.print = [&](std::ostream& to) { print_comparison_table(before, after, change, to); };
  answer.document = [&] { return comparison_record(before, after, change); };
  write_answer(format, answer, out);
  return change.is_slower() ? exit_answer_is_no : exit_ok;
}

void print_diagnosis(const std::vector<DiagnosedLog>& logs, const po::variables_map& values,
                     const std::string& command, std::ostream& out) {
  const Format format = format_option(values);
  if (values["brief"].as<bool>()) {
    if (format != Format::table) {
      throw InputError(fmt::format("--brief with --format {}", to_string(format)),
                       "one of the two");
    }
    return print_diagnosis_brief(logs, out);
  }
  if (format == Format::junit) return print_diagnosis_junit(logs, out);
  if (format == Format::prometheus) return print_diagnosis_prometheus(logs, out);
  Answer answer;
  answer.print = [&](std::ostream& to) { print_diagnosis_table(logs, to); };
  answer.document = [&] { return diagnosis_record(logs); };
  answer.report = [&] { return report_of(logs, command); };
  write_answer(format, answer, out);
}

}  // namespace

int run_diagnose(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(diagnose_options(), usage, epilogue, "log", args, out);
  if (!values) return exit_ok;
  if (!values->contains("log")) {
    throw InputError("diagnose: no log", "collsim diagnose LOG..., or --help");
  }
  if ((*values)["compare"].as<bool>()) return compare_two_logs(*values, out);
  std::vector<DiagnosedLog> diagnosed =
      diagnose_logs(read_logs((*values)["log"].as<std::vector<std::string>>()), *values, err);
  compare_like_logs(diagnosed);
  print_diagnosis(diagnosed, *values, command_text("diagnose", args), out);
  return verdict_of(diagnosed) == Verdict::healthy ? exit_ok : exit_answer_is_no;
}

}  // namespace collsim::command
