// What importers make of the files that people have, counted by hand from each file.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "models/imports/import.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/topology_writer.h"

namespace collsim::test {
namespace {

const std::string data = std::string(COLLSIM_SOURCE_DIR) + "/tests/data/";

/// Links of PCIe and between sockets on the way from one device to another; 0: there is no way.
struct Distance {
  std::string from;
  std::string to;
  std::size_t links;
};

struct Case {
  std::string file;
  std::string gpu;  // what --gpu says, if anything
  std::size_t gpus;
  std::size_t nvlinks;  // of all trunks together, each link once
  std::size_t nics;
  std::size_t switches;  // of PCIe
  std::size_t cpus;
  std::vector<Distance> distances;
};

NodeTemplate imported(const Case& test) {
  ImportOptions options;
  if (!test.gpu.empty()) options = {find_gpu_model(test.gpu), is_card(test.gpu), 0};
  return import_node(read_text_file(data + test.file, "a description"), options).node;
}

std::size_t count(const NodeTemplate& node, DeviceKind kind) {
  return static_cast<std::size_t>(
      std::count_if(node.devices.begin(), node.devices.end(),
                    [&](const GraphDevice& device) { return device.kind == kind; }));
}

std::size_t nvlinks(const NodeTemplate& node) {
  std::size_t sum = 0;
  for (const GraphLink& link : node.links) {
    const bool between_gpus = node.devices[link.to].kind != DeviceKind::cpu;
    if (link.kind == LinkKind::nvlink && between_gpus) sum += link.count;
  }
  return sum;
}

std::size_t distance(const NodeTemplate& node, const std::string& from, const std::string& to) {
  std::map<std::string, std::size_t> reached{{from, 0}};
  std::deque<std::string> pending{from};
  while (!pending.empty()) {
    const std::string here = pending.front();
    pending.pop_front();
    for (const GraphLink& link : node.links) {
      if (link.kind == LinkKind::nvlink) continue;
      const std::string& a = node.devices[link.from].name;
      const std::string& b = node.devices[link.to].name;
      if (a != here && b != here) continue;
      const std::string& there = a == here ? b : a;
      if (reached.emplace(there, reached[here] + 1).second) pending.push_back(there);
    }
  }
  const auto found = reached.find(to);
  return found == reached.end() ? 0 : found->second;
}

void expect_counts(const Case& test) {
  SCOPED_TRACE(test.file);
  const NodeTemplate node = imported(test);
  EXPECT_EQ(count(node, DeviceKind::gpu), test.gpus);
  EXPECT_EQ(nvlinks(node), test.nvlinks);
  EXPECT_EQ(count(node, DeviceKind::nic), test.nics);
  EXPECT_EQ(count(node, DeviceKind::pcie_switch), test.switches);
  EXPECT_EQ(count(node, DeviceKind::cpu), test.cpus);
  for (const Distance& each : test.distances) {
    EXPECT_EQ(distance(node, each.from, each.to), each.links) << each.from << " to " << each.to;
  }
  const ClusterText cluster{"imported", {}, node, 1, {}, {}};
  EXPECT_EQ(read_topology({"imported", topology_text(cluster)}).gpus().size(), test.gpus);
}

TEST(ImportCounts, CutDownFiles) {
  // Four switches on four NUMA nodes with two GPUs and two NICs each; 12 NVLinks a GPU: 96. By bus
  // ids the first two GPUs are those of the second <cpu>, whose NICs are the file's third and
  // fourth.
  expect_counts({"cut-down/azure-nd-a100-v4.xml",
                 "A100",
                 8,
                 96,
                 8,
                 4,
                 4,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "nic2", 2}, {"gpu0", "nic0", 5}}});
  // Eight switches, four a socket, with a GPU and a NIC each; 18 NVLinks a GPU: 144.
  expect_counts({"cut-down/azure-nd-h100-v5.xml",
                 "H100",
                 8,
                 144,
                 8,
                 8,
                 2,
                 {{"gpu0", "nic0", 2}, {"gpu0", "nic1", 4}, {"gpu0", "nic4", 5}}});
  // All on the sockets; the cube mesh has 6 NVLinks for each of eight GPUs, each at two: 24.
  expect_counts({"cut-down/azure-nd-v100-v2.xml",
                 "V100",
                 8,
                 24,
                 1,
                 0,
                 2,
                 {{"gpu0", "nic0", 2}, {"gpu4", "nic0", 3}, {"gpu0", "gpu7", 3}}});
  // Four switches, two a socket, with two GPUs and a NIC each: 8 x 12 = 96.
  expect_counts({"cut-down/aws-p4d.xml",
                 "A100",
                 8,
                 96,
                 4,
                 4,
                 2,
                 {{"gpu1", "nic0", 2}, {"gpu2", "nic0", 4}, {"gpu7", "nic0", 5}}});
  // Eight switches on one socket with a GPU and four NICs each: 8 x 18 = 144; none without --gpu.
  expect_counts({"cut-down/aws-p5.xml",
                 "H100",
                 8,
                 144,
                 32,
                 8,
                 1,
                 {{"gpu0", "nic3", 2}, {"gpu0", "nic4", 4}}});
  expect_counts({"cut-down/aws-p5.xml", "", 8, 0, 32, 8, 1, {{"gpu0", "nic3", 2}}});
  // The PCI ids say which GPUs; they have no NVLink. The management controller is no GPU.
  expect_counts({"cut-down/rtx5090-2.xml", "", 2, 0, 1, 0, 1, {{"gpu0", "gpu1", 2}}});
  // Cards have no NVSwitch.
  expect_counts({"cut-down/azure-nd-a100-v4.xml", "A100-PCIE-80GB", 8, 0, 8, 4, 4, {}});
}

