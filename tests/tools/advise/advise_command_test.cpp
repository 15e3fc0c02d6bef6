// collsim advise: what changes the time, each with its figure.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

using Args = std::vector<std::string>;
using Rows = std::map<std::string, nlohmann::json>;

/// The rows by what is changed.
Rows advise(const Args& more) {
  Args args{"advise", "--format", "json"};
  args.insert(args.end(), more.begin(), more.end());
  Rows rows;
  for (const auto& row : nlohmann::json::parse(output_of(args))) rows[row["change"]] = row;
  return rows;
}

/// The simulated time of an all-reduce of 4 MiB.
double time_of(const Args& more) {
  Args args{"run", "-b", "4M", "-e", "4M", "--format", "json"};
  args.insert(args.end(), more.begin(), more.end());
  return nlohmann::json::parse(output_of(args))[0]["time_us"];
}

class AdviseCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(COLLSIM_SOURCE_DIR); }
};

TEST_F(AdviseCommand, figures_are_those_of_run) {
  const Rows rows = advise({"hgx-h200", "-b", "4M", "-e", "4M"});
  const double now = time_of({"hgx-h200"});
  for (const char* const setting :
       {"NCCL_ALGO=Tree", "NCCL_PROTO=LL", "NCCL_MAX_NCHANNELS=4", "NCCL_ALGO=Ring"}) {
    const double changed = time_of({"hgx-h200", "--env", setting});
    EXPECT_NEAR(rows.at(setting)["mean_ratio"], changed / now, 1e-9) << setting;
    EXPECT_EQ(rows.at(setting)["verdict"], changed > now ? "harms" : "helps");
  }
}

TEST_F(AdviseCommand, says_what_changes_nothing) {
  const Rows rows = advise({"hgx-h200", "-b", "4M", "-e", "4M", "--env", "NCCL_NVLS_ENABLE=0"});
  // One node with peer-to-peer: host memory is not used.
  EXPECT_EQ(rows.at("NCCL_SHM_DISABLE=1")["verdict"], "nothing");
  EXPECT_EQ(rows.at("NCCL_SHM_DISABLE=1")["mean_ratio"], 1.0);
  // Not tried, since it is set or about networks.
  EXPECT_FALSE(rows.contains("NCCL_NVLS_ENABLE=0"));
  EXPECT_FALSE(rows.contains("NCCL_IB_DISABLE=1"));
}

// Hosts of cards whose GPUs talk through host memory: over their CPUs peer-to-peer may be quicker,
// slower or stand still. What opens no such way has its figure.
TEST_F(AdviseCommand, praises_no_peers_over_a_cpu) {
  const auto verdict = [](const Args& more, const char* setting) {
    Args args{"-c", "all_to_all", "-b", "4M", "-e", "4M"};
    args.insert(args.end(), more.begin(), more.end());
    return advise(args).at(setting)["verdict"];
  };
  for (const char* const machine : {"a100-pcie-4", "l40s-8", "pcie-8", "rtx3090-8", "rtx4090-4",
                                    "rtx4090-2-sockets", "rtx5090-8"}) {
    EXPECT_EQ(verdict({machine}, "NCCL_P2P_LEVEL=SYS"), "not modelled") << machine;
  }
  for (const char* const machine : {"a6000-4-bridged", "l40s-4", "rtx2080ti-4"}) {
    EXPECT_EQ(verdict({machine}, "NCCL_P2P_LEVEL=SYS"), "nothing") << machine << ", one switch";
  }
  const test::TemporaryFile nvlink("job.sh", "export NCCL_P2P_LEVEL=NVL\n");
  EXPECT_EQ(
      verdict({"dgx-h100", "--env", "NCCL_P2P_LEVEL=LOC", "--settings", nvlink.path().string()},
              "NCCL_P2P_LEVEL=NVL"),
      "helps");
}

TEST_F(AdviseCommand, knows_placements_and_faults) {
  const Rows rows = advise({"dgx-h100-x4", "-n", "8", "-b", "4M", "-e", "4M", "--fault",
                            "link: node0/nic3, bandwidth: 10%", "--ranks-per-node", "4"});
  const Args asked{"dgx-h100-x4", "-n", "8", "--ranks-per-node", "4"};
  Args faulty = asked;
  faulty.insert(faulty.end(), {"--fault", "link: node0/nic3, bandwidth: 10%"});
  const double now = time_of(faulty);
  EXPECT_NEAR(rows.at("without the fault 'link: node0/nic3, bandwidth: 10%'")["mean_ratio"],
              time_of(asked) / now, 1e-9);
  Args avoided = faulty;
  avoided.insert(avoided.end(), {"--env", "NCCL_IB_HCA=^=mlx5_3"});
  EXPECT_NEAR(rows.at("NCCL_IB_HCA=^=mlx5_3")["mean_ratio"], time_of(avoided) / now, 1e-9);
  EXPECT_LT(rows.at("NCCL_IB_HCA=^=mlx5_3")["mean_ratio"], 1);
  EXPECT_TRUE(rows.contains("ranks on 1 node, 8 on each"));
  // At no distance at all is as much as none.
  ASSERT_TRUE(rows.at("NCCL_P2P_LEVEL=LOC")["mean_ratio"].is_number());
  EXPECT_EQ(rows.at("NCCL_P2P_LEVEL=LOC")["mean_ratio"],
            rows.at("NCCL_P2P_DISABLE=1")["mean_ratio"]);
  EXPECT_FALSE(rows.contains("ranks on 2 nodes, 4 on each"));
}

