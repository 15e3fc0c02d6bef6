#include "tools/recorder/rank_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace collsim::recorder {
namespace {

// NVIDIA's images set NCCL_VERSION, and builds NCCL_HOME; NCCL reads neither.
TEST(RankEnvironment, RecordsSettingsAndNotWhatImagesSay) {
  setenv("NCCL_VERSION", "2.28.3-1", 1);
  setenv("NCCL_HOME", "/usr/local/nccl", 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_MIN_CTAS", "4", 1);
  recorder::Run run;
  run.environment["NCCL_ALGO"] = "Ring";
  const Environment recorded = recorded_variables(run);
  for (const char* const name : {"NCCL_VERSION", "NCCL_HOME", "NCCL_DEBUG", "NCCL_MIN_CTAS"}) {
    unsetenv(name);
  }
  EXPECT_FALSE(recorded.contains("NCCL_VERSION"));
  EXPECT_FALSE(recorded.contains("NCCL_HOME"));
  EXPECT_FALSE(recorded.contains("NCCL_DEBUG"));
  EXPECT_EQ(recorded.at("NCCL_MIN_CTAS"), "4");
  EXPECT_EQ(recorded.at("NCCL_ALGO"), "Ring");
}

}  // namespace
}  // namespace collsim::recorder
