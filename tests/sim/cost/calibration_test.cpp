// What single costs of a calibration come to, by hand.

#include <gtest/gtest.h>

#include "sim/cost/slice_cost.h"

namespace collsim {
namespace {

ProtocolConstants& simple(Calibration& cost) {
  return cost.protocols[static_cast<std::size_t>(Protocol::simple)];
}

TEST(Startup, adds_what_warps_and_direct_primitives_cost) {
  Calibration cost;
  cost.launch = microseconds(7);
  simple(cost).setup = microseconds(2);
  simple(cost).setup_per_warp = microseconds(0.5);
  cost.corrections.direct_setup = microseconds(1);
  const auto startup = [&](Collective collective, std::uint32_t warps) {
    return in_microseconds(cost.startup(Protocol::simple, collective, 1, warps));
  };
  EXPECT_DOUBLE_EQ(startup(Collective::all_reduce, 4), 7 + 2 + 2 + 1);
  EXPECT_DOUBLE_EQ(startup(Collective::reduce, 4), 7 + 2 + 2);
  EXPECT_DOUBLE_EQ(startup(Collective::reduce_scatter, 0), 7 + 2);
  EXPECT_EQ(cost.of_messages().startup(Protocol::simple, Collective::send_recv, 1, 4),
            microseconds(7 + 2));
}

// Of 80 % of the links that messages get, an eighth is lost: 70 %.
TEST(Messages, lose_links_where_all_send_to_several) {
  Calibration cost;
  cost.efficiency[static_cast<std::size_t>(LinkKind::nvlink)] = 0.8;
  cost.efficiency[static_cast<std::size_t>(LinkKind::pcie)] = 0.5;
  cost.corrections.hol_blocking = 0.125;
  const auto share = [](const Calibration& of, LinkKind kind) {
    return of.efficiency[static_cast<std::size_t>(kind)];
  };
  EXPECT_DOUBLE_EQ(share(cost.of_messages(), LinkKind::nvlink), 0.8);
  EXPECT_DOUBLE_EQ(share(cost.of_mixed_messages(), LinkKind::nvlink), 0.7);
  EXPECT_DOUBLE_EQ(share(cost.of_mixed_messages(), LinkKind::pcie), 0.5);
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

// 9 us, and 0.25 for each of 3 further channels; a group of 2 sends and 2 receives has 1 us for
// each of 3 further operations, whatever its channels.
TEST(Issue, grows_with_the_channels_of_a_collective_or_the_operations_of_a_group) {
  Calibration cost;
  cost.issue = microseconds(9);
  cost.issue_per_channel = microseconds(0.25);
  cost.issue_per_operation = microseconds(1);
  EXPECT_EQ(cost.issue_of(Collective::all_reduce, 8, 0), microseconds(9));
  EXPECT_EQ(cost.issue_of(Collective::all_reduce, 8, 4), microseconds(9.75));
  EXPECT_EQ(cost.issue_of(Collective::all_to_all, 2, 4), microseconds(12));
}

TEST(CudaGraph, has_a_launch_of_its_own_and_no_cpu) {
  Calibration cost;
  cost.launch = microseconds(7);
  cost.issue = microseconds(9);
  cost.issue_per_operation = microseconds(1);
  EXPECT_EQ(cost.of_graph().launch, microseconds(7)) << "where it is not known";
  cost.graph_launch = microseconds(6);
  EXPECT_EQ(cost.of_graph().launch, microseconds(6));
  cost.issue_per_channel = microseconds(1);
  EXPECT_EQ(cost.of_graph().issue_of(Collective::all_to_all, 8, 1), Seconds{});
  EXPECT_EQ(cost.of_graph().issue_of(Collective::all_reduce, 8, 24), Seconds{});
}

// A quarter lost makes the exponent ln 2 / -ln 0.75 = 2.40942; 2 to it is 5.31261.
TEST(ContendedShare, is_least_where_thread_blocks_just_fill_the_link) {
  ProtocolConstants cost;
  cost.corrections.link_contention = 0.25;
  EXPECT_DOUBLE_EQ(contended_share(cost, 1, 0), 0.75);
  EXPECT_NEAR(contended_share(cost, 0.5, 0), 0.930922, 1e-6) << "(1 + 1 / 5.31261)^(-1 / 2.40942)";
  EXPECT_DOUBLE_EQ(contended_share(cost, 2, 0), contended_share(cost, 0.5, 0));
  EXPECT_NEAR(contended_share(cost, 0.001, 0), 1, 1e-6);
  EXPECT_NEAR(contended_share(cost, 1000, 0), 1, 1e-6) << "who waits for the link leaves no gaps";
}

TEST(ContendedShare, grows_as_thread_blocks_fall_out_of_step) {
  ProtocolConstants cost;
  cost.corrections.link_contention = 0.25;
  EXPECT_DOUBLE_EQ(contended_share(cost, 1, 3), 1 - 0.25 / 2) << "1 / sqrt(1 + 3)";
  EXPECT_DOUBLE_EQ(contended_share(cost, 1, 99), 1 - 0.25 / 10);
}

TEST(RateOf, adds_up_the_operations) {
  ProtocolConstants cost;
  EXPECT_EQ(block_rate(cost, {1, 2, 1, 1}), unlimited);
  cost.read = gigabytes_per_second(10);
  cost.write = gigabytes_per_second(2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(block_rate(cost, {1, 2, 1, 1})), 1 / 1.3);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(block_rate(cost, {1, 0, 0, 0})), 10);
}

// Two rounds in which all warps have data, and one in which half of them have. They load, receive,
// store and send to two peers.
TEST(FlagRounds, work_for_each_operation_where_warps_do_not_wait) {
  ProtocolConstants cost;
  cost.work = microseconds(2);
  cost.corrections.multi_peer = microseconds(1);
  const auto time = [&](const FlagRounds& rounds, bool several_peers = false) {
    return in_microseconds(rounds_time(cost, {1, 1, 1, 2}, rounds, several_peers));
  };
  EXPECT_DOUBLE_EQ(time({1000, 400}), 2.5 * 5 * 2);
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5}), 2.5 * 5 * 2 / 2) << "of a lane of half of them";
  EXPECT_DOUBLE_EQ(time({1000, 400}, true), 2.5 * (5 * 2 + 1));
  EXPECT_DOUBLE_EQ(time({0, 400}), 0);
}

