#include "sim/plan/protocol.h"

#include "sim/base/words.h"

namespace collsim {

std::string_view to_string(Protocol protocol) {
  return word_for(protocol,
                  {{Protocol::ll, "LL"}, {Protocol::ll128, "LL128"}, {Protocol::simple, "Simple"}});
}

double bytes_per_byte(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 2;
    case Protocol::ll128:
      return 128.0 / 120;
    case Protocol::simple:
      return 1;
  }
  return 1;
}

}  // namespace collsim
