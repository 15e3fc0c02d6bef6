#include "models/diagnosis/twin_causes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

namespace collsim {

namespace {

/// Where a twin is possible.
enum class TwinPlace : std::uint8_t { anywhere, with_rdma, without_rdma, with_nics, on_pcie };

/// A cause that is simulated as another one is. Its usual values and how common it is are chosen by
/// what operators and maintainers report.
struct Twin {
  std::string_view of;
  std::string_view cause;
  std::string_view text;
  std::string_view check;
  std::pair<double, double> usual;  ///< {0, 0}: those of the other; a lone value: per NIC
  double weight;
  TwinPlace place = TwinPlace::anywhere;
};

constexpr std::array twins{
    Twin{"p2p-disabled",
         "p2p-blocked",
         "ACS or an IOMMU keeps GPUs of a node from peer-to-peer",
         "`lspci -vvv | grep ACSCtl` (SrcValid+ is on), `dmesg | grep -i -e DMAR -e IOMMU`; NCCL "
         "warns `P2P is disabled between connected GPUs`",
         {0, 0},
         0.5},
    Twin{"sockets",
         "cloud-adapter",
         "TCP behind a cloud's adapter (virtio, ENA, gVNIC) in place of RDMA",
         "`ethtool -i IFACE` for the driver, `ibv_devices` for RDMA in the machine, iperf3 with "
         "several streams",
         {0.02, 0.3},
         0.5},
    Twin{"sockets",
         "slow-interface",
         "TCP over a slow interface that NCCL took",
         "NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO names it after `NET/Socket : Using`; `ethtool IFACE`",
         {0.002, 0.03},
         0.3},
    Twin{"slow-network",
         "slow-interface",
         "TCP over a slow interface that NCCL took",
         "NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO names it after `NET/Socket : Using`; `ethtool IFACE`",
         {0.02, 0.1},
         0.5,
         TwinPlace::without_rdma},
    Twin{
        "slow-network",
        "shared-path",
        "all NICs of a host share one slow path, as virtual functions of one port or the bridge of "
        "a VM do",
        "ib_write_bw over one NIC and over all at once: two give no more than one; the VM's "
        "definition of PCIe",
        {1, 1},
        0.3,
        TwinPlace::with_nics},
    Twin{"slow-network",
         "bonded-ports",
         "of ports that are bonded, half carry the traffic",
         "`cat /proc/net/bonding/*` (mode, xmit_hash_policy), counters of every port, NCCL_IB_"
         "QPS_PER_CONNECTION, NCCL_IB_SPLIT_DATA_ON_QPS",
         {0.45, 0.65},
         0.15,
         TwinPlace::with_rdma},
    Twin{"no-gpudirect",
         "gdr-level",
         "GPUDirect is off where PCIe puts a GPU and a NIC too far apart",
         "NCCL_NET_GDR_LEVEL; NCCL_DEBUG=INFO says `GPU Direct RDMA Disabled for GPU ... (distance "
         "...)`; `nvidia-smi topo -m`",
         {0, 0},
         0.7},
    Twin{"no-gpudirect",
         "no-peermem",
         "GPUDirect is off: nvidia-peermem or dma-buf is missing",
         "`lsmod | grep peermem`, NCCL_DMABUF_ENABLE; NCCL_DEBUG=INFO says `GPU Direct RDMA "
         "Disabled for HCA`",
         {0, 0},
         0.9},
    // GPUDirect is in use, so that messages are not late as without it.
    Twin{"slow-network",
         "acs",
         "ACS, ATS or an IOMMU sends what GPUs and NICs exchange through the CPU",
         "`lspci -vvv | grep ACSCtl` (SrcValid+ is on), the IOMMU's mode, ATS of NICs in VMs",
         {0.2, 0.65},
         0.5,
         TwinPlace::with_rdma},
    Twin{"slow-network",
         "far-nics",
         "NICs sit on another socket than the GPUs that use them",
         "`nvidia-smi topo -m` (SYS between a GPU and its NIC), the NIC's numa_node",
         {0.3, 0.8},
         0.3,
         TwinPlace::with_rdma},
    Twin{"slow-messages",
         "slow-proxy",
         "the CPU thread that sends is slow: it is pinned badly or shares its core",
         "`taskset -p`, binding of mpirun or Slurm, NCCL_IGNORE_CPU_AFFINITY, load of the cores; "
         "CPU frequency",
         {0, 0},
         0.7},
    Twin{"slow-pcie",
         "acs",
         "ACS sends peer-to-peer over PCIe through the CPU",
         "`lspci -vvv | grep ACSCtl` (SrcValid+ is on); p2pBandwidthLatencyTest",
         {0.2, 0.6},
         0.7,
         TwinPlace::on_pcie},
};

/// What cures a cause.
constexpr std::array remedies = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"p2p-disabled", "unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, give the container all GPUs"},
    {"p2p-blocked", "switch ACS off on PCIe bridges (setpci), boot with iommu=pt"},
    {"sockets", "unset NCCL_IB_DISABLE and NCCL_NET, give the container /dev/infiniband"},
    {"cloud-adapter",
     "take a kind of instance with RDMA or the cloud's plug-in of NCCL; else more NCCL_NSOCKS_"
     "PERTHREAD and NCCL_SOCKET_NTHREADS"},
    {"slow-interface", "set NCCL_SOCKET_IFNAME to the fast interface"},
    {"no-gpudirect", "load nvidia-peermem or use dma-buf, leave NCCL_NET_GDR_LEVEL alone"},
    {"gdr-level", "put GPU and NIC on one switch, or set NCCL_NET_GDR_LEVEL=PHB or SYS"},
    {"no-peermem", "modprobe nvidia-peermem"},
    {"acs", "switch ACS off on PCIe bridges (setpci); in VMs, ATS on"},
    {"far-nics", "move the NIC, or bind ranks to the GPUs of its socket"},
    {"slow-port", "repair the port or its cable; till then leave it out with NCCL_IB_HCA"},
    {"dead-port", "repair the port or its cable"},
    {"slow-network", "set rate, MTU, PFC and ECN of ports and switches alike"},
    {"shared-path", "give every NIC a path of its own, or use one NIC"},
    {"bonded-ports", "hash by layer 3 and 4, more NCCL_IB_QPS_PER_CONNECTION, or no bond"},
    {"slow-messages",
     "tune the NICs: interrupt moderation, PFC and ECN of RoCE; larger NCCL_BUFFSIZE helps large "
     "calls"},
    {"slow-proxy", "give every rank cores of its GPU's socket of its own"},
    {"fewer-nics", "name all NICs in NCCL_IB_HCA, or unset it"},
    {"oversubscription", "place the job below one switch, or balance the uplinks"},
    {"slow-nvlink", "reset the GPU, reseat or replace its board"},
    {"slow-slot", "reseat the card: its link trained with fewer lanes or slower"},
    {"slow-pcie", "set Gen and width in the BIOS, NPS=1, iommu=pt"},
    {"forced-algorithm", "unset NCCL_ALGO"},
    {"forced-protocol", "unset NCCL_PROTO"},
    {"nvls-off", "unset NCCL_NVLS_ENABLE, start the fabric manager"},
    {"few-channels", "unset NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS"},
    {"cross-nic", "unset NCCL_CROSS_NIC"},
    {"late-rank", "bind every process to cores of its own"},
    {"slow-gpu", "end other processes on it, cool it, raise its power limit"},
    {"slow-gpus", "raise the power limit, unlock the clocks (nvidia-smi -rgc), cool the room"},
    {"placement", "ask for hosts and GPUs near each other"},
});

