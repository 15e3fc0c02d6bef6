// Tests predict with frozen calibrations, so that a fit changes none of them; those of what is
// shipped say so (ShippedData). Each process has a temporary folder of its own: tests that run side
// by side write files of one name.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tests/support/test_data.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  collsim::use_frozen_data();
  std::string folder = testing::TempDir() + "collsim-test-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("TEST_TMPDIR", (folder + "/").c_str(), 1);
  const int status = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
