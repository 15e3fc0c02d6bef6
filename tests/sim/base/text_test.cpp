#include "sim/base/text.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

TEST(Split, leaves_out_empty_parts) {
  EXPECT_EQ(split("ring,,tree,", ','), (std::vector<std::string>{"ring", "tree"}));
  EXPECT_EQ(split("a;b", ','), std::vector<std::string>{"a;b"});
  EXPECT_TRUE(split("", ',').empty());
}

}  // namespace
}  // namespace collsim