TEST(ImportCounts, DumpsOfNccl) {
  // Two hosts of four GPUs, four NICs and two CPUs; 8 x 18 = 144. No PCIe between hosts.
  expect_counts(
      {"nccl-dumps/gb200-2-hosts.xml",
       "",
       8,
       144,
       8,
       0,
       4,
       {{"gpu0", "nic1", 2}, {"gpu0", "nic2", 3}, {"gpu0", "nic4", 0}, {"gpu4", "nic4", 2}}});
  // Three hosts with two NICs each: 12 x 18 = 216.
  expect_counts(
      {"nccl-dumps/gb300-3-hosts.xml",
       "",
       12,
       216,
       6,
       0,
       6,
       {{"gpu8", "nic4", 2}, {"gpu8", "nic5", 3}, {"gpu8", "nic3", 0}, {"nic0", "nic2", 0}}});
  // NVLinks of a GPU to itself lead nowhere; a GPU on each of four NUMA nodes.
  expect_counts({"nccl-dumps/azure-nc-a100-v4.xml", "", 4, 0, 1, 0, 4, {{"gpu0", "gpu3", 3}}});
  // The same with 18 NVLinks less.
  expect_counts({"nccl-dumps/gb300-one-gpu-no-nvlink.xml", "", 12, 198, 6, 0, 6, {}});
  // NVLink-C2C leads to the CPU, not to a GPU.
  expect_counts({"nccl-dumps/gb10.xml", "", 1, 0, 2, 0, 1, {{"gpu0", "nic0", 2}}});
  // Two <cpu> of one NUMA node with two switches each: 4 x 18 = 72.
  expect_counts({"nccl-dumps/h100-4-twin-cpus.xml",
                 "",
                 4,
                 72,
                 4,
                 4,
                 2,
                 {{"gpu0", "nic0", 2}, {"gpu0", "nic1", 4}, {"gpu0", "nic2", 5}}});
  // Inside an issue: a GPU on each socket, a NIC of two ports on the first.
  expect_counts({"nccl-dumps/a100-2-issue.md", "", 2, 0, 2, 0, 2, {{"gpu1", "nic1", 3}}});
}

