// What a plan says that it assumed.

#include "tools/collsim/plan/network_words.h"

#include <gtest/gtest.h>

#include "tools/collsim/request/change.h"

namespace collsim {
namespace {

TEST(NetworkWords, name_fabric_rails_cables_nics_and_placement) {
  // dgx-h100-x4 is the smallest shipped cluster of the node: its fabric is what nobody named.
  const MachineParts parts = load_parts("dgx-h100");
  EXPECT_EQ(network_in_words(parts),
            "fat tree, rail optimised, 1:1, 400 Gb/s, of dgx-h100-x4; 8 NICs a node (ConnectX-7); "
            "packed");
  EXPECT_EQ(network_in_words(changed(parts, "nics=1,nic=200Gb/s,oversubscription=2")),
            "fat tree, rail optimised, 2:1, 200 Gb/s, of dgx-h100-x4; 1 NIC a node (ConnectX-7); "
            "packed");
  EXPECT_EQ(network_in_words(changed(parts, "fabric=ndr-fat-tree-2-1,placement=interleaved")),
            "fat tree, 2:1, 400 Gb/s, ndr-fat-tree-2-1; 8 NICs a node (ConnectX-7); interleaved");
  EXPECT_EQ(network_in_words(changed(parts, "fabric=ethernet-100g")).find("fat tree, rail"),
            std::string::npos);
  EXPECT_EQ(network_in_words(load_parts("l40s-4")), "no network");
}

}  // namespace
}  // namespace collsim
