#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/settings/function.h"
#include "models/nccl/settings/path_type.h"
#include "models/nccl/settings/version.h"
#include "sim/base/units.h"

namespace collsim {

/// The NICs that NCCL_IB_HCA lets NCCL use.
struct NetFilter {
  bool exclude = false;  ///< "^": all but these
  bool exact = false;    ///< "=": whole names, not how they begin
  std::vector<std::string> names;

  bool allows(const std::string& name) const;
};

/// What NCCL's variables ask for; NCCL's defaults where they are not set.
struct NcclEnvironment {
  /// Which pairs NCCL_ALGO and NCCL_PROTO leave. A protocol that NCCL_PROTO does not speak of is
  /// NCCL's to decide.
  PerFunction<PerAlgorithm<bool>> algorithm_allowed;
  PerFunction<PerProtocol<std::optional<bool>>> protocol_allowed;

  std::uint32_t min_channels = 0;
  std::uint32_t max_channels = 64;
  std::optional<std::uint32_t> threads;        ///< at most, LL and Simple
  std::optional<std::uint32_t> ll128_threads;  ///< at most, LL128
  /// Bytes a thread should have: [tree, ring][protocol].
  std::array<PerProtocol<std::optional<std::int64_t>>, 2> thread_thresholds;
  /// The buffer of one connection, all eight steps together; by protocol.
  PerProtocol<Bytes> buffer_size{Bytes{512 << 10}, Bytes{4'915'200}, Bytes{4 << 20}};

  std::uint32_t min_message_channels = 1;  ///< of sends and receives
  std::uint32_t max_message_channels = 64;
  /// A step of sends and receives where all of a node has NVLink, where not, and over the network.
  Bytes nvlink_message_step{512 << 10};
  Bytes pcie_message_step{128 << 10};
  Bytes network_message_step{128 << 10};
  Bytes message_ll_threshold{16 << 10};  ///< for each channel that a message could get
  /// Channels of one message to another node; NCCL's rule where it is not set.
  std::optional<std::uint32_t> channels_per_net_peer;
  std::int64_t message_channel_bandwidth = 14;  ///< GB/s that one of those channels is to carry

  std::optional<PathType> p2p_level;  ///< the worst path on which GPUs use peer-to-peer
  bool shm_disabled = false;
  bool nvb_disabled = false;
  int cross_nic = 2;  ///< 0: never, 1: freely, 2: in pairs if that helps
  bool pxn_disabled = false;
  int message_pxn_level = 2;  ///< of sends and receives (MessageNets)
  std::optional<PathType> gdr_level;
  /// GPUDirect to NICs behind Grace, and PXN over them; the release's rule where they are not set.
  std::optional<bool> gdr_over_c2c;
  std::optional<bool> pxn_over_c2c;
  bool nvls_enabled = true;
  std::optional<std::uint32_t> nvls_channels;
  Bytes nvls_chunk{128 << 10};           ///< at most
  std::optional<Bytes> nvls_tree_chunk;  ///< the same of NVLSTree, which is no larger
  bool collnet_enabled = false;
  std::uint32_t collnet_node_threshold = 2;
  int pat = 2;                         ///< 0: never, 1: always, 2: where it runs
  std::optional<double> net_overhead;  ///< us a message costs the sender
  NetFilter nets;
  bool merges_ports = true;  ///< ports of one NIC become one
  bool ll128_over_c2c = true;
  bool ib_disabled = false;
  bool socket_net = false;  ///< NCCL_NET=Socket
  /// Threads of a connection over sockets, and TCP streams that each of them serves.
  std::optional<std::uint32_t> socket_threads;
  std::optional<std::uint32_t> streams_per_thread;
  std::optional<bool> tuner;  ///< NCCL_TUNER_PLUGIN: whether it names one
  std::filesystem::path topology_file;
  std::filesystem::path graph_file;

  /// Variables that were given but change nothing here, one sentence each.
  std::vector<std::string> warnings;

  /// Whether there are no InfiniBand verbs, so no GPUDirect.
  bool over_sockets() const { return ib_disabled || socket_net; }

  /// Whether NCCL asks the tuner of a network plug-in. From 2.21 on it finds it by itself; 2.19 and
  /// 2.20 have to be told (NCCL src/plugin/tuner.cc). Over sockets there is no plug-in.
  bool uses_tuner(NcclVersion version) const {
    if (over_sockets() || version < NcclVersion{2, 19}) return false;
    return tuner.value_or(version >= NcclVersion{2, 21});
  }
};

/// The variables that parse_nccl_environment() knows, in alphabetical order.
std::vector<std::string> modelled_nccl_variables();

/// Reads NCCL_* variables. Throws InputError for a value that NCCL would refuse or replace, saying
/// what it takes. Variables that are not modelled are named in `warnings`.
NcclEnvironment parse_nccl_environment(const std::map<std::string, std::string>& variables,
                                       NcclVersion version);

}  // namespace collsim
