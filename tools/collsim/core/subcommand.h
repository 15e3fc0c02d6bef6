#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/core/option.h"

namespace collsim::command {

/// The exit codes of every subcommand.
enum ExitCode : int {
  exit_ok = 0,
  exit_answer_is_no = 1,
  exit_bad_input = 2,  ///< also: output that cannot be written
  exit_internal = 3,
  exit_interrupted = 130,  ///< the exit code that a shell gives a program ended by Ctrl-C
};

/// A way in which a command answers, and the options that it heeds then: their names, with a space
/// between. `--help`, `--time-limit` and `--format` go with every mode.
struct Mode {
  std::string name;     ///< as messages have it: "a program"; empty of a command's only one
  std::string options;  ///< in any format
  /// Heeded in the table alone: nothing else has a place for what they show.
  std::string shown{};
};

struct Subcommand;
using Subcommands = std::span<const std::reference_wrapper<const Subcommand>>;

/// One `collsim <name>`, or an action of one: what it takes, what its help says, and what it does.
struct Subcommand {
  std::string name;                    ///< "plan train"
  std::string summary;                 ///< one line, for `collsim --help`
  std::vector<std::string> usages;     ///< what comes after the name: "MACHINE --model NAME"
  std::string answers;                 ///< the question that it answers, in a paragraph
  Subcommands (*actions)() = nullptr;  ///< what the first argument may name
  std::string manual{};                ///< what the manual says besides: paragraphs
  std::vector<std::string> examples;   ///< words after "collsim"; the short help has three
  std::string argument{};              ///< the option that an argument without an option is
  std::string needs{};                 ///< what that is, where there must be one: "machine"
  std::string first{};                 ///< the options of the short help, ten at most
  std::vector<Mode> modes{};           ///< the command takes what any of them heeds
  std::vector<Format> formats{};       ///< of --format; empty: there is none
  /// Options whose values it reads otherwise than the table says: lists, or other defaults.
  std::map<std::string, OptionValue> values{};
  /// `args` are the arguments after the name. Data goes to `out`, messages to `err`; throws
  /// InputError for bad input.
  int (*run)(std::span<const std::string> args, std::ostream& out, std::ostream& err);

  /// The last word of the name: "train" of "plan train".
  [[nodiscard]] std::string_view last_word() const;
};

/// The subcommand whose name ends with that word; nullptr where none does.
const Subcommand* find_subcommand(Subcommands all, std::string_view word);

/// The subcommand that has to be there: throws InputError with `unknown` ("unknown subcommand 'x'")
/// and the known names.
const Subcommand& known_subcommand(Subcommands all, std::string_view word,
                                   const std::string& unknown);

/// Every subcommand, in the order of the help text.
Subcommands subcommands();

/// The whole command: picks the subcommand, turns exceptions and failed writes to `out` into
/// messages and exit codes.
int run_command(std::span<const std::string> args, std::ostream& out, std::ostream& err);

/// `collsim --complete WORD...`, which a shell's completion calls: prints what may stand in the
/// place of the last word, a line each. Where that is the name of a file, the one line is `:files`.
int run_complete(std::span<const std::string> args, std::ostream& out, std::ostream& err);

// Each in the file of its name.
extern const Subcommand advise_subcommand;
extern const Subcommand calibrate_subcommand;
extern const Subcommand check_subcommand;
extern const Subcommand choose_subcommand;
extern const Subcommand crossover_subcommand;
extern const Subcommand diagnose_subcommand;
extern const Subcommand estimate_subcommand;
extern const Subcommand expect_subcommand;
extern const Subcommand explain_subcommand;
extern const Subcommand faults_subcommand;
extern const Subcommand hang_subcommand;
extern const Subcommand list_subcommand;
extern const Subcommand moe_subcommand;
extern const Subcommand plan_subcommand;
extern const Subcommand replay_subcommand;
extern const Subcommand run_subcommand;
extern const Subcommand serve_subcommand;
extern const Subcommand steps_subcommand;
extern const Subcommand sweep_subcommand;
extern const Subcommand topo_subcommand;
extern const Subcommand trace_subcommand;
extern const Subcommand train_subcommand;
extern const Subcommand validate_subcommand;
extern const Subcommand view_subcommand;
extern const Subcommand watch_subcommand;

}  // namespace collsim::command
