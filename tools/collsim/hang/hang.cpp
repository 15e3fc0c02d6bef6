#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/hang/dump_files.h"
#include "tools/collsim/hang/hang_analysis.h"
#include "tools/collsim/hang/hang_report.h"
#include "tools/collsim/hang/hang_words.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace {

Seconds patience_option(const std::string& text) {
  if (text == "0") return Seconds{0};
  try {
    return parse_time(text);
  } catch (const QuantityError& error) {
    throw InputError(fmt::format("--patience: {}", error.what()), "a time, as in 90s");
  }
}

void print_notes(const DumpFiles& files, std::ostream& err) {
  for (const UnreadDump& each : files.unread) {
    fmt::print(err, "collsim: {} counts as not dumped: {}\n",
               each.rank ? rank_words({*each.rank}) : "a rank", each.why);
  }
  for (const std::string& file : files.skipped) {
    fmt::print(err, "collsim: {}: no dump, passed over\n", file);
  }
}

int run_hang(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(hang_subcommand, args, out);
  if (!values) return exit_ok;
  HangOptions options;
  if (values->contains("patience")) {
    options.patience = patience_option((*values)["patience"].as<std::string>());
  }
  DumpFiles files = load_dumps((*values)["dump"].as<std::vector<std::string>>());
  print_notes(files, err);
  std::vector<std::uint32_t> unread;
  for (const UnreadDump& each : files.unread) {
    if (each.rank) unread.push_back(*each.rank);
  }
  const Job job = assemble_job(std::move(files.records), unread);
  const HangAnalysis analysis = analyse_hang(job, options);
  write_answer(format_option(*values), hang_answer(job, analysis), out);
  return is_hang(analysis.verdict) ? exit_answer_is_no : exit_ok;
}

}  // namespace

const Subcommand hang_subcommand{
    .name = "hang",
    .summary = "say who made a PyTorch job hang, by dumps of its Flight Recorder",
    .usages = {"DUMP... [options]"},
    .answers =
        "Says who made a PyTorch job hang, by dumps of its Flight Recorder: the first call in "
        "which ranks disagree, or the ranks that all others wait for. Exit code 1 means a hang or "
        "a disagreement.",
    .manual =
        "A dump is a pickle (of which only plain data is read) or JSON, one of each rank, in any "
        "order. A folder means the dumps in it. The last number in a file's name is the rank. "
        "Ranks without a dump are named. A wait lasts from the call to the time at which the "
        "dump's file was written.\nPyTorch writes dumps with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 "
        "TORCH_NCCL_DUMP_ON_TIMEOUT=1.",
    .examples = {"hang /tmp/nccl_trace_rank_*", "hang dumps/ --format json",
                 "hang dumps/ --patience 0    every wait is a hang, however short"},
    .argument = "dump",
    .needs = "dump",
    .first = "patience format",
    .modes = {{"", "dump patience"}},
    .formats = {Format::table, Format::json},
    .run = run_hang,
};

}  // namespace collsim::command
