// Tests predict with frozen calibrations, so that a fit changes none of them; those of what is
// shipped say so (ShippedData).

#include <gtest/gtest.h>

#include "tests/support/test_data.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  collsim::use_frozen_data();
  return RUN_ALL_TESTS();
}
