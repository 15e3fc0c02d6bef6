// Faults on small machines whose times can be worked out by hand: a send between two GPUs, a ring.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/engines.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"

namespace collsim {
namespace {

/// Two GPUs on the network, joined by two switches: 1 GB/s a link, no latency. Traffic takes one of
/// the two ways.
constexpr const char* two_ways = R"(collsim: topology/1
name: two ways
calibration: ideal
nodes: { count: 2, devices: [{ id: gpu0, kind: gpu }] }
fabric:
  kind: custom
  devices: [{ id: "leaf[0..1]" }]
  links:
    - { from: "node[0..1]/gpu0", to: leaf0, bandwidth: 1 GB/s }
    - { from: "node[0..1]/gpu0", to: leaf1, bandwidth: 1 GB/s }
)";

/// The same with one switch.
constexpr const char* one_way = R"(collsim: topology/1
name: one way
calibration: ideal
nodes: { count: 2, devices: [{ id: gpu0, kind: gpu }] }
fabric:
  kind: custom
  devices: [{ id: leaf0 }]
  links: [{ from: "node[0..1]/gpu0", to: leaf0, bandwidth: 1 GB/s }]
)";

class MachineFaultsTest : public testing::TestWithParam<Engine> {
 protected:
  /// Rank 0's time, in seconds, to send so many bytes to rank 1: `broadcast` of two ranks.
  static double time_of(const char* machine, std::initializer_list<const char*> texts,
                        std::int64_t bytes = 1'000'000'000, std::uint64_t seed = 0) {
    const test::TemporaryFile file("machine.yaml", machine);
    const Topology topology = load_topology(file.path());
    const Calibration cost = calibration_for(topology);
    std::vector<Fault> faults;
    for (const char* text : texts) faults.push_back(parse_fault(text));
    RunSpec run;
    run.schedule = ScheduleKind::textbook;
    const CallCompiler compiler({&topology, cost, Collective::broadcast, run,
                                 first_gpus(topology, 2), 0,
                                 find_faults(faults, topology, 2, seed)});
    return simulate(compiler.plan(Bytes{bytes}), {.engine = GetParam()}).time.value;
  }
  static void expect_time(double actual, double expected) {
    EXPECT_NEAR(actual, expected, 1e-9 * expected);
  }
};

// 1 GB at 1 GB/s.
TEST_P(MachineFaultsTest, healthy) {
  expect_time(time_of(one_way, {}), 1);
}

// At a tenth of the rate it takes ten times as long, by share, by rate, and by what others take.
TEST_P(MachineFaultsTest, a_degraded_port) {
  expect_time(time_of(one_way, {"link: node0/gpu0, bandwidth: 10%"}), 10);
  expect_time(time_of(one_way, {"link: node1/gpu0, bandwidth: 100 MB/s"}), 10);
  expect_time(time_of(one_way, {"{ link: node1/gpu0 - leaf0, traffic: 900 MB/s }"}), 10);
}

// A host with one port is as slow as its port; its rank begins so much later: 1 s + 0.5 s.
TEST_P(MachineFaultsTest, a_degraded_host) {
  expect_time(time_of(one_way, {"host: node0, bandwidth: 10%"}), 10);
  expect_time(time_of(one_way, {"host: node0, late: 500 ms"}), 1.5);
  expect_time(time_of(one_way, {"host: \"node[0..1]\", bandwidth: 50%"}), 2);
}

// Only what leaves node 0 matters, and what enters node 1.
TEST_P(MachineFaultsTest, one_direction) {
  expect_time(time_of(one_way, {"link: node0/gpu0, bandwidth: 50%, direction: out"}), 2);
  expect_time(time_of(one_way, {"link: node0/gpu0, bandwidth: 50%, direction: in"}), 1);
  expect_time(time_of(one_way, {"link: node0/gpu0 -> leaf0, bandwidth: 50%"}), 2);
  expect_time(time_of(one_way, {"link: leaf0 -> node0/gpu0, bandwidth: 50%"}), 1);
}