TEST(ImportCounts, MatricesAsTables) {
  // A bridge of 4. GPUs 2 to 6 are PXB: a switch each below one; GPUs 0 and 1 on the CPU.
  expect_counts({"nvidia-smi/rtx3090-7.md",
                 "3090",
                 7,
                 4,
                 0,
                 6,
                 1,
                 {{"gpu0", "gpu1", 2}, {"gpu2", "gpu3", 4}, {"gpu0", "gpu2", 4}}});
  // Four pairs on a switch each, two a socket; the column of CPUs is empty, that of NUMA is not.
  expect_counts({"nvidia-smi/rtx-pro-6000-8.md",
                 "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                 8,
                 0,
                 0,
                 4,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "gpu2", 4}, {"gpu0", "gpu4", 5}}});
  // 8 x 18 = 144; a switch for each GPU and its NIC, four a socket.
  expect_counts({"nvidia-smi/dgx-h100.html",
                 "H100",
                 8,
                 144,
                 8,
                 8,
                 2,
                 {{"gpu3", "nic3", 2}, {"gpu3", "nic2", 4}, {"gpu3", "nic4", 5}}});
  // 4 x 12 = 48; two GPUs on NUMA node 3, two on 1.
  expect_counts({"nvidia-smi/a100-4.html",
                 "A100",
                 4,
                 48,
                 0,
                 0,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "gpu2", 3}}});
  expect_counts({"nvidia-smi/l40s-2.html", "L40S", 2, 0, 0, 0, 2, {{"gpu0", "gpu1", 3}}});
}

TEST(ImportCounts, MatricesAsTextThatWasCopied) {
  // 8 x 18 = 144; a switch for each GPU and its NIC; four NICs more, two on each socket.
  expect_counts(
      {"nvidia-smi/h20-8.txt",
       "NVIDIA H20",
       8,
       144,
       12,
       8,
       2,
       {{"gpu5", "nic5", 2}, {"gpu5", "nic4", 4}, {"gpu5", "nic10", 3}, {"gpu5", "nic8", 4}}});
  // Three pairs on a switch each, two on the first socket.
  expect_counts({"nvidia-smi/rtx5090-6-mail.txt",
                 "GeForce RTX 5090",
                 6,
                 0,
                 0,
                 3,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "gpu3", 4}, {"gpu0", "gpu5", 5}}});
  // 4 NVLinks a GPU, each at two: 16. Four switches with two GPUs and a NIC, two a socket.
  expect_counts({"nvidia-smi/dgx-1-p100.txt",
                 "Tesla P100-SXM2-16GB",
                 8,
                 16,
                 4,
                 4,
                 2,
                 {{"gpu0", "nic0", 2}, {"gpu0", "nic1", 4}, {"gpu0", "nic2", 5}}});
  // 4 x 18 = 72; two GPUs and three NICs on each CPU.
  expect_counts({"nvidia-smi/gb200.txt",
                 "GB200",
                 4,
                 72,
                 6,
                 0,
                 2,
                 {{"gpu0", "nic2", 2}, {"gpu0", "nic3", 3}}});
  // 8 x 12 = 96. Four sets of PXB: two GPUs and two NICs, each on a switch of its own, below one.
  expect_counts({"nvidia-smi/dgx-a100.txt",
                 "A100",
                 8,
                 96,
                 8,
                 20,
                 4,
                 {{"gpu0", "nic1", 4}, {"gpu0", "nic2", 7}}});
  expect_counts({"nvidia-smi/h100-pcie-1.txt", "H100 PCIe", 1, 0, 1, 0, 1, {{"gpu0", "nic0", 2}}});
}

TEST(ImportCounts, MatricesThatLostRows) {
  // 7 GPUs x 18 = 126 to one NVSwitch, GPU2 has none. NIC0-7 are PXB to a GPU each: a switch for
  // each, below one for both: 8 x 3 = 24. NIC8-11 on the CPUs, two each.
  const std::vector<Distance> b200{{"gpu2", "nic2", 4},  {"gpu2", "nic3", 6},  {"gpu0", "nic8", 4},
                                   {"gpu0", "nic9", 4},  {"gpu7", "nic10", 4}, {"gpu7", "nic11", 4},
                                   {"gpu0", "nic10", 5}, {"gpu7", "nic7", 4}};
  expect_counts({"nvidia-smi/b200-one-gpu-off-nvlink.txt", "B200", 8, 126, 12, 24, 2, b200});
  // Without the row of GPU7 as well nobody knows the switch that it shares with NIC7.
  expect_counts({"nvidia-smi/b200-row-of-gpu7-lost.txt",
                 "B200",
                 8,
                 126,
                 12,
                 21,
                 2,
                 {{"gpu6", "nic6", 4}, {"gpu7", "nic10", 2}, {"gpu7", "gpu4", 4}}});
}