bool is_possible(const Twin& twin, const TwinContext& context) {
  switch (twin.place) {
    case TwinPlace::anywhere:
      return true;
    case TwinPlace::with_rdma:
      return context.between_hosts && context.has_rdma;
    case TwinPlace::without_rdma:
      return context.between_hosts && !context.has_rdma;
    case TwinPlace::with_nics:
      return context.between_hosts && context.nics > 1;
    case TwinPlace::on_pcie:
      return !context.has_nvlink;
  }
  return false;
}

Hypothesis twin_of(const Hypothesis& other, const Twin& twin, const TwinContext& context) {
  Hypothesis made = other;
  made.cause = twin.cause;
  made.text = twin.text;
  made.check = twin.check;
  made.weight = twin.weight;
  made.effect = other.cause;
  if (!made.parameter || twin.usual.first == 0) return made;
  made.parameter->usual = twin.usual;
  if (twin.usual.first == twin.usual.second) {
    // So many share what one has, up to a fifth.
    constexpr double about = 0.2;
    const double share = 1 / static_cast<double>(context.nics);
    made.parameter->usual = std::pair((1 - about) * share, (1 + about) * share);
  }
  return made;
}

}  // namespace

void add_twins(const TwinContext& context, std::vector<Hypothesis>& hypotheses) {
  std::vector<Hypothesis> made;
  for (Hypothesis& each : hypotheses) {
    for (const Twin& twin : twins) {
      if (twin.of != each.cause || !is_possible(twin, context)) continue;
      each.effect = each.cause;
      made.push_back(twin_of(each, twin, context));
    }
  }
  std::move(made.begin(), made.end(), std::back_inserter(hypotheses));
  for (Hypothesis& each : hypotheses) {
    const auto* const found =
        std::find_if(remedies.begin(), remedies.end(),
                     [&](const auto& remedy) { return remedy.first == each.cause; });
    if (found != remedies.end()) each.remedy = found->second;
  }
}

}  // namespace collsim
