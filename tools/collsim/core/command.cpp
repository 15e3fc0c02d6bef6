#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <ios>
#include <new>
#include <ostream>
#include <system_error>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/read_files.h"
#include "sim/execution/disturbance.h"
#include "tools/collsim/core/clean_output.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/version.h"

namespace collsim::command {

namespace {

constexpr std::array table{
    Subcommand{"run",
               "simulate a collective: how long it takes, next to recorded times if there are any",
               run_run},
    Subcommand{"estimate", "the same by formulas, with bounds", run_estimate},
    Subcommand{"explain", "explain one call: what NCCL chooses and why, and where the time goes",
               run_explain},
    Subcommand{"steps", "show an algorithm step by step: what each rank sends, what buffers hold",
               run_steps},
    Subcommand{"view", "write a page that plays one call, or two side by side", run_view},
    Subcommand{"trace", "write what happens in one call as a trace for Perfetto", run_trace},
    Subcommand{"sweep", "run a scenario over a grid of fields, on all cores or under mpirun",
               run_sweep},
    Subcommand{"choose", "NCCL's choices on a machine: rings, trees, algorithm by size",
               run_choose},
    Subcommand{"crossover", "sizes at which algorithms and protocols cross over", run_crossover},
    Subcommand{"plan",
               "what-if questions: which machine, how many nodes, where scaling stops, cost",
               run_plan},
    Subcommand{"step", "how long a step of training takes: layouts, exposed communication, memory",
               run_step},
    Subcommand{"validate", "compare predictions with recorded runs: errors, choices, crossovers",
               run_validate},
    Subcommand{"diagnose", "say whether a log's busbw is right and, if not, why", run_diagnose},
    Subcommand{"hang", "say who made a PyTorch job hang, by dumps of its Flight Recorder",
               run_hang},
    Subcommand{"replay", "say what a job did, by its profiler's traces: calls, waits, exposed time",
               run_replay},
    Subcommand{"calibrate", "fit a machine's cost constants to recorded runs, with intervals",
               run_calibrate},
    Subcommand{"check", "prove that plans deliver every contribution exactly once", run_check},
    Subcommand{"advise", "which NCCL settings, placements and faults change the time, by how much",
               run_advise},
    Subcommand{"exchange",
               "exchange of a mixture of experts, or by a matrix of sizes; what skew costs",
               run_exchange},
    Subcommand{"faults", "degrade every link in turn, to find the one that costs the most time",
               run_faults},
    Subcommand{"topo", "show, check, list, import and compose machines", run_topo},
    Subcommand{"list", "algorithms, engines, protocols, machines, scenarios", run_list},
};

void print_help(std::ostream& out) {
  fmt::print(out,
             "collsim {}: how long a collective takes on a GPU machine, and why\n\n"
             "usage: collsim SUBCOMMAND [options]\n\n",
             COLLSIM_VERSION);
  out << help_lines(table, 10);
  fmt::print(
      out,
      "\nTry `collsim SUBCOMMAND --help`, or one of\n"
      "  collsim run hgx-h200                   all-reduce on 8 x H200, 8 bytes to 1 GiB\n"
      "  collsim run hgx-h200-all-reduce        a scenario: ring and tree against real runs\n"
      "  collsim explain hgx-h200 -b 4M         where the time of one call goes\n"
      "  collsim steps -a ring -n 4             ring all-reduce, step by step\n"
      "  collsim topo show hgx-h200             what a machine looks like\n\n"
      "In every subcommand -t is the machine, -n the number of ranks, -c the collective\n"
      "and -a the algorithm. Options of nccl-tests keep their letters (-b -e -f -i -d -o -r).\n\n"
      "Exit codes: 0 success, 1 the answer is no, 2 bad input, output that cannot be\n"
      "written or no memory, 3 a bug in collsim, 130 after Ctrl-C. If the reader closes\n"
      "the pipe (`| head`), collsim ends silently.\n");
}

/// Whether a question about a call is about one of `exchange`: `-c moe_dispatch`, `-call_to_all_v`.
bool is_of_exchange(std::span<const std::string> args) {
  const std::string& name = args.front();
  if (name != "run" && name != "estimate" && name != "explain") return false;
  const auto names_one = [](std::string_view word) {
    return word.starts_with("moe_") || word == "all_to_all_v" || word == "all_gather_v";
  };
  constexpr std::array options{std::string_view("-c"), std::string_view("--collective")};
  for (std::size_t i = 1; i < args.size(); ++i) {
    for (const std::string_view option : options) {
      const std::string_view word = args[i];
      if (word == option && i + 1 < args.size() && names_one(args[i + 1])) return true;
      if (!word.starts_with(option)) continue;
      const std::string_view rest = word.substr(option.size());
      if (names_one(rest.starts_with('=') ? rest.substr(1) : rest)) return true;
    }
  }
  return false;
}

/// `run`, `estimate` and `explain` of such a call.
int run_as_exchange(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args.front() == "explain") rest.emplace_back("--explain");
  if (args.front() == "estimate") rest.emplace_back("--estimate");
  return run_exchange(rest, out, err);
}

int dispatch(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    print_help(err);
    return exit_bad_input;
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(out);
    return exit_ok;
  }
  if (name == "--version") {
    out << version_text(args.size() > 1 && args[1] == "--verbose");
    return exit_ok;
  }
  if (name == "--complete") return run_complete(args.subspan(1), out, err);
  if (is_of_exchange(args)) return run_as_exchange(args, out, err);
  return find_subcommand(table, name, fmt::format("unknown subcommand '{}'", name))
      .run(args.subspan(1), out, err);
}

