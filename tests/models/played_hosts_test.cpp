// Hosts that a recording played on one machine.

#include "models/played_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/data_directory.h"
#include "sim/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

constexpr BytesPerSecond gigabits(double number) {
  return {number * 1e9 / 8};
}

TEST(PlayedHosts, ids_say_rates_and_faults) {
  const PlayedHosts healthy = played_hosts_of_id("net4x2-5g-Ring-Simple").value();
  EXPECT_EQ(healthy, (PlayedHosts{4, 2, gigabits(5), Bytes{512 << 10}}));
  EXPECT_EQ(played_hosts_of_id("net2x1-5g-b64k-colls").value().burst, Bytes{64 << 10});
  const PlayedHosts slow = played_hosts_of_id("net8x1-5g-slow3-500m-Tree-Simple").value();
  EXPECT_EQ(slow.slow.value(), (PlayedHosts::SlowHost{3, gigabits(0.5)}));
  EXPECT_EQ(played_hosts_of_id("net8x1-5g-oversub4-Ring-Simple").value().uplink, gigabits(5));
}

TEST(PlayedHosts, other_ids_say_nothing) {
  for (const char* id : {"", "auto8", "sock-4x2-auto", "net8x1", "net8-5g-x", "network"}) {
    EXPECT_FALSE(played_hosts_of_id(id)) << id;
  }
}

TEST(PlayedHosts, have_the_first_gpus_of_a_node_and_one_interface_each) {
  const Topology machine = load_topology(find_data_file("hgx-h200", "topologies"));
  PlayedHosts hosts{4, 2, gigabits(5)};
  hosts.slow = {2, gigabits(0.5)};
  hosts.uplink = gigabits(2.5);
  const Topology played = play_hosts(hosts, machine);
  EXPECT_EQ(played.node_count(), 4U);
  EXPECT_EQ(played.gpus().size(), 8U);
  EXPECT_EQ(played.device(played.gpus()[5]).name, "node2/gpu1");
  std::vector<double> rates;  // Gb/s, of one direction
  for (const Link& link : played.links()) {
    if (link.kind != LinkKind::network || link.from > link.to) continue;
    rates.push_back(8e-9 * link.bandwidth.value);
  }
  for (const Link& link : played.links()) {
    if (link.kind != LinkKind::network || link.from < link.to) continue;
    rates.push_back(8e-9 * link.bandwidth.value);
  }
  std::sort(rates.begin(), rates.end());
  EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5, 2.5, 2.5, 5, 5, 5, 5, 5, 5}));
}

TEST(PlayedHosts, need_as_many_gpus) {
  const Topology machine = load_topology(find_data_file("hgx-h200-2", "topologies"));
  EXPECT_THROW(play_hosts({2, 4, gigabits(5)}, machine), InputError);
}

}  // namespace
}  // namespace collsim
