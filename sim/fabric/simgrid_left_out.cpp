// A build without SimGrid: what simgrid_fabric.cpp defines otherwise.

#include "sim/base/input_error.h"
#include "sim/fabric/simgrid_fabric.h"

namespace collsim {

std::unique_ptr<Fabric> make_simgrid_fabric() {
  load_simgrid();
  return nullptr;
}

void load_simgrid() {
  throw InputError("this collsim was built without the simgrid engine",
                   "engine native, or a build with COLLSIM_SIMGRID=ON");
}

bool has_simgrid() {
  return false;
}

}  // namespace collsim
