#include "tools/collsim/watch/call_stream.h"

#include <gtest/gtest.h>

namespace collsim::command {
namespace {

RankCall line(std::int64_t number, std::int64_t rank, double microseconds) {
  RankCall call;
  call.communicator = "0x1";
  call.name = "AllReduce";
  call.host = rank < 2 ? "a" : "b";
  call.number = number;
  call.bytes = 1 << 20;
  call.rank = rank;
  call.ranks = 4;
  call.nodes = 2;
  call.microseconds = microseconds;
  return call;
}

// Ranks 0 to 3 wait 20, 30, 0 and 10 us for rank 2 in a call of 100 us.
TEST(CallStream, a_call_is_as_long_as_its_last_rank_says) {
  CallStream stream;
  std::vector<StreamedCall> done;
  for (int rank = 0; rank < 4; ++rank) stream.add(line(0, rank, 100), done);  // all have spoken
  done.clear();
  stream.add(line(1, 0, 120), done);
  stream.add(line(1, 1, 130), done);
  stream.add(line(1, 2, 100), done);
  EXPECT_TRUE(done.empty());
  stream.add(line(1, 3, 110), done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].microseconds, 100);
  EXPECT_EQ(done[0].longest, 130);
  EXPECT_EQ(done[0].last_rank, 2);
  EXPECT_EQ(done[0].last_host, "b");
  EXPECT_EQ(done[0].hosts, (std::set<std::string>{"a", "b"}));
}

TEST(CallStream, a_rank_that_is_silent_holds_up_64_calls_at_most) {
  CallStream stream;
  std::vector<StreamedCall> done;
  for (int rank = 0; rank < 4; ++rank) stream.add(line(0, rank, 100), done);
  done.clear();
  for (int number = 1; number <= 100; ++number) stream.add(line(number, 1, 100), done);
  EXPECT_EQ(done.size(), 36U);
  stream.finish(done);
  EXPECT_EQ(done.size(), 100U);
}

TEST(CallStream, a_line_of_a_call_that_is_done_is_passed_over) {
  CallStream stream;
  std::vector<StreamedCall> done;
  for (int rank = 0; rank < 4; ++rank) stream.add(line(0, rank, 100), done);
  done.clear();
  stream.add(line(0, 1, 50), done);
  stream.finish(done);
  EXPECT_TRUE(done.empty());
}

}  // namespace
}  // namespace collsim::command
