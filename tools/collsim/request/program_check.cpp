#include "tools/collsim/request/program_check.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <ostream>

#include "models/program/call_order.h"
#include "models/program/call_program_yaml.h"
#include "models/program/data_movement.h"
#include "sim/base/file_format.h"
#include "sim/base/file_status.h"
#include "sim/base/text_file.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

bool is_program(const std::string& name) {
  if (!is_readable_kind(name)) return false;
  return own_kind(read_text_file(name, "a machine or a program").content) == "program";
}

namespace {

/// Says whether the program's tensors come where they are wanted.
int check_tensors(const CallProgram& program, std::ostream& out) {
  const DataVerdict verdict = check_data(program);
  if (verdict.wrong_count == 0) {
    fmt::print(out,
               "proved: {} slices are there when they are passed on, {} ranks get all they want\n",
               verdict.moves, verdict.ranks);
    return exit_ok;
  }
  fmt::print(out, "WRONG:\n  {}\n", fmt::join(verdict.wrong, "\n  "));
  const std::size_t untold = verdict.wrong_count - verdict.wrong.size();
  if (untold != 0) fmt::print(out, "  and {} more\n", untold);
  return exit_answer_is_no;
}

}  // namespace

int check_program(const std::string& file, std::ostream& out) {
  const CallProgram program = load_call_program(file);
  const CallOrderVerdict verdict = check_call_order(program);
  if (verdict.hangs) {
    fmt::print(out, "hangs: {}\n", verdict.why);
    return exit_answer_is_no;
  }
  if (verdict.hangs_one_at_a_time) {
    fmt::print(out,
               "hangs where a GPU runs one call at a time, in the order in which they are issued: "
               "{}\n",
               verdict.why);
    return exit_answer_is_no;
  }
  fmt::print(out, "cannot hang, whatever the times are\n");
  return program.tensors.empty() ? exit_ok : check_tensors(program, out);
}

}  // namespace collsim::command
