// NCCL settings in texts as people paste them.

#include "tools/collsim/advise/pasted_settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/nccl/settings/environment.h"

namespace collsim {
namespace {

/// "line NAME=value" of each setting.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const PastedSetting& each : read_pasted_settings({"text", text})) {
    lines.push_back(fmt::format("{} {}={}", each.line, each.name, each.value));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(PastedSettings, are_read_from_a_shell) {
  EXPECT_EQ(settings_of("#!/bin/bash\n"
                        "export NCCL_ALGO=Ring,Tree # both\n"
                        "# export NCCL_DEBUG=INFO\n"
                        "NCCL_THREAD_THRESHOLDS='1 2 3' NCCL_PROTO=\"LL\" ./all_reduce_perf -b 8\n"
                        "setenv NCCL_IB_HCA mlx5_0,mlx5_1\n"
                        "export OMP_NUM_THREADS=4 PATH=/usr/bin\n"
                        "echo $NCCL_DEBUG; unset NCCL_ALGO\n"),
            (Lines{"2 NCCL_ALGO=Ring,Tree", "4 NCCL_THREAD_THRESHOLDS=1 2 3", "4 NCCL_PROTO=LL",
                   "5 NCCL_IB_HCA=mlx5_0,mlx5_1"}));
}

TEST(PastedSettings, are_read_from_docker_and_mpirun) {
  EXPECT_EQ(settings_of("docker run -e NCCL_DEBUG=INFO --env=NCCL_P2P_DISABLE=1 \\\n"
                        "  -e \"NCCL_IB_HCA=^mlx5_2\" image\n"
                        "ENV NCCL_ALGO Ring\n"
                        "mpirun -x NCCL_BUFFSIZE=16777216 -x NCCL_DEBUG app\n"),
            (Lines{"1 NCCL_DEBUG=INFO", "1 NCCL_P2P_DISABLE=1", "2 NCCL_IB_HCA=^mlx5_2",
                   "3 NCCL_ALGO=Ring", "4 NCCL_BUFFSIZE=16777216"}));
}

TEST(PastedSettings, are_read_from_yaml_and_json) {
  EXPECT_EQ(settings_of("env:\n"
                        "  - name: NCCL_ALGO\n"
                        "    value: \"Ring\"\n"
                        "  - { name: NCCL_PROTO, value: LL }\n"
                        "  - NCCL_NTHREADS=256\n"
                        "  NCCL_CROSS_NIC: 1\n"
                        "{ \"NCCL_PXN_DISABLE\": \"1\", \"NCCL_IB_DISABLE\": 0 }\n"),
            (Lines{"2 NCCL_ALGO=Ring", "4 NCCL_PROTO=LL", "5 NCCL_NTHREADS=256",
                   "6 NCCL_CROSS_NIC=1", "7 NCCL_PXN_DISABLE=1", "7 NCCL_IB_DISABLE=0"}));
}

TEST(PastedSettings, keep_slips_in_the_name) {
  EXPECT_EQ(settings_of("export NCLL_ALGO=Ring nccl_debug=INFO NCCL_BUFSIZE=1 NCURSES_X=1\n"),
            (Lines{"1 NCLL_ALGO=Ring", "1 nccl_debug=INFO", "1 NCCL_BUFSIZE=1"}));
}

TEST(NcclVariables, have_a_meaning_for_all_that_are_modelled) {
  const auto variables = load_nccl_variables();
  EXPECT_GT(variables.size(), 150U);
  for (const std::string& name : modelled_nccl_variables()) {
    EXPECT_TRUE(variables.contains(name)) << name;
  }
}

}  // namespace
}  // namespace collsim
