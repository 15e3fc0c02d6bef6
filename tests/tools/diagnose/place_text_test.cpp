// Many names of places are said in few words.

#include "tools/collsim/diagnose/place_text.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

TEST(PlaceText, joins_numbers_that_follow_each_other) {
  EXPECT_EQ(places_text({"rank 9", "rank 8", "rank 3"}), "rank 3, rank [8..9]");
  EXPECT_EQ(places_text({"node0/gpu0"}), "node0/gpu0");
}

TEST(PlaceText, joins_nodes_with_the_same_devices) {
  EXPECT_EQ(places_text({"node0/nic2", "node0/nic3", "node1/nic2", "node1/nic3", "node1/nic0"}),
            "node[0..1]/nic[2..3], node1/nic0");
  // Nine comes before ten.
  EXPECT_EQ(places_text({"node10/nic0", "node9/nic0", "node11/nic0"}), "node[9..11]/nic0");
}

}  // namespace
}  // namespace collsim
