#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/launch_size.h"
#include "models/nccl/point_to_point.h"
#include "models/nccl/rank_nodes.h"
#include "models/nccl/search/channel_nets.h"
#include "models/nccl/search/channels.h"
#include "models/nccl/search/graph_search.h"
#include "models/nccl/search/message_nets.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"
#include "models/nccl/tuning/efa_tuner.h"
#include "models/nccl/tuning/reduction.h"
#include "models/nccl/tuning/tuning.h"
#include "sim/base/units.h"
#include "sim/nccl/nccl_channels.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// One pair that NCCL considers for a call.
struct Candidate {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  double time = 0;  ///< NCCL's estimate, us
  /// What NCCL launches on a larger cluster that this one stands for; none: what it launches here.
  std::optional<LaunchSize> launch{};
};

/// What NCCL runs for a call.
struct Choice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;         ///< C', the first of channels()
  std::uint32_t threads = 0;          ///< of one thread block
  double time = 0;                    ///< NCCL's estimate, us: made to choose by, not to predict
  std::vector<Candidate> candidates;  ///< all that were possible, in NCCL's order
};

/// One communicator of NCCL's: what its search finds when it is made, and what it chooses for each
/// call.
class Nccl {
 public:
  using Variables = std::map<std::string, std::string>;

  /// The GPUs of a host that take part, by their place among its GPUs, rising.
  using LocalGpus = std::vector<std::uint32_t>;

  /// `nodes` hosts like `system`, one rank per GPU, or per GPU of `gpus`. Throws InputError for bad
  /// variables.
  Nccl(NcclSystem system, std::uint32_t nodes, const Variables& variables = {},
       NcclVersion version = default_nccl_version,
       const std::optional<LocalGpus>& gpus = std::nullopt);
  /// The hosts of a topology, all alike, or `nodes` like its first one. Where `gpus` says which
  /// GPUs of each take part, hosts may differ: `kinds` are the numbers of one host of every kind.
  /// Each host of NCCL's searches by itself, and they agree on the fewest channels and the least
  /// bandwidth (NCCL src/init.cc); rings and trees are taken to go through all hosts as through the
  /// one with the fewest NICs.
  explicit Nccl(const Topology& topology, const Variables& variables = {},
                NcclVersion version = default_nccl_version,
                std::optional<std::uint32_t> nodes = std::nullopt,
                const std::optional<LocalGpus>& gpus = std::nullopt,
                std::vector<std::uint32_t> kinds = {0});

  /// More or fewer hosts like those of another communicator: what its search found is taken over.
  /// Both have several hosts, or both have one.
  Nccl(const Nccl& like, std::uint32_t nodes);

  /// One communicator over hosts on which other GPUs take part, or more of them: each of `kinds` is
  /// one over as many hosts that are all of that kind, and `kind_of_node` says of which kind each
  /// host is. Each host keeps the channels that its own search has found; all agree on the fewest
  /// and on the least bandwidth. Where a part of NCCL needs one host to speak for all, it is the
  /// first. NVLS and CollNet are off where hosts differ in how many ranks they have, or in which of
  /// them head stripes.
  Nccl(std::vector<Nccl> kinds, std::vector<std::uint32_t> kind_of_node);

  /// What the calls that follow add up, and how; not every algorithm can do all (why_not()). At
  /// first a sum of floats.
  void set_reduction(const Reduction& reduction) { reduction_ = reduction; }

