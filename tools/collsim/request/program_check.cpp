#include "tools/collsim/request/program_check.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "models/program/call_order.h"
#include "models/program/call_program_yaml.h"
#include "sim/base/file_format.h"
#include "sim/base/file_status.h"
#include "sim/base/text_file.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

bool is_program(const std::string& name) {
  if (!is_readable_kind(name)) return false;
  return own_kind(read_text_file(name, "a machine or a program").content) == "program";
}

int check_program(const std::string& file, std::ostream& out) {
  const CallOrderVerdict verdict = check_call_order(load_call_program(file));
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
  return exit_ok;
}

}  // namespace collsim::command
