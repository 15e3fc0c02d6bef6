#include "models/recordings/log_text.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

// mpirun --tag-output writes its tag where a piece of a line arrives; so does PRRTE (with a blank
// behind), mpirun --timestamp-output with its time, and kubectl logs --prefix.
TEST(LogText, tags_inside_lines_are_left_out) {
  for (const char* tag : {"[1,0]<stdout>:", "[1,127]<stderr>:", "[12345,1]<stddiag>:",
                          "[prterun-host-7@1,3]<stdout>: ", "[pod/worker-0/mpi] ",
                          "Mon Jan  1 10:11:12 2024[1,0]<stdout>:"}) {
    EXPECT_EQ(log_text(std::string("on node-") + tag + "00000C device\nnext\n"),
              "on node-00000C device\nnext\n")
        << tag;
    EXPECT_EQ(log_text(std::string("a") + tag + "b" + tag + "c"), "abc") << tag;
  }
}

TEST(LogText, a_tag_that_begins_a_line_keeps_its_columns) {
  EXPECT_EQ(log_text("[1,0]<stdout>:# Rank  0 on a[1,0]<stdout>:b"),
            "[1,0]<stdout>:# Rank  0 on ab");
}

TEST(LogText, brackets_that_are_no_tags_stay) {
  for (const char* text : {"NCCL INFO Channel 00/0 : 0[0] -> 1[1]", "[0]mlx5_0:1/IB [1]mlx5_1:1",
                           "a<stdout>:b", "x[1,]<stdout>:y", "[a,0]<stdout>:z",
                           "<stdout>:", "]<stdout>:", "b [pod/", "b [pod/x y] z"}) {
    EXPECT_EQ(log_text(text), text);
  }
}

TEST(LogText, is_clean) {
  EXPECT_EQ(log_text("a\r\nb\x1b[31m\x01\xFF\n"), "a \nb\\u0001\xEF\xBF\xBD\n");
}

}  // namespace
}  // namespace collsim
