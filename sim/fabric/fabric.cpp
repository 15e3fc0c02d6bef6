#include "sim/fabric/fabric.h"

#include <stdexcept>

namespace collsim {

RouteId Fabric::add_folded_route(std::span<const Load> /*loads*/) {
  throw std::logic_error("this engine takes no folded routes");
}

}  // namespace collsim
