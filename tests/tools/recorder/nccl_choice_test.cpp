#include "tools/recorder/nccl_choice.h"

#include <gtest/gtest.h>

namespace collsim::recorder {
namespace {

TEST(NcclChoice, IsTheLastOneInTheLog) {
  const auto choice = last_choice(
      "vm:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..1}\n"
      "vm:1:1 [0] NCCL INFO AllReduce: 64 Bytes -> Algo RING proto LL128 "
      "channel{Lo..Hi}={2..11}\n"
      "vm:1:1 [0] NCCL INFO more\n");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->algorithm, "ring");
  EXPECT_EQ(choice->protocol, "ll128");
  EXPECT_EQ(choice->first_channel, 2);
  EXPECT_EQ(choice->last_channel, 11);
}

TEST(NcclChoice, ReadsSymmetricKernels) {
  const auto choice = last_choice(
      "vm:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..1}\n"
      "vm:1:1 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLL_R "
      "nchannels 7 nthreads 512 nWorks 1\n");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->algorithm, "none");
  EXPECT_EQ(choice->kernel, "AllReduce_AGxLL_R");
  EXPECT_EQ(choice->first_channel, 0);
  EXPECT_EQ(choice->last_channel, 6);
}

// NCCL 2.20 to 2.23 write numbers: algorithm 0 is the tree, protocol 2 Simple.
TEST(NcclChoice, ReadsTheNumbersOfOlderVersions) {
  const auto choice = last_choice("vm:1:1 [0] NCCL INFO 64 Bytes -> Algo 0 proto 2 time 8.4\n");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->algorithm, "tree");
  EXPECT_EQ(choice->protocol, "simple");
  EXPECT_FALSE(choice->first_channel);
}

TEST(NcclChoice, IsNothingWhereTheLogSaysNothing) {
  EXPECT_FALSE(last_choice(""));
  EXPECT_FALSE(last_choice("vm:1:1 [0] NCCL INFO Init COMPLETE\n"));
}

TEST(NcclChoice, KnowsTheLastWarning) {
  EXPECT_EQ(last_warning("x NCCL WARN one\nx [1] NCCL WARN two\nx NCCL INFO y\n"), "two");
  EXPECT_EQ(last_warning("x NCCL INFO y\n"), "");
}

}  // namespace
}  // namespace collsim::recorder
