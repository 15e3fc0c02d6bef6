#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/nccl/settings/version.h"

namespace collsim {

enum class NcclNodeKind : std::uint8_t { gpu, pci, nvs, cpu, nic, net };
enum class NcclLinkKind : std::uint8_t { loc, nvl, c2c, pci, sys, net };
enum class CpuArchitecture : std::uint8_t { x86, arm, power, other };
enum class CpuVendor : std::uint8_t { intel, amd, zhaoxin, other };

struct NcclGpu {
  int device = 0;              ///< the NVML index
  int rank = 0;                ///< 0 to p-1 in the node
  int compute_capability = 0;  ///< 10 major + minor
  bool gdr = false;            ///< may talk to NICs directly (GPUDirect RDMA)
};

struct NcclNet {
  std::string name;
  int device = 0;
  std::vector<int> nics;   ///< its ports: numbers of the host's NICs, counted from 0
  std::uint64_t asic = 0;  ///< ports of one chip share its id
  int port = 0;
  float bandwidth = 0;  ///< GB/s
  bool rated = true;    ///< whether that is known, or NCCL's guess where it cannot read the speed
  float latency = 0;    ///< us
  bool gdr = false;
  bool collnet = false;  ///< reduces in the network (SHARP)
};

struct NcclCpu {
  CpuArchitecture architecture = CpuArchitecture::other;
  CpuVendor vendor = CpuVendor::other;
  int family = 0;
  int model = 0;
};

/// One direction of a connection, as wide as NCCL believes it to be.
struct NcclLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  NcclLinkKind kind = NcclLinkKind::pci;
  float bandwidth = 0;  ///< GB/s
};

struct NcclNode {
  NcclNodeKind kind = NcclNodeKind::gpu;
  std::uint64_t id = 0;                ///< bus id; NUMA id of a CPU; device number of a net
  std::vector<std::uint32_t> links{};  ///< outgoing, the widest first, the one to the CPU last
  NcclGpu gpu{};
  NcclNet net{};
  NcclCpu cpu{};
  std::uint32_t host = 0;        ///< of several that NVLink joins (MNNVL), numbered from 0
  std::uint64_t pci_device = 0;  ///< vendor, device and both subsystem ids, 16 bits each
};

/// A node with nothing but kind and id.
NcclNode make_node(NcclNodeKind kind, std::uint64_t id = 0);

/// One host as NCCL sees it. All figures are NCCL's own (src/graph/topo.h): effective, not nominal.
class NcclSystem {
 public:
  std::span<const NcclNode> nodes() const { return nodes_; }
  const NcclNode& node(std::uint32_t index) const { return nodes_[index]; }
  std::span<const NcclLink> links() const { return links_; }
  /// The nodes of one kind, in the order of creation; NCCL's index of a GPU is its place here.
  std::span<const std::uint32_t> of_kind(NcclNodeKind kind) const {
    return by_kind_[static_cast<std::size_t>(kind)];
  }
  const NcclNode& gpu(std::size_t index) const { return nodes_[by_kind_[0][index]]; }
  std::size_t gpu_count() const { return by_kind_[0].size(); }
  /// The link that leads from a device towards its CPU by PCIe; null for CPUs and what has none.
  const NcclLink* link_up(std::uint32_t index) const;
  int min_compute_capability() const;
  int greatest_compute_capability() const;
  const NcclCpu& cpu() const;  ///< the first one; NCCL takes all to be alike
  /// Whether its NVSwitches add up and copy. NCCL asks the driver; a dump of its does not say, so
  /// that only the GPUs' generation counts then.
  bool multicast() const { return multicast_; }
  /// Makes one net of several, given by their nodes, in the place of the first (NCCL's virtual
  /// NIC): as fast as all together. `device` is its number.
  void merge_nets(std::span<const std::uint32_t> nets, int device);
  void set_net_latency(float microseconds);  ///< of all nets
  /// Forgets a NIC, the index being among nets.
  void remove_net(std::size_t index) { remove(NcclNodeKind::net, index); }
  /// Forgets all GPUs but those of these ranks, which are numbered anew from 0 in rising order:
  /// NCCL knows only the GPUs of its communicator. NICs, switches and CPUs stay.
  void keep_gpus(std::span<const std::uint32_t> ranks);

 private:
  friend class NcclSystemBuilder;
  void remove(NcclNodeKind kind, std::size_t index);

  bool multicast_ = true;
  std::vector<NcclNode> nodes_;
  std::vector<NcclLink> links_;
  std::array<std::vector<std::uint32_t>, 6> by_kind_;
};

/// Assembles a system in the order in which NCCL would, since that order breaks ties.
class NcclSystemBuilder {
 public:
  std::uint32_t add(NcclNode node);
  NcclNode& node(std::uint32_t index) { return system_.nodes_[index]; }
  const NcclSystem& system() const { return system_; }
  /// One direction. A second link of the same kind between the same nodes widens the first.
  void connect(std::uint32_t from, std::uint32_t to, NcclLinkKind kind, double bandwidth);
  void connect_both(std::uint32_t a, std::uint32_t b, NcclLinkKind kind, double bandwidth);
  /// NVLinks of a GPU to the (single) NVSwitch node, which is made when missing.
  void connect_to_nvswitch(std::uint32_t gpu, double bandwidth);
  void without_multicast() { system_.multicast_ = false; }
  /// Merges the halves of Broadcom PCIe switches, joins CPUs, orders links, numbers ranks from 0.
  NcclSystem build(NcclVersion version) &&;

 private:
  void flatten_broadcom_switches();
  void remove_absorbed(const std::vector<bool>& absorbed);
  void join_cpus(NcclVersion version);
  void order_links();
  void number_ranks();

  NcclSystem system_;
};

}  // namespace collsim
