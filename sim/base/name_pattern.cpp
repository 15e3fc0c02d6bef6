#include "sim/base/name_pattern.h"

#include <fnmatch.h>

namespace collsim {

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace collsim
