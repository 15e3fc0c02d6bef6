#include "sim/cost/trust.h"

namespace collsim {

std::string_view to_string(Trust trust) {
  switch (trust) {
    case Trust::exact:
      return "exact";
    case Trust::measured:
      return "measured";
    case Trust::derived:
      return "derived";
    case Trust::guessed:
      return "guessed";
  }
  return "";
}

}  // namespace collsim
