// Ports of one NIC that NCCL makes one.

#include "models/nccl/system/net_merge.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/topologies/loader.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

/// Two hosts of two A100 on a PCIe gen4 switch, with one card of two ports of 100 Gb/s.
Topology two_hosts(const std::string& nic_model = "ConnectX-6") {
  return read_topology(
      {"hosts",
       "collsim: topology/1\n"
       "name: hosts\n"
       "nodes:\n"
       "  count: 2\n"
       "  devices:\n"
       "    - { id: \"gpu[0..1]\", kind: gpu, model: A100 }\n"
       "    - { id: \"nic[0..1]\", kind: nic, model: " +
           nic_model +
           ", card: a }\n"
           "    - { id: pcie0, kind: pcie_switch }\n"
           "    - { id: cpu0, kind: cpu }\n"
           "  links:\n"
           "    - { from: gpu0, to: gpu1, kind: nvlink, count: 4, bandwidth: 25 GB/s }\n"
           "    - { from: \"gpu[0..1]\", to: pcie0, kind: pcie, bandwidth: 24 GB/s }\n"
           "    - { from: \"nic[0..1]\", to: pcie0, kind: pcie, bandwidth: 24 GB/s }\n"
           "    - { from: pcie0, to: cpu0, kind: pcie, bandwidth: 24 GB/s }\n"
           "fabric: { kind: single_switch, link: { bandwidth: 100 Gb/s, latency: 1 us } }\n"});
}

Nccl nccl(const std::string& version, const Nccl::Variables& variables = {},
          const Topology& hosts = two_hosts()) {
  return Nccl(hosts, variables, parse_nccl_version(version));
}

const NcclNet& first_net(const Nccl& nccl) {
  return nccl.system().node(nccl.system().of_kind(NcclNodeKind::net).front()).net;
}

// 2 x 12.5 GB/s, of which PCIe leaves 24 to a channel.
TEST(NetMerge, makes_one_nic_of_the_ports_of_a_card) {
  const Nccl merged = nccl("2.30");
  ASSERT_EQ(merged.system().of_kind(NcclNodeKind::net).size(), 1U);
  const NcclNet& net = first_net(merged);
  EXPECT_EQ(net.name, "mlx5_0+mlx5_1");
  EXPECT_EQ(net.nics, (std::vector{0, 1}));
  EXPECT_FLOAT_EQ(net.bandwidth, 25);
  EXPECT_FLOAT_EQ(merged.bandwidth().per_channel, 24);
  // One channel of 24 GB/s, run as two: where each port carries half of a message, each port
  // carries one of the two here.
  EXPECT_EQ(merged.graphs().ring.channel_count(), 1U);
  EXPECT_FLOAT_EQ(merged.graphs().ring.inter_bandwidth, 24);
  ASSERT_EQ(merged.channel_count(), 2U);
  EXPECT_EQ(merged.ring_nets().of(0, 0)->nic, 0);
  EXPECT_EQ(merged.ring_nets().of(1, 0)->nic, 1);
}

// Numbered anew until 2.23; since then after the two that are there.
TEST(NetMerge, numbers_it_as_the_release_does) {
  EXPECT_EQ(first_net(nccl("2.20")).device, 0);
  EXPECT_EQ(first_net(nccl("2.24")).device, 2);
}

// Two of 12.5 GB/s: two channels of 12, the next lower speed that NCCL tries.
TEST(NetMerge, leaves_ports_alone_where_it_is_switched_off) {
  const Nccl apart[] = {nccl("2.19"), nccl("2.30", {{"NCCL_IB_MERGE_NICS", "0"}}),
                        nccl("2.30", {{"NCCL_NET_MERGE_LEVEL", "LOC"}})};
  for (const Nccl& each : apart) {
    EXPECT_EQ(each.system().of_kind(NcclNodeKind::net).size(), 2U);
    EXPECT_FLOAT_EQ(each.bandwidth().per_channel, 12.5F);
    EXPECT_EQ(first_net(each).nics, std::vector{0});
  }
  EXPECT_EQ(nccl("2.30", {{"NCCL_NET", "Socket"}}).system().of_kind(NcclNodeKind::net).size(), 2U);
}

TEST(NetMerge, is_for_nics_that_nccl_drives_itself) {
  const Nccl other = nccl("2.30", {}, two_hosts("Slingshot 11"));
  EXPECT_EQ(other.system().of_kind(NcclNodeKind::net).size(), 2U);
}

// mlx5_1 alone is left of the card.
TEST(NetMerge, comes_after_the_choice_of_nics) {
  const Nccl one = nccl("2.30", {{"NCCL_IB_HCA", "mlx5_1"}});
  EXPECT_EQ(first_net(one).name, "mlx5_1");
  EXPECT_EQ(one.ring_nets().of(0, 0)->nic, 1);
  EXPECT_EQ(one.ring_nets().of(1, 0)->nic, 1);
}

TEST(NetMerge, warns_of_levels_that_are_not_modelled) {
  const auto warnings = [](const char* level, NcclVersion version) {
    return parse_nccl_environment({{"NCCL_NET_MERGE_LEVEL", level}}, version).warnings.size();
  };
  EXPECT_EQ(warnings("PORT", default_nccl_version), 0U);
  EXPECT_EQ(warnings("PHB", default_nccl_version), 1U);
  EXPECT_EQ(warnings("LOC", {2, 23}), 1U);
  EXPECT_THROW(warnings("near", default_nccl_version), InputError);
}

// The real machine of this kind: sixteen ports of eight cards.
TEST(NetMerge, of_sixteen_ports_leaves_eight) {
  const Topology oci = load_topology(source + "/topologies/oci-a100-x4.yaml");
  EXPECT_EQ(Nccl(oci).system().of_kind(NcclNodeKind::net).size(), 8U);
  EXPECT_EQ(Nccl(oci, {{"NCCL_IB_MERGE_NICS", "0"}}).system().of_kind(NcclNodeKind::net).size(),
            16U);
}

}  // namespace
}  // namespace collsim::test
