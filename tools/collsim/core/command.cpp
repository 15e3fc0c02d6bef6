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
#include "sim/execution/machine_events.h"
#include "tools/collsim/core/clean_output.h"
#include "tools/collsim/core/help.h"
#include "tools/collsim/core/old_spellings.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/version.h"

namespace collsim::command {

namespace {

constexpr std::array<std::reference_wrapper<const Subcommand>, 25> table{
    run_subcommand,    estimate_subcommand,  expect_subcommand,    explain_subcommand,
    steps_subcommand,  view_subcommand,      trace_subcommand,     sweep_subcommand,
    choose_subcommand, crossover_subcommand, plan_subcommand,      train_subcommand,
    serve_subcommand,  validate_subcommand,  diagnose_subcommand,  hang_subcommand,
    watch_subcommand,  replay_subcommand,    calibrate_subcommand, check_subcommand,
    advise_subcommand, moe_subcommand,       faults_subcommand,    topo_subcommand,
    list_subcommand};

/// `whole`: with all that a first page leaves out.
void print_help(std::ostream& out, bool whole) {
  fmt::print(out,
             "collsim {}: how long a collective takes on a GPU machine, and why\n\n"
             "usage: collsim SUBCOMMAND [options]\n\n",
             COLLSIM_VERSION);
  out << help_lines(table);
  fmt::print(
      out,
      "\nTry `collsim SUBCOMMAND -h` for a page of help, `--help` for the manual, or one of\n"
      "  collsim run hgx-h200                   all-reduce on 8 x H200, 8 bytes to 1 GiB\n"
      "  collsim explain hgx-h200 -b 4M         where the time of one call goes\n"
      "  collsim steps -a ring -n 4             ring all-reduce, step by step\n");
  if (!whole) return;
  fmt::print(
      out,
      "  collsim run hgx-h200-all-reduce        a scenario: ring and tree against real runs\n"
      "  collsim topo show hgx-h200             what a machine looks like\n\n"
      "In every subcommand -t is the machine, -n the number of ranks, -c the collective\n"
      "and -a the algorithm. Options of nccl-tests keep their letters (-b -e -f -i -d -o -r).\n\n"
      "Exit codes: 0 success, 1 the answer is no, 2 bad input, output that cannot be\n"
      "written or no memory, 3 a bug in collsim, 130 after Ctrl-C. If the reader closes\n"
      "the pipe (`| head`), collsim ends silently.\n");
}

/// Whether a question about a call is about one of `moe`: `-c moe_dispatch`, `-call_to_all_v`.
bool is_of_moe(std::span<const std::string> args) {
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
int run_as_moe(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args.front() == "explain") rest.emplace_back("--explain");
  if (args.front() == "estimate") rest.emplace_back("--estimate");
  return moe_subcommand.run(rest, out, err);
}

int dispatch(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    print_help(err, true);
    return exit_bad_input;
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(out, name != "-h");
    return exit_ok;
  }
  if (name == "--version") {
    out << version_text(args.size() > 1 && args[1] == "--verbose");
    return exit_ok;
  }
  if (name == "--complete") return run_complete(args.subspan(1), out, err);
  refuse_old_command(args);
  if (is_of_moe(args)) return run_as_moe(args, out, err);
  const std::string unknown = fmt::format("unknown subcommand '{}'", name);
  return known_subcommand(table, name, unknown).run(args.subspan(1), out, err);
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

std::string_view Subcommand::last_word() const {
  return std::string_view(name).substr(name.rfind(' ') + 1);
}

const Subcommand* find_subcommand(Subcommands all, std::string_view word) {
  for (const Subcommand& each : all) {
    if (each.last_word() == word) return &each;
  }
  return nullptr;
}

const Subcommand& known_subcommand(Subcommands all, std::string_view word,
                                   const std::string& unknown) {
  if (const Subcommand* const found = find_subcommand(all, word)) return *found;
  std::vector<std::string> names;
  for (const Subcommand& each : all) names.emplace_back(each.last_word());
  throw InputError(unknown, names_instead_of(word, names));
}

Subcommands subcommands() {
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
