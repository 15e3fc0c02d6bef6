#include "tools/collsim/core/warnings.h"

#include <fmt/ostream.h>

#include <ostream>
#include <utility>

#include "models/imports/machine.h"

namespace collsim::command {

void print_warning(const std::string& warning, std::ostream& err) {
  fmt::print(err, "collsim: warning: {}\n", warning);
}

Topology load_with_warnings(const std::string& name, std::ostream& err) {
  Machine machine = load_machine(name);
  print_warnings(machine.warnings, err);
  return std::move(machine.topology);
}

}  // namespace collsim::command