// They wait 1 us for each receive and store, and work for each send.
TEST(FlagRounds, wait_as_long_for_few_warps_but_work_less) {
  ProtocolConstants cost;
  cost.wait = microseconds(1);
  cost.work = microseconds(4);
  cost.corrections.multi_peer = microseconds(100);
  const auto time = [&](const FlagRounds& rounds) {
    return in_microseconds(rounds_time(cost, {1, 1, 1, 1}, rounds, true));
  };
  EXPECT_DOUBLE_EQ(time({1000, 400}), 3 * 2 + 2.5 * 4);
  EXPECT_DOUBLE_EQ(time({800, 400}), 2 * (2 + 4));
  EXPECT_DOUBLE_EQ(time({1000, 400, 0.5}), 3 * 2 + 2.5 * 4 / 2);
}

// What a rank loads it has asked for while it waited for its peers; its other operations it had
// not.
TEST(FirstRound, waits_for_own_data_less_where_peers_were_late) {
  ProtocolConstants cost;
  cost.first = microseconds(2);
  const auto load = [&](const MemoryOps& operations, double ready) {
    return in_microseconds(first_round_load(cost, operations, microseconds(ready)));
  };
  EXPECT_DOUBLE_EQ(load({1, 1, 0, 1}, 0), 2);
  EXPECT_DOUBLE_EQ(load({1, 1, 0, 1}, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(load({1, 1, 0, 1}, 3), 0);
  EXPECT_DOUBLE_EQ(load({0, 1, 0, 1}, 0), 0) << "loads nothing";
  EXPECT_DOUBLE_EQ(in_microseconds(first_round_rest(cost, {1, 0, 1, 1})), 2)
      << "stores wait for nobody";
  EXPECT_DOUBLE_EQ(in_microseconds(first_round_rest(cost, {0, 2, 1, 0})), 4) << "of two peers";
}

TEST(Corrections, count_over_nvlink_and_for_their_protocols) {
  Calibration cost;
  cost.corrections.copy_step = microseconds(1);
  cost.corrections.half_block = microseconds(2);
  cost.corrections.multi_peer = microseconds(3);
  const auto of = [&](Protocol protocol, LinkKind kind = LinkKind::nvlink) {
    const Corrections& own = cost.of(protocol, kind).corrections;
    return in_microseconds(own.copy_step + own.half_block + own.multi_peer);
  };
  EXPECT_DOUBLE_EQ(of(Protocol::simple), 1 + 2);
  EXPECT_DOUBLE_EQ(of(Protocol::ll), 3);
  EXPECT_DOUBLE_EQ(of(Protocol::ll128), 2 + 3);
  EXPECT_DOUBLE_EQ(of(Protocol::simple, LinkKind::pcie), 0);
}

// Of a thread block that works with a network, too, the longer step counts.
TEST(Nvls, has_a_port_and_a_step_of_its_own) {
  constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
  constexpr auto network = static_cast<std::size_t>(LinkKind::network);
  constexpr auto pcie = static_cast<std::size_t>(LinkKind::pcie);
  Calibration cost;
  cost.efficiency[0] = 0.8;
  cost.protocols[simple].step = microseconds(2);
  cost.over[simple][network].emplace().step = microseconds(9);
  cost.over[simple][pcie].emplace().step = microseconds(3);
  EXPECT_EQ(cost.of_nvls().efficiency[0], 0.8) << "nothing stated, nothing changed";
  EXPECT_EQ(cost.of_nvls().of(Protocol::simple).step, microseconds(2));
  cost.nvls.efficiency = 0.6;
  cost.nvls.step = microseconds(4);
  const Calibration own = cost.of_nvls();
  EXPECT_EQ(own.efficiency[0], 0.6);
  EXPECT_EQ(own.of(Protocol::simple).step, microseconds(4));
  EXPECT_EQ(own.of(Protocol::simple, LinkKind::pcie).step, microseconds(4));
  EXPECT_EQ(own.of(Protocol::simple, LinkKind::network).step, microseconds(9));
}

TEST(LinksOverCpus, cost_as_pcie_where_nothing_else_is_stated) {
  Calibration cost;
  auto& kinds = cost.over[static_cast<std::size_t>(Protocol::simple)];
  kinds[static_cast<std::size_t>(LinkKind::pcie)].emplace().step = microseconds(2);
  EXPECT_EQ(cost.of(Protocol::simple, LinkKind::cpu).step, microseconds(2));
  EXPECT_EQ(cost.of(Protocol::simple, LinkKind::network).step, Seconds{});
  kinds[static_cast<std::size_t>(LinkKind::cpu)].emplace().step = microseconds(3);
  EXPECT_EQ(cost.of(Protocol::simple, LinkKind::cpu).step, microseconds(3));
}

}  // namespace
}  // namespace collsim
