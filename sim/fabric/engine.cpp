#include "sim/fabric/engine.h"

#include <array>
#include <cassert>

#include "sim/base/words.h"
#include "sim/fabric/native_fabric.h"
#include "sim/fabric/simgrid_fabric.h"
#include "sim/fabric/uncontended_fabric.h"

namespace collsim {
namespace {

constexpr std::array engines{Engine::native, Engine::simgrid, Engine::uncontended};

constexpr std::array engines_without_simgrid{Engine::native, Engine::uncontended};

}  // namespace

std::string_view to_string(Engine engine) {
  return word_for(engine, {{Engine::native, "native"},
                           {Engine::simgrid, "simgrid"},
                           {Engine::uncontended, "uncontended"}});
}

std::optional<Engine> find_engine(std::string_view name) {
  return value_called(name, engines);
}

std::span<const Engine> all_engines() {
  if (has_simgrid()) return engines;
  return engines_without_simgrid;
}

void load_engine(Engine engine) {
  if (engine == Engine::simgrid) load_simgrid();
}

std::unique_ptr<Fabric> make_fabric(Engine engine) {
  switch (engine) {
    case Engine::native:
      return std::make_unique<NativeFabric>();
    case Engine::simgrid:
      return make_simgrid_fabric();
    case Engine::uncontended:
      return std::make_unique<UncontendedFabric>();
  }
  assert(false);
  return nullptr;
}

}  // namespace collsim
