#include "sim/fabric/simgrid_fabric.h"

#include <dlfcn.h>

#include <array>
#include <string>

#include "sim/base/input_error.h"

namespace collsim {
namespace {

using Maker = Fabric* (*)();

/// Where the module may be: where it was built, beside an installed program, where the system
/// looks.
constexpr std::array module_paths{COLLSIM_SIMGRID_MODULE,
                                  "$ORIGIN/../" COLLSIM_MODULE_DIR "/libcollsim-simgrid.so",
                                  "libcollsim-simgrid.so"};

/// The module stays loaded: SimGrid does not survive being unloaded.
Maker load_maker() {
  std::string problem;
  for (const char* path : module_paths) {
    if (void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
      return reinterpret_cast<Maker>(dlsym(module, "collsim_make_simgrid_fabric"));
    }
    problem = dlerror();
  }
  throw InputError("the simgrid engine cannot be loaded: " + problem,
                   "the native engine, or an installed SimGrid");
}

Maker loaded_maker() {
  static const Maker make = load_maker();
  return make;
}

}  // namespace

std::unique_ptr<Fabric> make_simgrid_fabric() {
  return std::unique_ptr<Fabric>(loaded_maker()());
}

void load_simgrid() {
  static_cast<void>(loaded_maker());
}

bool has_simgrid() {
  return true;
}

}  // namespace collsim
