// What rows of recordings and logs say, and what is made of it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

const std::string header = "id,ranks,nodes_x_gpus,collective,bytes,time_us_mean_over_ranks,env\n";

Outcome validated(const std::string& rows, const std::string& machine) {
  const test::TemporaryFile file("rows.csv", header + rows);
  return run(
      {"validate", file.path().string(), "-t", machine, "--engine", "analytic", "--format", "csv"});
}

TEST(RecordedInput, a_value_that_nccl_does_not_know_is_said) {
  for (const char* const value : {"NCCL_PROTO=Simpel", "NCCL_ALGO=Rings", "NCCL_NTHREADS=many",
                                  "NCCL_BUFFSIZE=4M", "NCCL_P2P_LEVEL=FAR"}) {
    const Outcome outcome =
        validated(std::string("f,8,1x8,all_reduce,67108864,400,") + value + "\n", "dgx-h100");
    EXPECT_EQ(outcome.status, exit_answer_is_no) << value;
    EXPECT_NE(outcome.err.find(value), std::string::npos) << outcome.err;
  }
}

TEST(RecordedInput, hosts_that_a_machine_has_not_are_refused) {
  for (const char* const row :
       {"f,8,8x1,all_reduce,67108864,4000,\n", "f,8,2x4,all_reduce,67108864,4000,\n"}) {
    const Outcome outcome = validated(row, "dgx-h100");
    EXPECT_EQ(outcome.status, exit_bad_input) << outcome.out;
    EXPECT_NE(outcome.err.find("-t MACHINE-x"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(validated("f,8,4x2,all_reduce,67108864,4000,\n", "dgx-h100-x4").status, exit_ok);
}

// 16 GiB through a port of 50 GB/s take 343597.38 us, which print as 343597.
TEST(RecordedInput, half_a_printed_digit_is_no_impossibility) {
  const test::TemporaryFile machine("one.yaml", "");
  const auto status = [&](const std::string& time) {
    const test::TemporaryFile file("rows.csv",
                                   header + "f,2,2x1,send_recv,17179869184," + time + ",\n");
    return run({"validate", file.path().string(), "-t", "dgx-h100-x2", "--engine", "analytic"}).out;
  };
  EXPECT_EQ(status("343597").find("impossible"), std::string::npos) << status("343597");
  EXPECT_NE(status("343590").find("impossible"), std::string::npos);
  EXPECT_NE(status("343597.00").find("impossible"), std::string::npos);
}

TEST(RecordedInput, no_path_that_a_log_names_is_opened) {
  const test::TemporaryFile beside("beside.txt", "");
  const std::filesystem::path pipe = beside.path().parent_path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* const name : {"NCCL_TOPO_FILE=", "NCCL_GRAPH_FILE="}) {
    const Outcome outcome =
        validated("f,8,1x8,all_reduce,67108864,400," + (name + pipe.string()) + "\n", "dgx-h100");
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    EXPECT_NE(outcome.err.find("no file is opened"), std::string::npos) << outcome.err;
  }
  const test::TemporaryFile named(
      "rows.csv", "id,ranks,collective,bytes,time_us_mean_over_ranks\n# topology: " +
                      pipe.string() + "\nf,8,all_reduce,1048576,400\n");
  EXPECT_EQ(run({"validate", named.path().string()}).status, exit_bad_input);
  std::filesystem::remove(pipe);
}

TEST(RecordedInput, messages_quote_a_part_of_a_long_value) {
  const std::string value(5000, 'A');
  for (const Outcome& outcome :
       {validated("f," + value + ",1x8,all_reduce,1048576,400,\n", "dgx-h100"),
        validated("f,8,1x8,all_reduce,1048576,400,NCCL_ALGO=" + value + "\n", "dgx-h100"),
        run({"run", "dgx-h100", "-b", value}), run({"run", value}),
        run({"run", "dgx-h100", "--env", "NCCL_PROTO=" + value})}) {
    EXPECT_NE(outcome.status, exit_ok);
    EXPECT_LT(outcome.err.size(), 1500U) << outcome.err;
  }
}

TEST(EmptyAnswer, nothing_proved_is_no) {
  const std::string four =
      std::string(COLLSIM_SOURCE_DIR) + "/tests/data/msccl/allreduce-ring-4.xml";
  for (const auto& words :
       {std::vector<std::string>{"check", "-a", four, "--ranks", "8"},
        std::vector<std::string>{"check", "-t", "dgx-h100-x512"},
        std::vector<std::string>{"check", "-c", "all_to_all", "--ranks", "100"}}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, exit_answer_is_no) << outcome.out;
    EXPECT_NE(outcome.err.find("nothing is proved"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace collsim::command
