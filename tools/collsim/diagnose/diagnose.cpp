#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <utility>

#include "models/diagnosis/run_change.h"
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
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim diagnose LOG... [options]";
constexpr std::string_view epilogue =
    "Says whether the busbw of a log is right and, if not, why. Every measured time is held\n"
    "against the simulated one and against what physics allows. Where it is low, causes are\n"
    "simulated (slow and dead links, fewer NICs, no peer-to-peer, no GPUDirect, settings, late\n"
    "ranks, ...) and ranked by how well they fit all sizes.\n"
    "\n"
    "A log is nccl-tests' text or JSON (-J), with or without lines of NCCL_DEBUG=INFO, or a\n"
    "recording as in `collsim validate`; `-` is standard input. A file of INFO lines alone\n"
    "belongs to all logs, and so does a description of the host: `nvidia-smi topo -m`, NCCL's\n"
    "topology (NCCL_TOPO_DUMP_FILE) or `lstopo --of xml`. A table alone will do: busbw / algbw "
    "says its collective and ranks, or\n"
    "-c and -n do. Without -t the machine is told by the log. Logs of the same call on several\n"
    "hosts are held against each other as well. Exit code 1 means that a log is not healthy.\n"
    "\n"
    "--compare holds the second of two logs against the first, size by size and without a "
    "machine;\n"
    "exit code 1 means that a call got slower by more than noise and the threshold.\n"
    "\n"
    "  collsim diagnose all_reduce_perf.log\n"
    "  collsim diagnose pairs/*.log nccl-info.log -t dgx-h100-x4\n"
    "  collsim diagnose all_reduce_perf.log nvidia-smi.txt --nic 4x200Gb/s --keep machine.yaml\n"
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
      ("nodes", po::value<std::int64_t>(),
       "hosts that the ranks were on, in place of the log's")  //
      ("fabric", po::value<std::string>(),
       "network between the hosts: a file, or a shipped name (default: the likeliest)")  //
      ("nic", po::value<std::string>(),
       "what the log does not say of the hosts' NICs: 200Gb/s, or 4x200Gb/s")                //
      ("keep", po::value<OutputFile>(), "write the machine that was composed to this file")  //
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
       "with --compare: percent that a time may change")     //
      ("brief", po::bool_switch(), "one line for each log")  //
      ("no-causes", po::bool_switch(), "the verdict alone, without a search for causes");
  add_format_option(options, {Format::table, Format::json, Format::junit, Format::prometheus,
                              Format::markdown, Format::html});
  return options;
}

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
    if (format != Format::table) {
      throw InputError(fmt::format("--brief with --format {}", to_string(format)),
                       "one of the two");
    }
    return print_diagnosis_brief(logs, out);
  }
  if (format == Format::junit) return print_diagnosis_junit(logs, out);
  if (format == Format::prometheus) return print_diagnosis_prometheus(logs, out);
  write_answer(format, answer_of(logs, command), out);
}

}  // namespace

int run_diagnose(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(diagnose_options(), usage, epilogue, "log", args, out);
  if (!values) return exit_ok;
  if (!values->contains("log")) {
    throw InputError("diagnose: no log", "collsim diagnose LOG..., or --help");
  }
  if ((*values)["compare"].as<bool>()) return compare_two_logs(*values, out);
  const std::vector<DiagnosedLog> diagnosed =
      diagnose_logs(read_log_files((*values)["log"].as<std::vector<std::string>>(), err), *values,
                    load_spread(), err);
  print_diagnosis(diagnosed, *values, command_text("diagnose", args), out);
  return verdict_of(diagnosed) == Verdict::healthy ? exit_ok : exit_answer_is_no;
}

}  // namespace collsim::command