TEST(ImportCounts, SocketsByCpus) {
  // NVLinks 1 + 1 + 2 + 2 + 1 + 2 = 9. All GPUs are on CPUs 0-15, the NIC is SYS to them: on
  // another socket.
  expect_counts({"nvidia-smi/v100-4-nv1nv2.txt",
                 "V100",
                 4,
                 9,
                 1,
                 0,
                 2,
                 {{"gpu0", "gpu3", 2}, {"gpu0", "nic0", 3}}});
  // Six pairs x 4 = 24; two GPUs on CPUs 0-31, two on 32-63.
  expect_counts({"nvidia-smi/a100-4-affinities.txt",
                 "A100",
                 4,
                 24,
                 0,
                 0,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "gpu2", 3}}});
  // All are SYS to each other, four on each of two NUMA nodes. NIC0 and NIC1 are PIX, and PHB to
  // GPU6.
  for (const std::string mark : {"utf16", "bom"}) {
    expect_counts({"nvidia-smi/rtx4090-8-2nic-" + mark + ".txt",
                   "RTX 4090",
                   8,
                   0,
                   2,
                   1,
                   2,
                   {{"gpu0", "gpu3", 2},
                    {"gpu0", "gpu4", 3},
                    {"gpu6", "nic0", 3},
                    {"nic0", "nic1", 2},
                    {"gpu0", "nic1", 4}}});
  }
}

TEST(ImportCounts, MatricesOfGraces) {
  // 4 x 18 = 72. Two Graces with two GPUs; all NICs are SYS to GPUs, three are for each Grace.
  expect_counts({"nvidia-smi/gb200-numa-lists-full.txt",
                 "GB200",
                 4,
                 72,
                 6,
                 0,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "nic2", 2}, {"gpu0", "nic3", 3}}});
  // Without the rows of the NICs nothing but their order tells on which they are.
  expect_counts({"nvidia-smi/gb300-nics-lost.txt",
                 "GB300",
                 4,
                 72,
                 4,
                 0,
                 2,
                 {{"gpu0", "nic1", 2}, {"gpu0", "nic2", 3}, {"gpu3", "nic3", 2}}});
}

TEST(ImportCounts, OneMatrixOfSeveral) {
  // Two pairs of 12 NVLinks, a socket each. What `topo -p2p` says and a second matrix are left out,
  // and `nvidia-smi -L` says which GPUs.
  expect_counts({"nvidia-smi/h100-nvl-4-p2p.txt",
                 "",
                 4,
                 24,
                 0,
                 0,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "gpu2", 3}}});
}

TEST(ImportCounts, ExportsOfHwloc) {
  // Two of four NUMA nodes have devices: a switch with a NIC and, below it, one with two GPUs. The
  // layout is that of NVSwitches: 4 x 12 = 48. The Ethernet of the management is left out.
  expect_counts({"lstopo/dgx-a100-half.xml",
                 "",
                 4,
                 48,
                 2,
                 4,
                 2,
                 {{"gpu0", "gpu1", 2}, {"gpu0", "nic0", 3}, {"gpu0", "nic1", 6}}});
  // Four switches with a GPU and two NICs with RDMA, two a CPU; an ENA besides. 4 x 18 = 72.
  expect_counts({"lstopo/gb200-vm.xml",
                 "",
                 4,
                 72,
                 8,
                 4,
                 2,
                 {{"gpu0", "nic1", 2}, {"gpu0", "nic2", 4}, {"gpu0", "nic4", 5}}});
  // On root ports of one CPU; no RDMA, so that the Ethernet counts.
  expect_counts({"lstopo/rtx5090-2.xml", "", 2, 0, 1, 0, 1, {{"gpu0", "gpu1", 2}}});
  // NVLinks as the driver said: 1 + 1 + 2 + 2 + 1 + 2 = 9.
  expect_counts(
      {"lstopo/v100-4-nvml.xml", "", 4, 9, 2, 2, 2, {{"gpu0", "nic0", 2}, {"gpu0", "gpu2", 5}}});
}

}  // namespace
}  // namespace collsim::test