// Of two faults of one link the worse counts; traffic takes of what is left: 0.5 - 0.3 = 0.2.
TEST_P(MachineFaultsTest, several_on_one_link) {
  expect_time(
      time_of(one_way, {"link: node0/gpu0, bandwidth: 50%", "link: node0/gpu0, bandwidth: 80%",
                        "link: node0/gpu0, traffic: 300 MB/s"}),
      5);
}

// 0.2 GB by 0.2 s, then 0.1 GB/s until 1.2 s: 0.3 GB; the other 0.7 GB at 1 GB/s: over at 1.9 s.
TEST_P(MachineFaultsTest, a_fault_for_a_while) {
  expect_time(time_of(one_way, {"link: node0/gpu0, bandwidth: 10%, from: 200 ms, until: 1.2 s"}),
              1.9);
}

// Nothing moves from 0.2 s to 0.7 s, too short for anybody to notice.
TEST_P(MachineFaultsTest, a_flap_is_waited_for) {
  expect_time(time_of(two_ways, {"device: leaf0, dead: true, from: 200 ms, until: 700 ms, "
                                 "detect: 2 s",
                                 "device: leaf1, dead: true, from: 200 ms, until: 700 ms, "
                                 "detect: 2 s"}),
              1.5);
}

// Dead before the call: the other switch from the start. Dead at 0.2 s: whichever way is taken
// stands still until it is noticed at 0.5 s, the rest goes the other way: 1.3 s; and 1 s if the
// way is the other one.
TEST_P(MachineFaultsTest, traffic_leaves_a_dead_link) {
  expect_time(time_of(two_ways, {"device: leaf0, dead: true"}), 1);
  expect_time(time_of(two_ways, {"device: leaf1, dead: true"}), 1);
  const double first =
      time_of(two_ways, {"device: leaf0, dead: true, from: 200 ms, detect: 300 ms"});
  const double second =
      time_of(two_ways, {"device: leaf1, dead: true, from: 200 ms, detect: 300 ms"});
  expect_time(std::max(first, second), 1.3);
  expect_time(std::min(first, second), 1);
}

// What moved to the other way shares it with nobody; what it finds there is slow: 0.2 GB by 0.2 s,
// nothing until 0.5 s, 0.8 GB at 0.5 GB/s: 2.1 s. Or 2 s if it was there all the time.
TEST_P(MachineFaultsTest, the_way_round_may_be_degraded_too) {
  const double first = time_of(two_ways, {"device: leaf0, dead: true, from: 200 ms, detect: 300 ms",
                                          "device: leaf1, bandwidth: 50%"});
  const double second = time_of(
      two_ways,
      {"device: leaf1, dead: true, from: 200 ms, detect: 300 ms", "device: leaf0, bandwidth: 50%"});
  expect_time(std::max(first, second), 2.1);
  expect_time(std::min(first, second), 2);
}

TEST_P(MachineFaultsTest, without_another_way_the_call_hangs) {
  for (const char* fault :
       {"device: leaf0, dead: true", "device: leaf0, dead: true, from: 100 ms, detect: 1 ms"}) {
    try {
      time_of(one_way, {fault});
      FAIL() << fault;
    } catch (const HangError& error) {
      EXPECT_EQ(error.rank(), 0U);
      EXPECT_NE(std::string(error.what())
                    .find("hangs at step 1 of 1 of rank 0 (channel 0), "
                          "waiting for its bytes to reach rank 1"),
                std::string::npos)
          << error.what();
    }
  }
}

// The message is there a millisecond later; a rank that is late by 2 s makes all of that wait.
TEST_P(MachineFaultsTest, latency_and_late_ranks) {
  expect_time(time_of(one_way, {"link: node0/gpu0, latency: 1 ms"}), 1.001);
  expect_time(time_of(one_way, {"link: node0/gpu0, latency: 1 ms, direction: in"}), 1);
  expect_time(time_of(one_way, {"rank: 0, late: 2 s"}), 3);
  expect_time(time_of(one_way, {"rank: 1, late: 500 ms"}), 1);
}

