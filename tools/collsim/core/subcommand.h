#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace collsim::command {

/// The exit codes of every subcommand.
enum ExitCode : int {
  exit_ok = 0,
  exit_answer_is_no = 1,
  exit_bad_input = 2,  ///< also: output that cannot be written
  exit_internal = 3,
  exit_interrupted = 130,  ///< the exit code that a shell gives a program ended by Ctrl-C
};

/// One `collsim <name>`. `args` are the arguments after the name. Data goes to `out`, messages to
/// `err`; throws InputError for bad input.
struct Subcommand {
  std::string_view name;
  std::string_view summary;  ///< one line, for `collsim --help`
  int (*run)(std::span<const std::string> args, std::ostream& out, std::ostream& err);
};

/// The subcommand of that name. Throws InputError with `what` ("unknown subcommand 'x'") and the
/// known names.
const Subcommand& find_subcommand(std::span<const Subcommand> all, std::string_view name,
                                  const std::string& what);
/// One line of help per subcommand: its name, padded to `width`, and its summary.
std::string help_lines(std::span<const Subcommand> all, std::size_t width);

/// Every subcommand, in the order of the help text.
std::span<const Subcommand> subcommands();

/// The actions of `collsim topo`, in the order of its help text.
std::span<const Subcommand> topo_actions();

/// The whole command: picks the subcommand, turns exceptions and failed writes to `out` into
/// messages and exit codes.
int run_command(std::span<const std::string> args, std::ostream& out, std::ostream& err);

/// `collsim --complete WORD...`, which a shell's completion calls: prints what may stand in the
/// place of the last word, a line each. Where that is the name of a file, the one line is `:files`.
int run_complete(std::span<const std::string> args, std::ostream& out, std::ostream& err);

// One per subcommand, each in the file of its name.
int run_advise(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_check(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_choose(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_crossover(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_diagnose(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_estimate(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_exchange(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_explain(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_faults(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_hang(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_list(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_plan(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_replay(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_run(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_step(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_steps(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_trace(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_sweep(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_topo(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_calibrate(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_view(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int run_validate(std::span<const std::string> args, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
