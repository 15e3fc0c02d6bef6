#include "sim/cost/trust.h"

#include "sim/base/words.h"

namespace collsim {

std::string_view to_string(Trust trust) {
  return word_for(trust, {{Trust::exact, "exact"},
                          {Trust::measured, "measured"},
                          {Trust::derived, "derived"},
                          {Trust::guessed, "guessed"}});
}

}  // namespace collsim
