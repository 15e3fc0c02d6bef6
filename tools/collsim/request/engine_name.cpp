#include "tools/collsim/request/engine_name.h"

#include <fmt/format.h>

#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"

namespace collsim::command {

EngineName parse_engine(const std::string& name) {
  if (name == "auto" || name == "native") return EngineName::native;
  if (name == "simgrid") {
    load_engine(Engine::simgrid);  // nothing is printed before it is known to be there
    return EngineName::simgrid;
  }
  if (name == "analytic") return EngineName::analytic;
  throw InputError(fmt::format("--engine: unknown engine '{}'", name),
                   "auto, native, simgrid or analytic");
}

std::string_view name_of(EngineName engine_name) {
  switch (engine_name) {
    case EngineName::native:
      return "native";
    case EngineName::simgrid:
      return "simgrid";
    case EngineName::analytic:
      return "analytic";
  }
  return "";
}

}  // namespace collsim::command
