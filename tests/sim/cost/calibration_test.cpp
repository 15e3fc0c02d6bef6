// What single costs of a calibration come to, by hand.

#include "sim/cost/calibration.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

ProtocolCost& simple(Calibration& cost) {
  return cost.protocols[static_cast<std::size_t>(Protocol::simple)];
}

TEST(Startup, adds_what_warps_and_direct_primitives_cost) {
  Calibration cost;
  cost.launch = microseconds(7);
  simple(cost).setup = microseconds(2);
  simple(cost).setup_per_warp = microseconds(0.5);
  simple(cost).direct_setup = microseconds(1);
  const auto startup = [&](Collective collective, std::uint32_t warps) {
    return in_microseconds(cost.startup(Protocol::simple, collective, 1, warps));
  };
  EXPECT_DOUBLE_EQ(startup(Collective::all_reduce, 4), 7 + 2 + 2 + 1);
  EXPECT_DOUBLE_EQ(startup(Collective::reduce, 4), 7 + 2 + 2);
  EXPECT_DOUBLE_EQ(startup(Collective::reduce_scatter, 0), 7 + 2);
  EXPECT_EQ(cost.of_messages().startup(Protocol::simple, Collective::send_recv, 1, 4),
            microseconds(7 + 2));
}

TEST(Startup, takes_longer_with_every_doubling_of_the_channels) {
  Calibration cost;
  cost.launch = microseconds(7);
  cost.launch_per_doubling = microseconds(0.5);
  const auto startup = [&](std::uint32_t channels) {
    return in_microseconds(cost.startup(Protocol::simple, Collective::reduce, channels, 0));
  };
  EXPECT_DOUBLE_EQ(startup(0), 7);
  EXPECT_DOUBLE_EQ(startup(1), 7);
  EXPECT_DOUBLE_EQ(startup(8), 7 + 1.5);
  EXPECT_NEAR(startup(24), 7 + 4.585 / 2, 1e-3);
}

TEST(CudaGraph, has_a_launch_of_its_own_and_no_cpu) {
  Calibration cost;
  cost.launch = microseconds(7);
  cost.issue = microseconds(9);
  cost.issue_per_operation = microseconds(1);
  EXPECT_EQ(cost.of_graph().launch, microseconds(7)) << "where it is not known";
  cost.graph_launch = microseconds(6);
  EXPECT_EQ(cost.of_graph().launch, microseconds(6));
  EXPECT_EQ(cost.of_graph().issue_of(Collective::all_to_all, 8), Seconds{});
}

// Of three quarters of a link that is filled twice, with nothing lost to crowding: all of that.
// Filled to 90 %: 0.75 of 0.9. To a half: nothing is lost.
TEST(CrowdedShare, goes_by_what_is_there_of_the_link) {
  ProtocolCost cost;
  EXPECT_DOUBLE_EQ(cost.crowded_share(2, 0, 0.75), 0.75);
  EXPECT_DOUBLE_EQ(cost.crowded_share(0.9, 0, 0.75), 0.75 / 0.9);
  EXPECT_DOUBLE_EQ(cost.crowded_share(0.5, 0, 0.75), 1);
}

// A quarter lost makes the exponent ln 2 / -ln 0.75 = 2.40942; 2 to it is 5.31261.
TEST(CrowdedShare, is_least_where_thread_blocks_just_fill_the_link) {
  ProtocolCost cost;
  cost.crowding = 0.25;
  EXPECT_DOUBLE_EQ(cost.crowded_share(1, 0), 0.75);
  EXPECT_NEAR(cost.crowded_share(0.5, 0), 0.930922, 1e-6) << "(1 + 1 / 5.31261)^(-1 / 2.40942)";
  EXPECT_DOUBLE_EQ(cost.crowded_share(2, 0), cost.crowded_share(0.5, 0));
  EXPECT_NEAR(cost.crowded_share(0.001, 0), 1, 1e-6);
  EXPECT_NEAR(cost.crowded_share(1000, 0), 1, 1e-6) << "who waits for the link leaves no gaps";
}

TEST(CrowdedShare, grows_as_thread_blocks_fall_out_of_step) {
  ProtocolCost cost;
  cost.crowding = 0.25;
  EXPECT_DOUBLE_EQ(cost.crowded_share(1, 3), 1 - 0.25 / 2) << "1 / sqrt(1 + 3)";
  EXPECT_DOUBLE_EQ(cost.crowded_share(1, 99), 1 - 0.25 / 10);
}

