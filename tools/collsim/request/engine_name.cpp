#include "tools/collsim/request/engine_name.h"

#include <optional>

#include "sim/base/words.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim::command {

namespace {

std::optional<EngineName> find_engine(std::string_view word) {
  if (word == "auto") return EngineName::native;
  for (const EngineName each : {EngineName::native, EngineName::simgrid, EngineName::analytic}) {
    if (word == name_of(each)) return each;
  }
  return std::nullopt;
}

}  // namespace

void validate(boost::any& value, const std::vector<std::string>& texts, EngineName* /*target*/,
              int) {
  const EngineName engine_name = word_value(value, texts, find_engine);
  // Nothing is printed before it is known to be there.
  if (engine_name == EngineName::simgrid) load_engine(Engine::simgrid);
  value = engine_name;
}

Method method_of(EngineName engine_name, bool exact) {
  if (engine_name == EngineName::analytic) return by_formulas();
  Method method = exact ? message_by_message() : by_simulation();
  method.simulation.engine = engine_name == EngineName::simgrid ? Engine::simgrid : Engine::native;
  return method;
}

std::string_view name_of(EngineName engine_name) {
  return word_for(engine_name, {{EngineName::native, "native"},
                                {EngineName::simgrid, "simgrid"},
                                {EngineName::analytic, "analytic"}});
}

}  // namespace collsim::command
