#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "models/hang/dump_files.h"
#include "models/hang/hang_analysis.h"
#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/hang/hang_report.h"
#include "tools/collsim/hang/hang_words.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim hang DUMP... [options]";
constexpr std::string_view epilogue =
    "Says who made a PyTorch job hang, by dumps of its Flight Recorder: the first call in which\n"
    "ranks disagree, or the ranks that all others wait for. A dump is a pickle (of which only\n"
    "plain data is read) or JSON, one of each rank, in any order. A folder stands for the dumps\n"
    "in it. The last number in a file's name is the rank. Ranks without a dump are named.\n"
    "Exit code 1 means a hang or a disagreement.\n"
    "\n"
    "PyTorch writes dumps with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1.\n"
    "\n"
    "  collsim hang /tmp/nccl_trace_rank_*\n"
    "  collsim hang dumps/ --format json\n"
    "  collsim hang dumps/ --patience 0    every wait is a hang, however short";

po::options_description hang_options() {
  po::options_description options("options");
  options.add_options()  //
      ("dump", po::value<std::vector<std::string>>()->composing(),
       "dumps; --dump may be omitted")  //
      ("patience", po::value<std::string>(),
       "how long a wait must last to be a hang, as in 90s (default: the call's own timeout). A "
       "wait lasts from the call to the time at which the dump's file was written");
  add_format_option(options, {Format::table, Format::json});
  return options;
}

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

}  // namespace

int run_hang(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(hang_options(), usage, epilogue, "dump", args, out);
  if (!values) return exit_ok;
  if (!values->contains("dump")) {
    throw InputError("hang: no dump", "collsim hang DUMP..., or --help");
  }
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

}  // namespace collsim::command
