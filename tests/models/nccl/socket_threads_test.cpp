#include "models/nccl/socket_threads.h"

#include <gtest/gtest.h>

#include "sim/base/input_error.h"

namespace collsim {
namespace {

SocketThreads threads(const char* nic, const std::map<std::string, std::string>& variables = {}) {
  return socket_threads(parse_nccl_environment(variables, default_nccl_version), nic);
}

TEST(SocketThreads, AreTheVendors) {
  EXPECT_EQ(threads("EFA").helpers, 2U);
  EXPECT_EQ(threads("ENA").streams, 16U);
  EXPECT_EQ(threads("gVNIC").helpers, 4U);
  EXPECT_EQ(threads("gVNIC").streams, 4U);
  EXPECT_EQ(threads("ConnectX-7").helpers, 0U);
  EXPECT_EQ(threads("ConnectX-7").streams, 1U);
}

// What is not set stays the vendor's.
TEST(SocketThreads, AreWhatVariablesSay) {
  const SocketThreads four = threads("eth0", {{"NCCL_SOCKET_NTHREADS", "4"}});
  EXPECT_EQ(four.helpers, 4U);
  EXPECT_EQ(four.streams, 4U);
  const SocketThreads aws = threads("EFA", {{"NCCL_SOCKET_NTHREADS", "4"}});
  EXPECT_EQ(aws.streams, 32U);
  // Without threads of its own a connection has one stream, served by the rank's.
  EXPECT_EQ(threads("eth0", {{"NCCL_NSOCKS_PERTHREAD", "4"}}).streams, 1U);
}

TEST(SocketThreads, ServeAtMost64Streams) {
  EXPECT_EQ(
      threads("eth0", {{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "4"}}).streams,
      64U);
  EXPECT_THROW(threads("eth0", {{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "5"}}),
               InputError);
  EXPECT_THROW(threads("eth0", {{"NCCL_SOCKET_NTHREADS", "17"}}), InputError);
}

}  // namespace
}  // namespace collsim
