#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {

/// A variable of NCCL's that a line of a log says was set.
struct LogSetting {
  std::string name;
  std::string value;
  bool exported = false;  ///< by a shell, so that it holds for all runs that follow
};

/// What a line says was set: "NCCL INFO NCCL_ALGO set by environment to Ring." (and "set to", as
/// NCCL's transports print it), or a line of settings alone, as `env` and `set -x` print them:
/// "+ export NCCL_ALGO=Ring", "-x NCCL_ALGO=Ring \".
std::vector<LogSetting> settings_in(std::string_view line);

/// Which settings the runs of a text have. A setting that is printed belongs to the run whose table
/// follows, wherever the run's header stands, or to the last run where none follows.
class RunSettings {
 public:
  using Variables = std::map<std::string, std::string>;

  /// A command line: what it sets, beside what is exported, is all that the next run has.
  void begin_command(std::string_view line);
  void begin_run();
  void add(const LogSetting& setting);
  /// A row of the run's table has been read.
  void end_of_row();

  /// The variables of the run whose rows are being read.
  const Variables& variables() const { return variables_; }
  /// What was printed after the last row: of the last run.
  const Variables& trailing() const { return since_row_; }

 private:
  Variables exported_;
  Variables command_;
  Variables variables_;
  Variables since_row_;  // printed since the last row
  bool has_rows_ = false;
};

}  // namespace collsim
