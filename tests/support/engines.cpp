#include "tests/support/engines.h"

#include "sim/fabric/simgrid_fabric.h"

namespace collsim::test {

std::vector<Engine> fair_engines() {
  std::vector<Engine> engines{Engine::native};
  if (has_simgrid()) engines.push_back(Engine::simgrid);
  return engines;
}

}  // namespace collsim::test
