#include "sim/fabric/simgrid_fabric.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sim/base/input_error.h"
#include "sim/base/installation.h"

namespace collsim {
namespace {

using Maker = Fabric* (*)();

/// The module stays loaded: SimGrid does not survive being unloaded.
Maker load_maker() {
  constexpr std::string_view name = "libcollsim-simgrid.so";
  const auto path = find_module(name);
  void* const module = path ? dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (module != nullptr) {
    return reinterpret_cast<Maker>(dlsym(module, "collsim_make_simgrid_fabric"));
  }
  const std::string problem = path ? dlerror() : fmt::format("{} is not installed", name);
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