  const NcclSystem& system() const { return system_; }
  const NcclEnvironment& environment() const { return environment_; }
  NcclVersion version() const { return version_; }
  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t ranks() const;
  /// Whether all hosts have the same GPUs in it.
  bool has_like_hosts() const { return laid_->hosts == nullptr; }
  /// Which ranks are on which host. Refers to the communicator.
  RankNodes rank_nodes() const;
  /// What a host has found for itself: its system, graphs, NICs and ways through host memory.
  const Nccl& host(std::uint32_t node) const;
  SystemBandwidth bandwidth() const { return bandwidth_; }
  const NcclGraphs& graphs() const { return graphs_; }
  /// How many channels collectives may use.
  std::uint32_t channel_count() const { return static_cast<std::uint32_t>(origins_.size()); }
  /// Those channels over all ranks, laid when first asked for: they grow with the ranks.
  const NcclChannels& channels() const;
  /// The stripes into which CollNetDirect or, otherwise, NVLS cuts a node's data.
  std::uint32_t stripes(NcclAlgorithm algorithm) const;
  std::uint32_t nvls_channels() const { return nvls_channels_; }
  /// Whether two GPUs of a node, by their place among its GPUs, talk through host memory: NCCL uses
  /// no peer-to-peer between them (NCCL src/graph/paths.cc, ncclTopoCheckP2p).
  bool through_host_memory(std::uint32_t from, std::uint32_t to) const {
    return through_host_memory_[from * system_.gpu_count() + to];
  }
  /// Whether any two GPUs of one host do.
  bool talks_through_host_memory() const;
  /// Whether what such a GPU exchanges with NICs stops in host memory: NCCL uses no GPUDirect
  /// there, though it could be nearer than over the CPU.
  bool network_through_host_memory(std::uint32_t gpu) const {
    return nodes_ > 1 && network_through_host_memory_[gpu];
  }
  /// The NICs by which Ring, Tree and the heads of NVLSTree reach other nodes.
  const ChannelNets& ring_nets() const { return ring_nets_; }
  const ChannelNets& tree_nets() const { return tree_nets_; }
  const ChannelNets& head_nets() const { return head_nets_; }
  /// The NICs by which sends and receives do.
  const MessageNets& message_nets() const { return message_nets_; }
  /// What sends and receives have.
  const PointToPoint& point_to_point() const { return point_to_point_; }
  /// The largest chunk of NVLS or NVLSTree.
  Bytes nvls_chunk(NcclAlgorithm algorithm) const;
  const TuningTable& table() const { return table_; }
  const Tuning& tuning(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol) const {
    return table_[index_of(function)][index_of(algorithm)][index_of(protocol)];
  }

  /// Throws InputError where NCCL_ALGO and NCCL_PROTO leave no pair for the function, saying what
  /// an algorithm that is asked for alone would need.
  void require_any(NcclFunction function) const;

  /// The pair that a tuner of the network's plug-in asks for (efa_tuner_choice()), if it is
  /// possible, else the one with the least estimate, the first in NCCL's order among equals, with
  /// the channels and threads for that size. `size` as tuning counts it: count * element size, for
  /// AllGather and ReduceScatter times the ranks. `operations` are grouped calls per channel.
  /// Throws InputError where NCCL_ALGO and NCCL_PROTO leave nothing.
  Choice choose(NcclFunction function, Bytes size, std::uint32_t operations = 1) const;

  /// NCCL's estimate for a pair, us; nothing if it is not used.
  std::optional<double> estimate(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol,
                                 Bytes size, std::uint32_t operations = 1) const;
  /// Why a pair is not considered for a function; nothing where it is.
  std::optional<std::string> why_not(NcclFunction function, NcclAlgorithm algorithm,
                                     Protocol protocol) const;
  /// Channels and threads of a pair for a size, chosen or not.
  LaunchSize launch(NcclAlgorithm algorithm, Protocol protocol, Bytes size) const;

 private:
  struct UnlikeHosts;
  struct LaidChannels {
    std::once_flag once;
    NcclChannels channels;
    std::shared_ptr<const UnlikeHosts> hosts;  // none where all are alike
  };

  TuningInput tuning_input() const;
  /// Takes the lesser of what was found here and by the search of another kind of host.
  void agree_on_graphs(const NcclGraphs& other);
  void leave_out_stripes();
  /// Takes the lesser of what was found here and on another kind of host.
  void agree_with(const Nccl& other);
  /// What depends on the number of hosts, once the graphs are found.
  void settle_nodes(const NcclPaths& paths);
  /// Throws InputError where the environment leaves no pair to choose.
  [[noreturn]] void complain_of_nothing(NcclFunction function) const;

  /// What a tuner that came with the network's plug-in asks for.
  std::optional<AlgorithmProtocol> tuned(NcclFunction function, Bytes size) const;

  NcclEnvironment environment_;
  std::optional<EfaPlatform> tuner_;
  NcclVersion version_;
  std::uint32_t nodes_;
  Reduction reduction_;
  NcclSystem system_;
  SystemBandwidth bandwidth_;
  std::vector<bool> through_host_memory_;          // [from * GPUs + to]
  std::vector<bool> network_through_host_memory_;  // by GPU
  NcclGraphs graphs_;
  std::vector<ChannelOrigin> origins_;  // of the channels
  std::shared_ptr<LaidChannels> laid_;  // shared by copies
  ChannelNets ring_nets_;
  ChannelNets tree_nets_;
  ChannelNets head_nets_;
  MessageNets message_nets_;
  std::uint32_t nvls_channels_ = 0;
  PointToPoint point_to_point_;
  TuningTable table_{};
};

}  // namespace collsim
