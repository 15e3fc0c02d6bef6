#include "tools/collsim/core/answerer.h"

#include <fmt/format.h>

#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"

namespace collsim::command {

Answerer parse_engine(const std::string& name) {
  if (name == "auto" || name == "native") return Answerer::native;
  if (name == "simgrid") {
    load_engine(Engine::simgrid);  // nothing is printed before it is known to be there
    return Answerer::simgrid;
  }
  if (name == "analytic") return Answerer::analytic;
  throw InputError(fmt::format("--engine: unknown engine '{}'", name),
                   "auto, native, simgrid or analytic");
}

std::string_view name_of(Answerer answerer) {
  switch (answerer) {
    case Answerer::native:
      return "native";
    case Answerer::simgrid:
      return "simgrid";
    case Answerer::analytic:
      return "analytic";
  }
  return "";
}

}  // namespace collsim::command
