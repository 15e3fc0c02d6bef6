#include "tests/support/test_data.h"

#include <cstdlib>

namespace collsim {

void use_frozen_data() {
  setenv("COLLSIM_DATA", COLLSIM_SOURCE_DIR "/tests/data/frozen", 1);
}

ShippedData::ShippedData() {
  setenv("COLLSIM_DATA", COLLSIM_SOURCE_DIR, 1);
}

ShippedData::~ShippedData() {
  use_frozen_data();
}

}  // namespace collsim