// Jitter is the message's alone: it is below its limit, the same every time, and another with
// another seed.
TEST_P(MachineFaultsTest, jitter_is_seeded) {
  const double once = time_of(one_way, {"link: node0/gpu0, jitter: 1 ms"});
  EXPECT_GT(once, 1);
  EXPECT_LT(once, 1.001);
  EXPECT_EQ(time_of(one_way, {"link: node0/gpu0, jitter: 1 ms"}), once);
  EXPECT_NE(time_of(one_way, {"link: node0/gpu0, jitter: 1 ms"}, 1'000'000'000, 1), once);
}

INSTANTIATE_TEST_SUITE_P(Engines, MachineFaultsTest, testing::ValuesIn(test::fair_engines()),
                         [](const auto& engine) { return std::string(to_string(engine.param)); });

std::string error_of(const char* text) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  return test::error_of(
      [&] { return find_faults(std::vector<Fault>{parse_fault(text)}, topology, 32); });
}

TEST(BadFault, says_what_would_be_accepted) {
  EXPECT_EQ(error_of("{link: node3/nci1, bandwidth: 10%}"),
            "--fault:1:8: '4 x DGX H100, NDR fat-tree, rail optimised' has no device 'node3/nci1'; "
            "a device of it, such as node3/nic1, node0/nic1, node1/nic1");
  EXPECT_EQ(error_of("{link: node0/nic0 - node0/nic1, dead: true}"),
            "--fault:1:8: no link joins node0/nic0 and node0/nic1; one of node0/nic0's: to "
            "node0/pcie0, leaf0");
  EXPECT_EQ(error_of("{link: node0/nic0, traffic: 50 GB/s}"),
            "--fault:1:8: traffic of 50 GB/s on node0/nic0 -> leaf0, which has 50 GB/s; less than "
            "the link has; or dead: true");
  EXPECT_EQ(error_of("{rank: 32, late: 1 s}"), "--fault:1:1: rank 32 of 32 ranks; 0 to 31");
  EXPECT_EQ(error_of("{rank: 3, bandwidth: 10%}"),
            "--fault:1:22: 'bandwidth' cannot be a fault of a rank; a rank may have late or speed; "
            "the other keys are of a link, device or host");
  EXPECT_EQ(error_of("{link: node0/nic0}"),
            "--fault:1:1: a fault that changes nothing; bandwidth, traffic, dead, latency or "
            "jitter");
  EXPECT_EQ(error_of("{link: node0/nic0, dead: true, from: 2 s, until: 1 s}"),
            "--fault:1:50: a fault from 2 s until 1 s; 'until' after 'from'");
  EXPECT_EQ(error_of("host: node4, bandwidth: 10%"),
            "--fault:1:7: '4 x DGX H100, NDR fat-tree, rail optimised' has no host 'node4'; node0 "
            "to node3");
  EXPECT_EQ(error_of("host: node3"),
            "--fault:1:1: a fault that changes nothing; bandwidth, traffic, dead, latency or "
            "jitter; late or speed of its ranks");
}

TEST(BadFault, is_shown_at_its_column_of_the_option) {
  EXPECT_EQ(error_of("link: node0/nic0, bandwidth: 10%, lane: 3").substr(0, 33),
            "--fault:1:35: unknown key 'lane';");
  EXPECT_EQ(error_of("link: node0/nic[0..1], bandwidth: 10%").substr(0, 33),
            "--fault:1:7: 'node0/nic[0..1]' wi");
}

TEST(HostFault, is_a_fault_of_all_its_ports_and_ranks) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  const std::vector<Fault> faults{parse_fault("host: node3, bandwidth: 10%, late: 1 ms")};
  const MachineFaults found = find_faults(faults, topology, 32);
  ASSERT_EQ(found.links.size(), 1U);
  EXPECT_EQ(found.links[0].links.size(), 16U);  // eight NICs, in and out
  for (const LinkId link : found.links[0].links) {
    EXPECT_EQ(topology.link(link).kind, LinkKind::network);
    const bool from_there = topology.node_of(topology.link(link).from) == 3;
    EXPECT_TRUE(from_there || topology.node_of(topology.link(link).to) == 3);
  }
  ASSERT_EQ(found.hosts.size(), 1U);
  EXPECT_EQ(found.hosts[0].node, 3);
  EXPECT_DOUBLE_EQ(found.hosts[0].late.value, 1e-3);
}

}  // namespace
}  // namespace collsim
