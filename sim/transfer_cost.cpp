#include "sim/transfer_cost.h"

namespace collsim {

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "";
}

}  // namespace collsim
