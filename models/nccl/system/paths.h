#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/path_type.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// The way that NCCL sends data from one node to another.
struct NcclPath {
  std::vector<std::uint32_t> links;
  float bandwidth = 0;  ///< GB/s of its narrowest link
  PathType type = PathType::disconnected;
  bool staged = false;  ///< whether data stop in host memory
};

/// The paths between the GPUs, NICs, CPUs and NVSwitch of one host, with the detours that NCCL
/// takes: GPUs that may not use peer-to-peer go through host memory, GPUs far from a NIC through
/// the GPU beside it (PXN), NICs without GPUDirect through the CPU (NCCL src/graph/paths.cc).
class NcclPaths {
 public:
  /// What a release does with a NIC behind Grace, which GPUs reach over NVLink-C2C.
  struct GraceRules {
    PathType nic_path = PathType::p2c;        ///< of a GPU to such a NIC
    PathType worst_of_relay = PathType::p2c;  ///< of a NIC to the GPU that sends for others (PXN)
    bool gpudirect = true;                    ///< where NCCL_NET_GDR_LEVEL would forbid it
  };

  /// Throws InputError for a pair of GPUs that could only talk over the network.
  NcclPaths(const NcclSystem& system, const NcclEnvironment& environment, NcclVersion version);

  /// Both ends are indices of nodes.
  const NcclPath& between(std::uint32_t from, std::uint32_t to) const {
    return paths_[from * node_count_ + to];
  }
  /// The indices, among the nodes of `kind`, of those with the widest, then closest path.
  std::vector<std::uint32_t> closest(std::uint32_t node, NcclNodeKind kind) const;
  /// The NIC (index among nets) that a GPU (index among GPUs) prefers on a channel; nothing where
  /// there are none.
  std::optional<std::uint32_t> preferred_net(std::uint32_t gpu, std::uint32_t channel) const {
    return preferences_[gpu].on(channel);
  }
  /// The GPU that is a NIC's first choice. Both are indices among their kind.
  std::optional<std::uint32_t> preferred_gpu(std::uint32_t net) const {
    return preferring_gpus_[net];
  }

  /// The worst path of a NIC to the GPU that sends for others (PXN).
  PathType worst_of_relay() const { return grace_.worst_of_relay; }
  /// Best and worst type between different GPUs, or from GPUs to NICs.
  PathType best_type(NcclNodeKind to) const;
  PathType worst_type(NcclNodeKind to) const;

 private:
  /// A GPU's closest NICs, of which each channel takes another.
  struct NetPreference {
    std::vector<std::uint32_t> nets;
    std::uint32_t first = 0;    // of channel 0, an index of `nets`
    std::uint32_t per_gpu = 1;  // how many before the first comes again

    std::optional<std::uint32_t> on(std::uint32_t channel) const {
      if (nets.empty()) return std::nullopt;
      return nets[(first + channel % per_gpu) % nets.size()];
    }
  };

  NetPreference net_preference(std::uint32_t gpu) const;
  std::optional<std::uint32_t> preferring_gpu(std::uint32_t net) const;
  NcclPath& path(std::uint32_t from, std::uint32_t to) { return paths_[from * node_count_ + to]; }
  void flood(std::uint32_t base, bool relay);
  void extend(std::uint32_t base, std::uint32_t node, std::uint32_t link_id, bool relay,
              std::vector<std::uint32_t>& next);
  void detour(std::uint32_t from, std::uint32_t via, std::uint32_t to);
  void avoid_forbidden_peers(const NcclEnvironment& environment, NcclVersion version);
  void relay_through_gpus(std::uint32_t net, const NcclEnvironment& environment);
  void avoid_forbidden_rdma(std::uint32_t net, const NcclEnvironment& environment);
  void mark_c2c_nets();
  bool rdma_allowed(std::uint32_t gpu, std::uint32_t net, bool read,
                    const NcclEnvironment& environment) const;
  std::uint32_t local_cpu(std::uint32_t gpu) const;

  const NcclSystem* system_;
  std::size_t node_count_;
  std::vector<NcclPath> paths_;
  GraceRules grace_;
  // Of the final paths.
  std::vector<NetPreference> preferences_;                     // by GPU
  std::vector<std::optional<std::uint32_t>> preferring_gpus_;  // by NIC
};

}  // namespace collsim
