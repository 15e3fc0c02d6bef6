#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "models/recordings/readers.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/diagnose/log_diagnosis.h"
#include "tools/collsim/diagnose/log_files.h"
#include "tools/collsim/diagnose/run_change.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

double busbw(const ChangedSize& size, Seconds time) {
  return in_gigabytes_per_second(size.size / time) *
         busbw_factor(size.call.collective, size.call.ranks);
}

/// Of busbw, in percent.
double percent(double ratio) {
  return 100 * (ratio - 1);
}

std::string band_name(const ChangedBand& band) {
  return fmt::format("{} {}", band.bound_by_bandwidth ? "from" : "below",
                     to_string(bandwidth_bound));
}

/// The first line: what became of the run as a whole.
std::string verdict_text(const RunChange& change) {
  const ChangedBand* worst = nullptr;
  const ChangedBand* best = nullptr;
  for (const ChangedBand& band : change.bands) {
    if (band.change == Change::slower && (worst == nullptr || band.ratio < worst->ratio)) {
      worst = &band;
    }
    if (band.change == Change::faster && (best == nullptr || band.ratio > best->ratio)) {
      best = &band;
    }
  }
  const ChangedBand* const told = worst != nullptr ? worst : best;
  if (told == nullptr) return "same: no call differs by more than noise and the threshold";
  return fmt::format("{}: {} {}, busbw {:+.1f} % in the middle of {} sizes",
                     to_string(told->change), name_of(told->call), band_name(*told),
                     percent(told->ratio), told->sizes);
}

/// Adds a size to a table. JSON has the shares of busbw, people its figures.
void add_size(const ChangedSize& size, Table& table) {
  NewRow add(table);
  add.data("collective", to_string(size.call.collective));
  add.data("ranks", size.call.ranks);
  add.data("nodes", size.call.nodes);
  add.data("in_place", size.in_place);
  add({"size_bytes", "size", "(B)"}, size.size.count);
  add({"before_us", "before", "(us)"}, in_microseconds(size.before));
  add({"after_us", "after", "(us)"}, in_microseconds(size.after));
  add.data("busbw_ratio", size.ratio());
  add({"limit", "limit", "(%)", 1, 100}, std::expm1(size.limit));
  add({"change", ""}, to_string(size.change));
}

AnswerSection call_section(const RunChange& change, const RecordedCall& call) {
  Table table;
  for (const ChangedSize& size : change.sizes) {
    if (size.call != call) continue;
    add_size(size, table);
    Record& row = table.rows.back();
    row["before_busbw"] = busbw(size, size.before);
    row["after_busbw"] = busbw(size, size.after);
    row["percent"] = percent(size.ratio());
    if (size.in_place) row["change"] = fmt::format("{} in place", to_string(size.change));
  }
  const std::vector<Column> of_busbw{{"before_busbw", "before", "(GB/s)"},
                                     {"after_busbw", "after", "(GB/s)"},
                                     {"percent", "change", "(%)", 1, 1, 0, 0, true}};
  table.columns.insert(table.columns.end() - 2, of_busbw.begin(), of_busbw.end());
  AnswerSection section{"", {}, {comment(""), comment(name_of(call))}, {std::move(table)}};
  for (const ChangedBand& band : change.bands) {
    if (band.call != call) continue;
    section.after.push_back(comment(fmt::format(
        "{}: {}, {:+.1f} % in the middle of {} size{}", band_name(band), to_string(band.change),
        percent(band.ratio), band.sizes, band.sizes == 1 ? "" : "s")));
  }
  return section;
}

Record document_of(const Recording& before, const Recording& after, const RunChange& change) {
  Record document{{"before", before.file.filename().string()},
                  {"after", after.file.filename().string()},
                  {"verdict", change.is_slower() ? "slower" : "not slower"},
                  {"sizes", Record::array()},
                  {"bands", Record::array()},
                  {"settings", change.settings},
                  {"only_before", change.only_before},
                  {"only_after", change.only_after},
                  {"collsim_version", COLLSIM_VERSION}};
  Table sizes;
  for (const ChangedSize& size : change.sizes) add_size(size, sizes);
  document["sizes"] = std::move(sizes.rows);
  for (const ChangedBand& band : change.bands) {
    document["bands"].push_back({{"collective", to_string(band.call.collective)},
                                 {"ranks", band.call.ranks},
                                 {"nodes", band.call.nodes},
                                 {"bound_by_bandwidth", band.bound_by_bandwidth},
                                 {"sizes", band.sizes},
                                 {"busbw_ratio", band.ratio},
                                 {"change", to_string(band.change)}});
  }
  return document;
}

/// What became of each size and of each band, and settings that differ:
///
///   # all_reduce, 1 host, 8 ranks
///   #      size  before   after  before   after  change  limit  verdict
///   #       (B)    (us)    (us)  (GB/s)  (GB/s)     (%)    (%)
///     134217728  672.20  801.10  349.42  293.20   -16.1    5.0  slower
///
/// JSON is one object: `verdict`, `sizes`, `bands`, `settings`, `only_before`, `only_after`.
Answer comparison_answer(const Recording& before, const Recording& after, const RunChange& change) {
  Answer answer;
  answer.document = document_of(before, after, change);
  answer.head(
      {labelled("verdict", verdict_text(change)),
       comment(fmt::format("collsim {}: {} against {}", COLLSIM_VERSION,
                           after.file.filename().string(), before.file.filename().string()))});
  const RecordedCall* last = nullptr;
  for (const ChangedSize& size : change.sizes) {
    if (last != nullptr && size.call == *last) continue;
    answer.sections.push_back(call_section(change, size.call));
    last = &size.call;
  }
  std::vector<Note> notes;
  for (const std::string& setting : change.settings) notes.push_back(labelled("differs", setting));
  if (change.only_before + change.only_after > 0) {
    notes.push_back(
        labelled("note", fmt::format("{} sizes are in the first log only, {} in the second only",
                                     change.only_before, change.only_after)));
  }
  answer.head(std::move(notes));
  return answer;
}

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