TEST_F(AdviseCommand, judges_pasted_settings_line_by_line) {
  const test::TemporaryFile file("job.sh",
                                 "export NCCL_IB_HCA=mlx5_0\n"
                                 "export NCCL_BUFFSIZE=16777216\n"
                                 "export NCCL_DEBUG=INFO\n"
                                 "export NCCL_BUFSIZE=1\n"
                                 "export NCCL_NTHREADS=100\n"
                                 "NCCL_VERSION=2.28.3-1\n"
                                 "export NCCL_SHM_DISABLE=0\n"
                                 "export NCCL_SHM_DISABLE=1\n");
  const Rows rows =
      advise({"dgx-h100-x4", "-b", "4M", "-e", "4M", "--settings", file.path().string()});
  const double now = time_of({"dgx-h100-x4"});
  const auto& one_nic = rows.at("NCCL_IB_HCA=mlx5_0");
  EXPECT_EQ(one_nic["verdict"], "harms");
  EXPECT_EQ(one_nic["line"], 1);
  EXPECT_NEAR(one_nic["mean_ratio"], time_of({"dgx-h100-x4", "--env", "NCCL_IB_HCA=mlx5_0"}) / now,
              1e-9);
  EXPECT_EQ(rows.at("NCCL_DEBUG=INFO")["verdict"], "not modelled");
  EXPECT_EQ(rows.at("NCCL_BUFSIZE=1")["verdict"], "unknown to NCCL");
  EXPECT_EQ(rows.at("NCCL_BUFSIZE=1")["note"], "did you mean 'NCCL_BUFFSIZE'?");
  EXPECT_EQ(rows.at("NCCL_VERSION=2.28.3-1")["verdict"], "unknown to NCCL");
  EXPECT_EQ(rows.at("NCCL_VERSION=2.28.3-1")["note"],
            "set by images of containers and builds; NCCL does not read it");
  EXPECT_EQ(rows.at("NCCL_NTHREADS=100")["verdict"], "refused");
  EXPECT_EQ(rows.at("NCCL_NTHREADS=100")["note"],
            "NCCL_NTHREADS=100; a multiple of 32 from 64 to 512");
  EXPECT_EQ(rows.at("NCCL_SHM_DISABLE=0")["verdict"], "overridden");
  EXPECT_EQ(rows.at("NCCL_SHM_DISABLE=1")["verdict"], "nothing");
  EXPECT_NEAR(rows.at("all together")["mean_ratio"],
              time_of({"dgx-h100-x4", "--env", "NCCL_IB_HCA=mlx5_0", "--env",
                       "NCCL_BUFFSIZE=16777216", "--env", "NCCL_SHM_DISABLE=1"}) /
                  now,
              1e-9);
}

TEST_F(AdviseCommand, takes_several_collectives) {
  const Rows rows = advise({"hgx-h200-4", "-c", "all_reduce,all_to_all", "-b", "1M", "-e", "1M"});
  EXPECT_EQ(rows.at("NCCL_ALGO=Tree")["collective"], "all_reduce,all_to_all");
  // Sends and receives know no algorithm: all that changes is the all-reduce.
  EXPECT_EQ(rows.at("NCCL_ALGO=Tree")["most_at"].get<std::string>().substr(0, 14),
            "all_reduce of ");
  EXPECT_TRUE(rows.contains("NCCL_P2P_NVL_CHUNKSIZE=131072"));
}

TEST_F(AdviseCommand, refuses_what_has_no_settings) {
  EXPECT_NE(run({"advise", "switch-8"})
                .err.find("advise: NCCL's settings do not change a textbook's schedule"),
            std::string::npos);
  const test::TemporaryFile file("empty.sh", "export PATH=/bin\n");
  EXPECT_NE(
      run({"advise", "hgx-h200", "--settings", file.path().string()}).err.find("no NCCL_ setting"),
      std::string::npos);
}

}  // namespace
}  // namespace collsim::command