/// Turns exceptions into messages, except a failed write, which the caller handles.
int answer(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  try {
    return dispatch(args, out, err);
  } catch (const InputError& error) {
    fmt::print(err, "collsim: {}\n", error.what());
    return exit_bad_input;
  } catch (const HangError& error) {
    fmt::print(err, "collsim: {}\n", error.what());
    return exit_answer_is_no;
  } catch (const std::ios_base::failure&) {
    throw;
  } catch (const std::filesystem::filesystem_error& error) {  // its state is no bug of ours
    fmt::print(err, "collsim: {}: {}; a path that can be looked at\n", error.path1().string(),
               error.code().message());
    return exit_bad_input;
  } catch (const std::bad_alloc&) {
    fmt::print(err, "collsim: not enough memory; fewer ranks, smaller sizes, or more memory\n");
    return exit_bad_input;
  } catch (const std::exception& error) {
    fmt::print(err, "collsim: internal error: {}\n", error.what());
    return exit_internal;
  }
}

}  // namespace

const Subcommand& find_subcommand(std::span<const Subcommand> all, std::string_view name,
                                  const std::string& what) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : all) {
    if (subcommand.name == name) return subcommand;
    names.emplace_back(subcommand.name);
  }
  throw InputError(what, names_instead_of(name, names));
}

std::string help_lines(std::span<const Subcommand> all, std::size_t width) {
  std::string lines;
  for (const Subcommand& subcommand : all) {
    lines += fmt::format("  {:<{}} {}\n", subcommand.name, width, subcommand.summary);
  }
  return lines;
}

std::span<const Subcommand> subcommands() {
  return table;
}

int run_command(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  int status = exit_bad_input;
  CleanOutput clean_out(out);
  CleanOutput clean_err(err);
  try {
    // Report a failed write at once, not at the end: a sweep may take minutes.
    out.exceptions(std::ios::badbit);
    forget_read_files();
    status = answer(args, out, err);
    out.flush();
  } catch (const std::ios_base::failure&) {
    const int reason = errno;
    out.exceptions(std::ios::goodbit);  // printing to a tied stream flushes this one again
    fmt::print(err, "collsim: the output cannot be written: {}\n",
               std::generic_category().message(reason));
    status = exit_bad_input;
  }
  out.exceptions(std::ios::goodbit);
  return status;
}

}  // namespace collsim::command
