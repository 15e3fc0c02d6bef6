// Which machine a log is of, and what contradicts it.

#include "tools/collsim/request/machine_guess.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "models/machine/gpu_model.h"
#include "sim/base/input_error.h"
#include "tests/support/error_of.h"
#include "tools/collsim/diagnose/contradictions.h"
#include "tools/collsim/diagnose/diagnosis.h"

namespace collsim {
namespace {

/// Of `nodes` hosts with eight GPUs each.
Recording recording_on(const std::string& gpu, std::uint32_t nodes) {
  Recording recording;
  recording.file = "my.log";
  recording.machine["gpu"] = gpu;
  RecordedRow row;
  row.nodes = nodes;
  row.ranks = 8 * nodes;
  recording.rows.push_back(row);
  return recording;
}

LogFacts on_network(const std::string& network) {
  LogFacts facts;
  facts.any = true;
  facts.network = network;
  return facts;
}

TEST(MachineGuess, of_one_host_goes_by_its_gpus) {
  EXPECT_EQ(guessed_machine(recording_on("NVIDIA H200", 1), {}).name, "hgx-h200");
}

// The smallest cluster with InfiniBand and enough hosts.
TEST(MachineGuess, of_a_cluster_goes_by_its_network) {
  const Recording two = recording_on("NVIDIA H100 80GB HBM3", 2);
  EXPECT_EQ(guessed_machine(two, on_network("IB")).name, "dgx-h100-x4");
  EXPECT_EQ(guessed_machine(two, on_network("AWS Libfabric")).name, "aws-p5-x4");
}

std::size_t nics_of_a_node(const Topology& topology) {
  std::size_t count = 0;
  for (const GraphDevice& device : topology.node(0).graph->graph().devices) {
    count += device.kind == DeviceKind::nic ? 1U : 0U;
  }
  return count;
}

// A DGX A100 has eight NICs; a shipped cluster with four of InfiniBand there is not. Sixteen of
// RoCE are those of oci-a100-x4.
TEST(MachineGuess, of_a_cluster_has_as_many_nics_as_the_log_names) {
  const Recording two = recording_on("NVIDIA A100-SXM4-80GB", 2);
  LogFacts facts = on_network("RoCE");
  facts.nics = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"};
  const GuessedMachine composed = guessed_machine(two, facts);
  EXPECT_EQ(composed.topology.node_count(), 2U);
  EXPECT_EQ(composed.topology.gpus().size(), 16U);
  EXPECT_EQ(nics_of_a_node(composed.topology), 4U);
  EXPECT_EQ(composed.topology.calibration(), "a100+roce");
  for (int i = 4; i < 16; ++i) facts.nics.insert(fmt::format("mlx5_{}", i));
  EXPECT_EQ(guessed_machine(two, facts).name, "oci-a100-x4");
}

// No line names the network: a DGX is likelier than a cloud's machine, and all of it is a guess.
TEST(MachineGuess, without_nics_is_the_likeliest_and_wide) {
  const GuessedMachine guessed = guessed_machine(recording_on("NVIDIA H100 80GB HBM3", 2), {});
  EXPECT_EQ(guessed.name, "dgx-h100-x4");
  EXPECT_FALSE(guessed.composed);
  ASSERT_EQ(guessed.guesses.size(), 3U);
  EXPECT_DOUBLE_EQ(guessed.widening(), 1.75);
}

BytesPerSecond rate_of_a_cable(const Topology& topology) {
  return topology.link(topology.first_fabric_link()).bandwidth;
}

// Clouds' clusters of B200 have four hosts, and a DGX B200 cluster has eight.
TEST(MachineGuess, without_nics_is_no_cloud_s_even_where_that_is_larger) {
  const GuessedMachine guessed = guessed_machine(recording_on("NVIDIA B200", 2), {});
  EXPECT_EQ(guessed.name, "dgx-b200-x8");
}

// Two of 100 Gb/s, 12.5 GB/s, as NCCL says; nothing is left to guess.
TEST(MachineGuess, takes_the_rate_that_the_log_says) {
  LogFacts facts = on_network("IB");
  facts.nics = {"mlx5_0", "mlx5_1"};
  facts.nic_rate = gigabytes_per_second(12.5);
  const GuessedMachine guessed = guessed_machine(recording_on("NVIDIA A100-SXM4-80GB", 3), facts);
  EXPECT_EQ(guessed.topology.node_count(), 3U);
  EXPECT_EQ(nics_of_a_node(guessed.topology), 2U);
  EXPECT_DOUBLE_EQ(rate_of_a_cable(guessed.topology).value, 12.5e9);
  EXPECT_TRUE(guessed.guesses.empty());
  ASSERT_TRUE(guessed.composed);
  ASSERT_EQ(guessed.composed->lines.size(), 3U);
  EXPECT_TRUE(guessed.composed->lines[0].starts_with("nodes: { template: dgx-a100, count: 3 }"));
  EXPECT_EQ(read_machine({"kept", composed_text(guessed.composed->parts, 3)}).gpus().size(), 24U);
}

/// Of hosts with so many GPUs each.
Recording recording_of_hosts(const std::string& gpu, std::uint32_t nodes, Rank per_node) {
  Recording recording = recording_on(gpu, nodes);
  recording.rows.front().ranks = nodes * per_node;
  return recording;
}

/// The least that a leaf has upwards, as a share of what it has downwards; 1 of a single leaf.
double narrowest_leaf(const Topology& topology) {
  std::map<DeviceId, std::pair<double, double>> leaves;  // down and up
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    if (topology.node_of(link.from) >= 0) leaves[link.to].first += link.bandwidth.value;
    if (topology.node_of(link.from) < 0 && topology.node_of(link.to) < 0) {
      leaves[link.from].second += link.bandwidth.value;
    }
  }
  double least = 1;
  for (const auto& [leaf, sides] : leaves) {
    if (sides.first > 0) least = std::min(least, sides.second / sides.first);
  }
  return leaves.size() < 2 ? 1 : least;
}

// Clusters that stand for an incident have as many nodes and the same GPUs as others.
TEST(MachineGuess, is_of_a_plain_network) {
  for (const char* const gpu : {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA B200"}) {
    for (const std::uint32_t nodes : {2U, 5U, 8U, 16U, 32U, 48U}) {
      for (const char* const network : {"", "IB"}) {
        const GuessedMachine guessed =
            guessed_machine(recording_on(gpu, nodes), on_network(network));
        EXPECT_GE(narrowest_leaf(guessed.topology), 0.99) << guessed.name;
        for (const GraphDevice& device : guessed.topology.fabric_devices()) {
          ASSERT_FALSE(device.reduces) << guessed.name;
        }
      }
    }
  }
}

struct KindOfHost {
  const char* gpu;
  std::uint32_t hosts;
  Rank of_host;
  std::uint32_t nodes;
  std::size_t gpus_of_node;  ///< at least
  bool has_nvlink;
};

// Trays fill racks; superchips, cards and large boards are no HGX of eight.
TEST(MachineGuess, has_hosts_of_the_log_s_kind) {
  const std::vector<KindOfHost> kinds{
      {"NVIDIA GB200", 360, 4, 20, 72, true},       {"NVIDIA GB200", 18, 4, 1, 72, true},
      {"NVIDIA GB200", 30, 4, 2, 60, true},         {"NVIDIA GB300", 36, 4, 2, 72, true},
      {"NVIDIA GB300", 4, 4, 1, 16, true},          {"NVIDIA GH200 120GB", 24, 1, 24, 1, true},
      {"NVIDIA GH200 120GB", 80, 4, 80, 4, true},   {"NVIDIA H100 PCIe", 4, 4, 4, 4, false},
      {"NVIDIA H100 NVL", 4, 2, 4, 2, false},       {"NVIDIA A100-PCIE-40GB", 4, 4, 4, 4, false},
      {"Tesla V100-SXM3-32GB", 4, 16, 4, 16, true}, {"NVIDIA H800", 4, 8, 4, 8, true},
  };
  for (const KindOfHost& kind : kinds) {
    Recording recording = recording_of_hosts(kind.gpu, kind.hosts, kind.of_host);
    LogFacts facts;
    join_trays(recording, facts);
    EXPECT_EQ(recording.rows.front().nodes, kind.nodes) << kind.gpu;
    const Topology machine = guessed_machine(recording, facts).topology;
    EXPECT_GE(machine.node_count(), kind.nodes) << kind.gpu << machine.name();
    EXPECT_GE(machine.node(0).graph->gpus().size(), kind.gpus_of_node) << kind.gpu;
    EXPECT_EQ(find_gpu_model(machine.device(machine.gpus().front()).model),
              find_gpu_model(kind.gpu));
    const auto& links = machine.node(0).graph->graph().links;
    EXPECT_EQ(std::any_of(links.begin(), links.end(),
                          [](const GraphLink& link) { return link.kind == LinkKind::nvlink; }),
              kind.has_nvlink)
        << kind.gpu << machine.name();
  }
}

// TCP on servers that are sold with RDMA is what became of them, not what they are.
TEST(MachineGuess, of_servers_on_tcp_have_rdma) {
  const GuessedMachine guessed =
      guessed_machine(recording_on("NVIDIA H100 80GB HBM3", 2), on_network("Socket"));
  EXPECT_EQ(guessed.name, "dgx-h100-x4");
  const GuessedMachine cards =
      guessed_machine(recording_on("NVIDIA L40S", 2), on_network("Socket"));
  EXPECT_EQ(transport_of_nics(cards.topology), "tcp");
}

// A setting that names one NIC of a server does not make a server of one NIC.
TEST(MachineGuess, does_not_count_nics_that_a_setting_chose) {
  Recording two = recording_on("NVIDIA H100 80GB HBM3", 2);
  two.rows.front().variables["NCCL_IB_HCA"] = "mlx5_0";
  LogFacts facts = on_network("IB");
  facts.nics = {"mlx5_0"};
  EXPECT_EQ(nics_of_a_node(guessed_machine(two, facts).topology), 8U);
  two.rows.front().variables.clear();
  EXPECT_EQ(nics_of_a_node(guessed_machine(two, facts).topology), 1U);
}

TEST(MachineGuess, heeds_what_a_person_says) {
  MachineHints hints;
  hints.nodes = 2;
  hints.nic = "4x100Gb/s";
  hints.fabric = "roce-200g";
  const GuessedMachine guessed =
      guessed_machine(recording_on("NVIDIA A100-SXM4-40GB", 1), {}, hints);
  EXPECT_EQ(guessed.topology.node_count(), 2U);
  EXPECT_EQ(nics_of_a_node(guessed.topology), 4U);
  EXPECT_DOUBLE_EQ(rate_of_a_cable(guessed.topology).value, 12.5e9);
  EXPECT_TRUE(guessed.guesses.empty());
  hints.nic = "65x100Gb/s";
  EXPECT_NE(test::error_of([&] {
              guessed_machine(recording_on("NVIDIA A100-SXM4-40GB", 2), {}, hints);
            }).find("--nic 65x100Gb/s"),
            std::string::npos);
}

// Six A10 are on no shipped machine: the host of eight cards has them.
TEST(MachineGuess, composes_hosts_of_cards) {
  Recording six = recording_on("NVIDIA A10", 1);
  six.rows.front().ranks = 6;
  const GuessedMachine guessed = guessed_machine(six, {});
  EXPECT_EQ(guessed.topology.gpus().size(), 8U);
  EXPECT_EQ(guessed.topology.device(guessed.topology.gpus().front()).model, "A10");
  EXPECT_EQ(guessed.guesses.size(), 1U);
}

TEST(MachineGuess, of_unnamed_gpus_are_one_of_each_kind) {
  Recording table = recording_on("", 1);
  table.machine.clear();
  table.names_hosts = false;
  table.rows.front().ranks = 32;
  const std::vector<GuessedMachine> machines = machines_of_unnamed_gpus(table, {});
  ASSERT_FALSE(machines.empty());
  for (const GuessedMachine& each : machines) {
    EXPECT_EQ(each.topology.node_count(), 4U) << each.name;
    EXPECT_EQ(each.topology.gpus().size(), 32U) << each.name;
  }
}

TEST(MachineGuess, says_what_to_pass) {
  const std::string text =
      test::error_of([] { guessed_machine(recording_on("AMD Instinct MI300X", 2), {}); });
  EXPECT_NE(text.find("my.log: which machine the log is of cannot be told"), std::string::npos)
      << text;
  EXPECT_NE(text.find("-t MACHINE"), std::string::npos) << text;
  Recording nameless = recording_on("", 2);
  nameless.machine.clear();
  EXPECT_NE(test::error_of([&] { guessed_machine(nameless, {}); }).find("names the GPU"),
            std::string::npos);
}

/// What contradicts two DGX H100 with InfiniBand.
std::vector<std::string> contradictions_of(const LogFacts& facts) {
  const Topology topology = load_machine("dgx-h100-x4").topology;
  const Calibration cost = calibration_for(topology);
  RecordedCall call;
  call.nodes = 2;
  call.ranks = 16;
  const CallCompiler compiler(spec_of(call, topology, cost, default_nccl_version));
  return contradictions(facts, compiler, call);
}

TEST(Contradictions, of_a_log_that_fits_are_none) {
  LogFacts facts = on_network("IB");
  facts.ranks = 16;
  facts.nodes = 2;
  facts.channels = 16;
  facts.transports[LogTransport::peer_to_peer] = {14, "line"};
  facts.transports[LogTransport::rdma_gpudirect] = {2, "line"};
  EXPECT_TRUE(contradictions_of(facts).empty());
}

// Ranks, host memory, TCP, NICs and channels: one sentence each.
TEST(Contradictions, name_each_line) {
  LogFacts facts = on_network("Socket");
  facts.ranks = 8;
  facts.channels = 2;
  facts.nics = {"mlx5_0"};
  facts.transports[LogTransport::host_memory] = {14, "Channel 00 : 0[0] -> 1[1] via SHM"};
  facts.transports[LogTransport::sockets] = {2, "Channel 00 : 8[0] -> 0[0] via NET/Socket/0"};
  const auto all = contradictions_of(facts);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0], "NCCL's log is of 8 ranks, the table of 16");
  EXPECT_EQ(all[1],
            "14 connections go through host memory where GPUs have peer-to-peer: \"Channel 00 : "
            "0[0] -> 1[1] via SHM\"");
  EXPECT_EQ(all[2],
            "2 connections go over TCP on a machine with RDMA: \"Channel 00 : 8[0] -> 0[0] via "
            "NET/Socket/0\"");
  EXPECT_EQ(all[3], "NCCL uses 1 NICs of 8: mlx5_0");
  EXPECT_EQ(all[4], "NCCL has 2 channels where 16 fit");
}

TEST(Contradictions, without_nccl_s_log_are_none) {
  EXPECT_TRUE(contradictions_of({}).empty());
}

}  // namespace
}  // namespace collsim
