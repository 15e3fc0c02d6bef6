// What lines of NCCL_DEBUG=INFO say of a run.

#include "models/recordings/log_facts.h"

#include <gtest/gtest.h>

#include <string>

namespace collsim {
namespace {

LogFacts facts_of_recorded(const std::string& name) {
  return read_log_facts(
      read_text_file(std::string(COLLSIM_SOURCE_DIR) + "/recordings/nccl/" + name, "a log"));
}

// Its lines: "nranks 8", "localRanks 8", "24 coll channels, 24 collnet channels, 0 nvls channels",
// "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "NCCL_NVLS_ENABLE set by environment to 0."
TEST(LogFacts, of_one_host_with_nvlink) {
  const LogFacts facts = facts_of_recorded("nccl-debug-h200x8.log");
  EXPECT_TRUE(facts.any);
  EXPECT_EQ(facts.nccl, "2.28.9");
  EXPECT_EQ(facts.ranks, 8U);
  EXPECT_EQ(facts.nodes, 1U);
  EXPECT_EQ(facts.local_ranks, 8U);
  EXPECT_EQ(facts.channels, 24U);
  EXPECT_EQ(facts.nvls_channels, 0U);
  EXPECT_GT(facts.transports.at(LogTransport::peer_to_peer).count, 0U);
  EXPECT_FALSE(facts.transports.contains(LogTransport::host_memory));
  EXPECT_EQ(facts.variables.at("NCCL_NVLS_ENABLE"), "0");
}

// Eight hosts of one GPU, which have nothing but sockets.
TEST(LogFacts, of_hosts_on_tcp) {
  const LogFacts facts = facts_of_recorded("nccl-debug-8-nodes-1-gpu-tcp.log");
  EXPECT_EQ(facts.nodes, 8U);
  EXPECT_EQ(facts.network, "Socket");
  EXPECT_GT(facts.transports.at(LogTransport::sockets).count, 0U);
  EXPECT_TRUE(facts.nics.empty());
}

TEST(LogFacts, of_infiniband_with_and_without_gpudirect) {
  const LogFacts facts = read_log_facts(
      {"log",
       "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_3:1/IB [RO]; OOB "
       "eth0:1.2.3.4<0>\n"
       "h:1:1 [0] NCCL INFO Using network IB\n"
       "h:1:1 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
       "h:1:1 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1\n"
       "h:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/1\n"
       "h:1:1 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
       "h:1:1 [0] NCCL WARN Call to ibv_modify_qp failed\n"});
  EXPECT_EQ(facts.nics, (std::set<std::string>{"mlx5_0", "mlx5_3"}));
  EXPECT_EQ(facts.network, "IB");
  EXPECT_EQ(facts.transports.at(LogTransport::rdma_gpudirect).count, 1U);
  EXPECT_EQ(facts.transports.at(LogTransport::rdma).count, 2U);
  EXPECT_EQ(facts.transports.at(LogTransport::host_memory).first,
            "Channel 02/0 : 0[0] -> 1[1] via SHM/direct/direct");
  ASSERT_EQ(facts.warnings.size(), 1U);
}

// Of two hosts one has GPUDirect on no connection; launchers write their own prefix.
TEST(LogFacts, name_the_host_without_gpudirect) {
  const LogFacts facts = read_log_facts(
      {"log",
       "h1:10:11 [0] NCCL INFO Channel 00 : 0[7000] -> 8[7000] [send] via NET/IB/1/GDRDMA\n"
       "h1:10:11 [0] NCCL INFO Channel 00 : 8[7000] -> 0[7000] [receive] via NET/IB/1\n"
       "[1,8]<stdout>:h2:20:21 [0] NCCL INFO Channel 00 : 0[7000] -> 8[7000] [receive] via "
       "NET/IB/0\n"});
  EXPECT_EQ(hosts_without_any_gpudirect(facts), std::vector<std::string>{"h2"});
  // Where none has it, it is no matter of one host.
  LogFacts on_no_host = facts;
  on_no_host.hosts_with_gpudirect.clear();
  EXPECT_TRUE(hosts_without_any_gpudirect(on_no_host).empty());
}

// A mask of two bits and of 64; two ranges of 24 cores; the interface of TCP.
TEST(LogFacts, of_cores_and_interfaces) {
  const std::string prefix = "h:1:1 [0] NCCL INFO ";
  const auto cores = [&](const std::string& list) {
    return read_log_facts({"log", prefix + "Setting affinity for GPU 0 to " + list + "\n"}).cores;
  };
  EXPECT_EQ(cores("00000000,00000003"), 2U);
  EXPECT_EQ(cores("ffffffff,ffffffff"), 64U);
  EXPECT_EQ(cores("0-23,48-71"), 48U);
  EXPECT_EQ(cores("what-ever"), 0U);
  const LogFacts facts =
      read_log_facts({"log", prefix + "NET/Socket : Using [0]eno1:192.0.2.1<0>\n"});
  EXPECT_EQ(facts.interface, "eno1");
}

// RoCE shows in the list of NICs alone: NCCL calls the network IB.
TEST(LogFacts, tell_roce_by_the_ports) {
  const LogFacts facts = read_log_facts(
      {"log",
       "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:1.2.3.4<0>\n"
       "h:1:1 [0] NCCL INFO Using network IB\n"});
  EXPECT_EQ(facts.network, "RoCE");
}

// 200000 Mb/s are 25 GB/s. A ring lists its ranks.
TEST(LogFacts, of_rates_distances_and_rings) {
  const LogFacts facts = read_log_facts(
      {"log",
       "h:1:1 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=200000 ar=0\n"
       "h:1:1 [0] NCCL INFO CPU/0 (1/2/-1)\n"
       "h:1:1 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 7 > 5)\n"
       "h:1:1 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 1 / HCA 0 (distance 4 <= 5), read 1\n"
       "h:1:1 [0] NCCL INFO P2P is disabled between connected GPUs 0 and 1. You can repress this\n"
       "h:1:1 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n"
       "h:1:1 [0] NCCL INFO Channel 01/02 :    0   3   2   1\n"
       "h:1:1 [0] NCCL INFO 4 coll channels, 0 nvls channels\n"
       "h:1:2 [1] NCCL INFO 2 coll channels, 0 nvls channels\n"});
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(facts.nic_rate), 25);
  EXPECT_EQ(facts.cpu_vendor, "AMD");
  EXPECT_EQ(facts.too_far.count, 1U);
  EXPECT_EQ(facts.near_enough.count, 1U);
  EXPECT_EQ(facts.p2p_blocked.count, 1U);
  ASSERT_EQ(facts.rings.size(), 2U);
  EXPECT_EQ(facts.rings.at(1), (std::vector<std::uint32_t>{0, 3, 2, 1}));
  EXPECT_EQ(facts.channels, 4U);
  EXPECT_EQ(facts.fewest_channels, 2U);
}

TEST(LogFacts, of_a_table_alone_are_none) {
  EXPECT_FALSE(read_log_facts({"log", "# nThread 1\n 8 2 float sum -1 12.0 0.0 0.0 0\n"}).any);
}

TEST(LogFacts, merged_keep_what_either_says) {
  LogFacts first;
  first.channels = 4;
  LogFacts second;
  second.any = true;
  second.channels = 24;
  second.nccl = "2.27.3";
  second.transports[LogTransport::rdma] = {3, "line"};
  const LogFacts both = merged(first, second);
  EXPECT_TRUE(both.any);
  EXPECT_EQ(both.channels, 4U);  // the first that says something
  EXPECT_EQ(both.nccl, "2.27.3");
  EXPECT_EQ(both.transports.at(LogTransport::rdma).count, 3U);
}

}  // namespace
}  // namespace collsim
