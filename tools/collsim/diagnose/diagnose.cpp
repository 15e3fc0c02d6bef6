#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <utility>

#include "models/recordings/readers.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/diagnose/comparison_report.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/diagnose/log_diagnosis.h"
#include "tools/collsim/diagnose/log_files.h"
#include "tools/collsim/diagnose/run_change.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr const char* a_diagnosis = "a diagnosis";

/// The recording of a log that is to be held against another.
Recording compared_recording(const std::string& argument, const ValidationOptions& options) {
  std::size_t bad_rows = 0;
  Recording recording = read_recording(read_log(argument), bad_rows);
  select_rows(recording, options);
  return recording;
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
  write_answer(format, comparison_answer(before, after, change), out);
  return change.is_slower() ? exit_answer_is_no : exit_ok;
}

void print_diagnosis(const std::vector<DiagnosedLog>& logs, const po::variables_map& values,
                     const std::string& command, std::ostream& out) {
  const Format format = format_option(values);
  if (values["brief"].as<bool>()) {
    return print_diagnosis_brief(logs, out);
  }
  if (format == Format::junit) return print_diagnosis_junit(logs, out);
  if (format == Format::prometheus) return print_diagnosis_prometheus(logs, out);
  write_answer(format, answer_of(logs, command), out);
}

int run_diagnose(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(diagnose_subcommand, args, out);
  if (!values) return exit_ok;
  const bool compares = (*values)["compare"].as<bool>();
  heed_only(*values, diagnose_subcommand, {compares ? "--compare" : a_diagnosis});
  if (compares) return compare_two_logs(*values, out);
  const std::vector<DiagnosedLog> diagnosed =
      diagnose_logs(read_log_files((*values)["log"].as<std::vector<std::string>>(), err), *values,
                    load_spread(), err);
  print_diagnosis(diagnosed, *values, command_text("diagnose", args), out);
  return verdict_of(diagnosed) == Verdict::healthy ? exit_ok : exit_answer_is_no;
}

}  // namespace

const Subcommand diagnose_subcommand{
    .name = "diagnose",
    .summary = "say whether a log's busbw is right and, if not, why",
    .usages = {"LOG... [options]"},
    .answers =
        "Says whether the busbw of a log is right and, if not, why. Every measured time is held "
        "against the simulated one and against what physics allows. Where it is low, causes are "
        "simulated (slow and dead links, fewer NICs, no peer-to-peer, no GPUDirect, settings, late "
        "ranks, ...) and ranked by how well they fit all sizes.",
    .manual =
        "A log is nccl-tests' text or JSON (-J), with or without lines of NCCL_DEBUG=INFO, or a "
        "recording as in `collsim validate`; `-` is standard input. A file of INFO lines alone "
        "belongs to all logs, and so does a description of the host: `nvidia-smi topo -m`, NCCL's "
        "topology (NCCL_TOPO_DUMP_FILE) or `lstopo --of xml`. A table alone will do: busbw / algbw "
        "says its collective and ranks, or -c and -n do. Without -t the machine is told by the "
        "log, on the likeliest network. Logs of the same call on several hosts are held against "
        "each other as well. Exit code 1 means that a log is not healthy.\n--compare holds the "
        "second of two logs against the first, size by size and without a machine; exit code 1 "
        "means that a call got slower by more than noise and the threshold.",
    .examples = {"diagnose all_reduce_perf.log",
                 "diagnose pairs/*.log nccl-info.log -t dgx-h100-x4",
                 "diagnose --compare last-week.log today.log",
                 "diagnose all_reduce_perf.log nvidia-smi.txt --nic 4x200Gb/s --keep machine.yaml",
                 "diagnose --brief all_reduce_perf.log || drain this-node",
                 "diagnose all_reduce_perf.log --format html > diagnosis.html"},
    .argument = "log",
    .needs = "log",
    .first = "topology nodes fabric nic collective ranks nccl-version compare brief format",
    .modes =
        {{a_diagnosis,
          "log topology nodes fabric nic keep collective ranks calibration nccl-version no-causes",
          "brief"},
         {"--compare", "compare log collective ranks threshold"}},
    .formats = {Format::table, Format::json, Format::junit, Format::prometheus, Format::markdown,
                Format::html},
    .run = run_diagnose,
};

}  // namespace collsim::command
