#include "tools/collsim/core/warnings.h"

#include <fmt/ostream.h>

#include <ostream>
#include <utility>

#include "models/imports/machine.h"
#include "sim/base/shortened.h"

namespace collsim::command {

void print_warning(const std::string& warning, std::ostream& err) {
  constexpr std::size_t longest = 1024;
  fmt::print(err, "collsim: warning: {}\n", shortened(warning, longest));
}

Topology load_with_warnings(const std::string& name, std::ostream& err) {
  Machine machine = load_machine(name);
  print_warnings(machine.warnings, err);
  return std::move(machine.topology);
}

}  // namespace collsim::command
