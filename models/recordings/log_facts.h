#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "sim/base/units.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What a channel carries data by between two ranks.
enum class LogTransport : std::uint8_t {
  peer_to_peer,    ///< "via P2P/..."
  host_memory,     ///< "via SHM/..."
  rdma,            ///< "via NET/..." without GPUDirect
  rdma_gpudirect,  ///< "via NET/.../GDRDMA"
  sockets,         ///< "via NET/Socket/..."
};

/// Lines of one kind.
struct LogLines {
  std::size_t count = 0;
  std::string first;  ///< the first one, without the launcher's prefix
};

/// What NCCL's log (NCCL_DEBUG=INFO) says of a run. What it does not say is empty or 0.
struct LogFacts {
  bool any = false;          ///< whether there was a line of NCCL's log at all
  bool names_rings = false;  ///< INIT lines of channels, so that transports are known
  std::string nccl;          ///< "2.28.9"
  Rank ranks = 0;
  std::uint32_t nodes = 0;
  std::uint32_t local_ranks = 0;
  std::uint32_t hosts_of_node = 1;  ///< hosts that make up one node, by join_trays()
  std::uint32_t channels = 0;       ///< channels of collectives
  std::uint32_t nvls_channels = 0;  ///< 0: none, or not said
  std::map<LogTransport, LogLines> transports;
  std::set<std::string> nics;                    ///< "mlx5_0"; none of sockets
  BytesPerSecond nic_rate{};                     ///< rate of one port; 0 where no line says it
  std::string cpu_vendor;                        ///< "Intel", "AMD", where a line of GRAPH says it
  std::string network;                           ///< "IB", "RoCE", "Socket", "AWS Libfabric"
  std::map<std::string, std::string> variables;  ///< "set by environment"
  bool no_nvls = false;                          ///< "NVLS multicast support is not available"
  bool no_gpudirect = false;                     ///< "GPU Direct RDMA Disabled for HCA"
  bool no_ib_device = false;                     ///< "NET/IB : No device found."
  LogLines too_far;      ///< "GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 7 > 5)"
  LogLines near_enough;  ///< "GPU Direct RDMA Enabled for GPU 0 / HCA 1 (distance 3 <= 5)"
  LogLines p2p_blocked;  ///< "P2P is disabled between connected GPUs 0 and 1"
  /// Hosts whose lines of "via NET/IB" have GPUDirect, and those with one that has not.
  std::set<std::string> hosts_with_gpudirect;
  std::set<std::string> hosts_without_gpudirect;
  std::string interface;    ///< "eno1" of "NET/Socket : Using [0]eno1:192.0.2.1<0>"
  std::uint32_t cores = 0;  ///< the fewest of "Setting affinity for GPU 0 to ffff"
  /// The ranks of each channel's ring, as "Channel 00/24 : 0 1 2 3" lists them.
  std::map<std::uint32_t, std::vector<std::uint32_t>> rings;
  std::uint32_t fewest_channels = 0;  ///< of collectives, of any rank
  std::vector<std::string> warnings;  ///< NCCL WARN, each text once, the first few
};

/// Reads the lines of NCCL's log in a text and passes over all others; never throws.
LogFacts read_log_facts(const TextFile& text);
/// The lines of channels of a transport; null where there are none.
const LogLines* lines_of(const LogFacts& facts, LogTransport transport);
std::size_t line_count(const LogFacts& facts, LogTransport transport);
/// Whether a process is bound to so few cores that its threads are in each other's way.
bool is_on_few_cores(const LogFacts& facts);
/// Hosts of which no connection to others has GPUDirect, where those of other hosts have.
std::vector<std::string> hosts_without_any_gpudirect(const LogFacts& facts);
/// What either says; of numbers and names, the first that says something.
LogFacts merged(LogFacts first, const LogFacts& second);

}  // namespace collsim