// Two and a half full rounds.
TEST(Rounds, take_longer_where_data_has_left_the_cache) {
  ProtocolCost cost;
  cost.cold_load = microseconds(2);
  cost.cold_receive = microseconds(1);
  const auto time = [&](const Touches& touches) {
    return in_microseconds(cost.rounds(touches, {1000, 400}, {0.5, 0.25}));
  };
  EXPECT_DOUBLE_EQ(time({1, 0, 0, 1}), 2.5);
  EXPECT_DOUBLE_EQ(time({0, 2, 1, 0}), 1.25);
  cost.cold_fan = microseconds(4);
  EXPECT_DOUBLE_EQ(time({0, 2, 1, 0}), 1.25);
  EXPECT_DOUBLE_EQ(time({0, 2, 1, 0, 2}), 1.25 + 5) << "in a tree's code";
}

TEST(RateOf, adds_up_what_is_done_with_a_byte) {
  ProtocolCost cost;
  EXPECT_EQ(cost.rate_of({1, 2, 1, 1}), unlimited);
  cost.rate = {gigabytes_per_second(10), gigabytes_per_second(20), gigabytes_per_second(5),
               gigabytes_per_second(2),  gigabytes_per_second(4),  gigabytes_per_second(40)};
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cost.rate_of({1, 2, 1, 1})), 1 / 0.9);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cost.rate_of({1, 0, 0, 0})), 10);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cost.rate_of({1, 0, 0, 0, 1, 10})), 1 / 0.6)
      << "at the root, with ten other thread blocks";
  cost.fetch = gigabytes_per_second(4);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cost.rate_of({0, 2, 0, 1}, {1, 0.5})), 1 / 0.85)
      << "half of what was received comes from memory";
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cost.rate_of({1, 0, 0, 0}, {1, 0.5})), 1 / 0.35)
      << "all of what is loaded";
}

// Two rounds in which all warps have data, and one in which half of them have.
TEST(Rounds, wait_as_long_for_few_warps_but_work_less) {
  ProtocolCost cost;
  cost.round.load = microseconds(1);
  cost.work.load = microseconds(4);
  cost.work.send = microseconds(2);
  const auto time = [&](const Rounds& rounds) {
    return in_microseconds(cost.rounds({1, 0, 0, 1}, rounds));
  };
  EXPECT_DOUBLE_EQ(time({1000, 400}), 3 * 1 + 2.5 * (4 + 2));
  EXPECT_DOUBLE_EQ(time({800, 400}), 2 * (1 + 4 + 2));
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5}), 3 * 1 + 2.5 * (4 + 2) / 2)
      << "of a lane of half of them";
}

// What a rank loads it has asked for while it waited for its peers; what else it does it had not.
TEST(FirstRound, waits_for_own_data_less_where_peers_were_late) {
  ProtocolCost cost;
  cost.first = {microseconds(2), microseconds(1), microseconds(4), microseconds(8), {}, {}};
  const auto load = [&](const Touches& touches, double ready) {
    return in_microseconds(cost.first_load(touches, microseconds(ready)));
  };
  EXPECT_DOUBLE_EQ(load({1, 1, 0, 1}, 0), 2);
  EXPECT_DOUBLE_EQ(load({1, 1, 0, 1}, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(load({1, 1, 0, 1}, 3), 0);
  EXPECT_DOUBLE_EQ(load({0, 1, 0, 1}, 0), 0) << "loads nothing";
  EXPECT_DOUBLE_EQ(in_microseconds(cost.first_rest({1, 0, 0, 1})), 8);
  EXPECT_DOUBLE_EQ(in_microseconds(cost.first_rest({0, 2, 1, 0})), 2 + 4) << "of two peers";
}

// Three rounds of half of the warps wait 1 us each to receive and 1 to store, and store in 2 us all
// together what full rounds store in 2 each. The last one, half full, has 1 and 0.5 of that.
TEST(Rounds, need_not_wait_for_the_last_stores_of_a_slice) {
  ProtocolCost cost;
  cost.round.receive = microseconds(1);
  cost.round.store = microseconds(1);
  cost.work.store = microseconds(2);
  const auto time = [&](const Rounds& rounds) {
    return in_microseconds(cost.rounds({0, 1, 1, 0}, rounds));
  };
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5}), 3 + 3 + 2.5);
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5, true}), 3 + 3 + 2.5) << "not known better";
  cost.last_store = 0.5;
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5, true}), 3 + 3 + 2.5 - 1.5 / 2);
  cost.last_store = 0;
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5, true}), 3 + 2 + 2);
  EXPECT_DOUBLE_EQ(time({100, 400, 0.5, true}), 1);
  EXPECT_DOUBLE_EQ(time({0, 400, 0.5, true}), 0);
}

}  // namespace
}  // namespace collsim
