#include "models/nccl/search/graph_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "models/nccl/search/channel_search.h"
#include "models/nccl/search/graph_xml.h"
#include "models/nccl/search/speed_table.h"
#include "models/nccl/system/link_bandwidth.h"
#include "sim/base/division.h"

namespace collsim {

namespace {

// How long NCCL searches, in visits of a GPU (NCCL 2.30 src/graph/search.cc).
constexpr int steps_for_all = 1 << 19;
constexpr int steps_for_same_channels = 1 << 8;
constexpr int steps_for_different_channels = 1 << 14;

constexpr std::uint32_t max_nvls_heads = 32;
constexpr std::uint32_t max_collnet_heads = 8;

/// Two groups of GPUs, each with NVLink of its own and none between them.
bool nvlink_is_split(const NcclSystem& system, const NcclPaths& paths) {
  const auto gpus = system.of_kind(NcclNodeKind::gpu);
  std::vector<std::size_t> domain(gpus.size());
  for (std::size_t g = 0; g < gpus.size(); ++g) domain[g] = g;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (std::size_t peer = g + 1; peer < gpus.size(); ++peer) {
      if (paths.between(gpus[g], gpus[peer]).type == PathType::nvl) domain[peer] = domain[g];
    }
  }
  std::map<std::size_t, int> members;
  for (const std::size_t each : domain) ++members[each];
  return std::count_if(members.begin(), members.end(),
                       [](const auto& entry) { return entry.second > 1; }) == 2;
}

/// The search for one graph: a state that is relaxed step by step, and the best found so far.
class GraphSearch {
 public:
  GraphSearch(const NcclSystem& system, const NcclPaths& paths, bool inter, int cross_nic,
              NcclVersion version)
      : system_(system),
        paths_(paths),
        inter_(inter),
        capability_(system.min_compute_capability()),
        gpus_(static_cast<std::uint32_t>(system.gpu_count())),
        cross_nic_(cross_nic),
        bandwidth_(system_bandwidth(system, paths, inter)),
        speeds_(speed_table(capability_, inter, version)),
        search_(system, paths, inter) {}

  NcclGraph run(const NcclGraph& asked) {
    best_ = asked;
    prepare();
    if (best_.pattern == GraphPattern::nvls && !has_nvls()) return best_;
    find();
    duplicate();
    widen();
    if (best_.channels.empty() && !best_.collnet && best_.pattern != GraphPattern::nvls) {
      fall_back();
    }
    return best_;
  }

 private:
  bool has_nvls() const {
    return !system_.of_kind(NcclNodeKind::nvs).empty() && system_.multicast() && capability_ >= 90;
  }

  void prepare() {
    const bool pairs_nics = best_.pattern == GraphPattern::ring ||
                            best_.pattern == GraphPattern::balanced_tree ||
                            best_.pattern == GraphPattern::split_tree;
    if (system_.of_kind(NcclNodeKind::net).size() < 2 || !pairs_nics) cross_nic_ = 0;
    best_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    if (gpus_ > 1) {
      min_intra_ = paths_.best_type(NcclNodeKind::gpu);
      max_intra_ = paths_.worst_type(NcclNodeKind::gpu);
    }
    if (inter_) {
      min_inter_ = paths_.best_type(NcclNodeKind::net);
      max_inter_ = paths_.worst_type(NcclNodeKind::net);
    }
    // Balanced trees of Ampere and before sometimes come back over CPUs.
    if (capability_ < 90) max_inter_ = PathType::sys;
    best_.intra_type = min_intra_;
    best_.inter_type = min_inter_;
    try_same_ = best_.pattern != GraphPattern::nvls;
    best_.same_channels = try_same_;
    limit_channels();
  }

  void limit_channels() {
    if (best_.pattern == GraphPattern::nvls) {
      best_.max_channels = std::min(max_nvls_heads, gpus_);
      if (!inter_) best_.min_channels = best_.max_channels;  // pull evenly from all GPUs
    }
    if (best_.pattern == GraphPattern::collnet_direct) {
      best_.max_channels = std::min(max_collnet_heads, gpus_);
    }
    if (gpus_ == 1 && best_.pattern != GraphPattern::ring) best_.pattern = GraphPattern::tree;
    // Trees, which are then better, need two channels.
    if (best_.pattern == GraphPattern::ring && best_.max_channels >= 2 && best_.min_channels == 1 &&
        nvlink_is_split(system_, paths_)) {
      best_.min_channels = 2;
    }
  }

  void set_speed(std::size_t index) {
    speed_ = index;
    wanted_.intra_bandwidth = wanted_.inter_bandwidth = speeds_[index];
  }

  std::size_t first_speed_below(float limit, float total) const {
    std::size_t index = 0;
    const auto channels = static_cast<float>(best_.min_channels);
    while (index + 1 < speeds_.size() &&
           (speeds_[index] > limit || speeds_[index] * channels > total)) {
      ++index;
    }
    return index;
  }

  /// One search for what is wanted now; says whether nothing better can come.
  bool search() {
    int steps = wanted_.same_channels ? steps_for_same_channels : steps_for_different_channels;
    steps_left_ -= steps;
    steps = search_.run(wanted_, best_, steps);
    ended_ = steps;
    const auto channels = static_cast<float>(best_.channel_count());
    return steps == -1 || channels * best_.inter_bandwidth >= bandwidth_.total;
  }

  /// From the greatest wish downwards until something is found that lesser wishes cannot beat.
  void find() {
    float total = bandwidth_.total;
    // Only rings have to come back to where they began.
    if (gpus_ > 1 && best_.pattern != GraphPattern::ring) {
      total *= static_cast<float>(gpus_) / static_cast<float>(gpus_ - 1);
    }
    wanted_ = best_;
    set_speed(first_speed_below(bandwidth_.per_channel, total));
    while (!search() && relax()) {
    }
  }

  /// Asks for a little less. Says false when there is nothing left to give up. The order is NCCL's.
  bool relax() {
    const NcclCpu& cpu = system_.cpu();
    const bool across_amd_cpus = cpu.architecture == CpuArchitecture::x86 &&
                                 cpu.vendor == CpuVendor::amd &&
                                 wanted_.intra_type == PathType::sys;
    if (wanted_.same_channels && !across_amd_cpus) {
      wanted_.same_channels = false;
      return true;
    }
    wanted_.same_channels = try_same_;
    steps_left_ += ended_;
    if (steps_left_ < 0 && !best_.channels.empty()) return false;

    if (capability_ >= 90 && wanted_.pattern == GraphPattern::balanced_tree) {
      wanted_.pattern = GraphPattern::tree;
      return true;
    }
    wanted_.pattern = best_.pattern;
    return relax_intra_type() || relax_inter_type() || relax_nics() || relax_speed();
  }

  bool relax_intra_type() {
    const PathType most = inter_ ? wanted_.inter_type : max_intra_;
    const bool may_help = best_.channels.empty() || wanted_.intra_type < best_.intra_type;
    if (wanted_.intra_type < most && may_help) {
      wanted_.intra_type = next_worse(wanted_.intra_type);
      if (wanted_.intra_type < PathType::disconnected) return true;
    }
    wanted_.intra_type = min_intra_;
    return false;
  }

  bool relax_inter_type() {
    const bool may_help = best_.channels.empty() || wanted_.inter_type < best_.inter_type ||
                          wanted_.inter_type < PathType::pxn;
    if (inter_ && wanted_.inter_type < max_inter_ && may_help) {
      wanted_.inter_type = next_worse(wanted_.inter_type);
      if (wanted_.inter_type < PathType::disconnected) return true;
    }
    wanted_.inter_type = min_inter_;
    return false;
  }

  bool relax_nics() {
    if (cross_nic_ == 2 && wanted_.cross_nic == 0 &&
        (best_.pattern == GraphPattern::ring || best_.pattern == GraphPattern::balanced_tree)) {
      wanted_.cross_nic = 2;
      return true;
    }
    wanted_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    return false;
  }

  bool relax_speed() {
    if (speed_ + 1 >= speeds_.size()) return false;
    // Half the speed could at best give the same with twice the channels.
    if (!best_.channels.empty() && speeds_[speed_ + 1] / best_.inter_bandwidth <= 0.49F) {
      return false;
    }
    set_speed(speed_ + 1);
    return true;
  }

  /// Fast channels are run as two of half the speed.
  void duplicate() {
    const std::uint32_t channels = best_.channel_count();
    if (channels == 0 || best_.pattern == GraphPattern::nvls || best_.intra_bandwidth < 25) return;
    if (capability_ > 80 && best_.intra_bandwidth < 50 && channels > 4) return;
    const std::uint32_t doubled = std::min(channels * 2, best_.max_channels);
    const std::uint32_t copies = divide_up(doubled, channels);
    const auto factor = static_cast<float>(copies);
    for (std::uint32_t c = channels; c < doubled; ++c) {
      const GraphChannel copy = best_.channels[c - channels];
      best_.channels.push_back(copy);
    }
    best_.intra_bandwidth /= factor;
    best_.inter_bandwidth /= factor;
  }

  /// More bandwidth for as many channels: rings as a whole, trees inside the node, NVLS at the NIC.
  void widen() {
    wanted_ = best_;
    set_speed(first_speed_below(best_.inter_bandwidth, std::numeric_limits<float>::infinity()));
    wanted_.min_channels = best_.channel_count();
    ended_ = -1;
    while (ended_ != 0 && speed_ > 0) {
      if (best_.pattern == GraphPattern::ring) {
        set_speed(speed_ - 1);
      } else if (best_.pattern == GraphPattern::nvls &&
                 wanted_.inter_bandwidth == best_.inter_bandwidth &&
                 wanted_.inter_bandwidth < wanted_.intra_bandwidth * 2) {
        wanted_.min_channels = wanted_.max_channels = best_.channel_count();
        wanted_.inter_bandwidth = speeds_[--speed_];
      } else if (wanted_.intra_bandwidth == best_.intra_bandwidth &&
                 wanted_.intra_bandwidth < wanted_.inter_bandwidth * 2) {
        wanted_.intra_bandwidth = speeds_[--speed_];
      } else {
        return;
      }
      search();
    }
  }

  /// Nothing was found: one slow channel in the order of the GPUs.
  void fall_back() {
    GraphChannel channel;
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) channel.gpus.push_back(gpu);
    channel.first_net = paths_.preferred_net(0, 0);
    channel.last_net = paths_.preferred_net(gpus_ - 1, 0);
    best_.channels.push_back(channel);
    best_.intra_bandwidth = best_.inter_bandwidth = 0.1F;
    best_.intra_type = best_.inter_type = PathType::sys;
  }

  const NcclSystem& system_;
  const NcclPaths& paths_;
  bool inter_;
  int capability_;
  std::uint32_t gpus_;
  int cross_nic_;
  SystemBandwidth bandwidth_;
  std::span<const float> speeds_;
  ChannelSearch search_;

  PathType min_intra_ = PathType::loc;
  PathType max_intra_ = PathType::sys;
  PathType min_inter_ = PathType::pix;
  PathType max_inter_ = PathType::sys;
  bool try_same_ = true;
  NcclGraph best_;
  NcclGraph wanted_;
  std::size_t speed_ = 0;
  int steps_left_ = steps_for_all;
  int ended_ = 0;
};

NcclGraph asked_graph(GraphUse use, GraphPattern pattern, bool collnet, std::uint32_t least,
                      std::uint32_t most) {
  return {.use = use,
          .pattern = pattern,
          .collnet = collnet,
          .min_channels = least,
          .max_channels = most,
          .channels = {}};
}

}  // namespace

SystemBandwidth system_bandwidth(const NcclSystem& system, const NcclPaths& paths, bool inter) {
  if (!inter && system.gpu_count() == 1) return {local_bandwidth, local_bandwidth};
  SystemBandwidth bandwidth;
  for (const std::uint32_t gpu : system.of_kind(NcclNodeKind::gpu)) {
    for (const std::uint32_t end : system.of_kind(inter ? NcclNodeKind::net : NcclNodeKind::gpu)) {
      if (gpu == end) continue;
      bandwidth.per_channel = std::max(bandwidth.per_channel, paths.between(gpu, end).bandwidth);
    }
    float nvlink = 0;
    float pci = 0;
    for (const std::uint32_t id : system.node(gpu).links) {
      const NcclLink& link = system.links()[id];
      if (link.kind == NcclLinkKind::nvl) nvlink += link.bandwidth;
      if (link.kind == NcclLinkKind::pci) pci = link.bandwidth;
    }
    bandwidth.total = std::max({bandwidth.total, nvlink, pci});
  }
  return bandwidth;
}

bool forbids_nvlink(const NcclEnvironment& environment) {
  return environment.p2p_level && *environment.p2p_level < PathType::nvl;
}

std::size_t min_nvls_gpus(NcclVersion version) {
  return version < NcclVersion{2, 28, 7} ? 3 : 2;
}

namespace {

/// All that the searches of a host depend on, byte after byte, so that two can be held against each
/// other. Settings that leave its paths as they are leave them, too.
class SearchKey {
 public:
  SearchKey(const NcclSystem& system, const NcclPaths& paths, bool inter,
            const NcclEnvironment& environment, NcclVersion version) {
    add(inter, version.major_number, version.minor_number, version.patch, system.multicast(),
        environment.cross_nic, paths.worst_of_relay());
    for (const NcclNode& node : system.nodes()) add(node);
    for (const NcclNodeKind kind : {NcclNodeKind::gpu, NcclNodeKind::net}) {
      for (const std::uint32_t node : system.of_kind(kind)) add(node);
    }
    for (const NcclLink& link : system.links()) {
      add(link.from, link.to, link.kind, link.bandwidth);
    }
    for (std::uint32_t from = 0; from < system.nodes().size(); ++from) {
      for (std::uint32_t to = 0; to < system.nodes().size(); ++to) add(paths.between(from, to));
    }
  }

  /// The key of the search for one graph.
  std::string of(const NcclGraph& asked) const {
    SearchKey key = *this;
    key.add(asked.use, asked.pattern, asked.collnet, asked.min_channels, asked.max_channels);
    return std::move(key.bytes_);
  }

 private:
  template <typename... Values>
  void add(const Values&... values) {
    static_assert((std::is_scalar_v<Values> && ...));
    (bytes_.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  }

  void add(const NcclPath& path) {
    add(path.bandwidth, path.type, path.staged, path.links.size());
    for (const std::uint32_t link : path.links) add(link);
  }

  void add(const NcclNode& node) {
    add(node.kind, node.id, node.host, node.pci_device, node.links.size());
    for (const std::uint32_t link : node.links) add(link);
    const NcclGpu& gpu = node.gpu;
    add(gpu.device, gpu.rank, gpu.compute_capability, gpu.gdr);
    const NcclNet& net = node.net;
    add(net.device, net.asic, net.port, net.bandwidth, net.latency, net.gdr, net.collnet,
        net.nics.size());
    for (const int nic : net.nics) add(nic);
    const NcclCpu& cpu = node.cpu;
    add(cpu.architecture, cpu.vendor, cpu.family, cpu.model);
  }

  std::string bytes_;
};

/// Studies ask for one host many times, with settings that a search does not depend on.
NcclGraph known_or_found(const SearchKey& host, const NcclGraph& asked,
                         const std::function<NcclGraph()>& find) {
  constexpr std::size_t max_known = 1024;
  static std::mutex mutex;
  static std::map<std::string, NcclGraph> known;
  const std::string key = host.of(asked);
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
  }
  NcclGraph graph = find();
  const std::lock_guard lock(mutex);
  if (known.size() >= max_known) known.clear();
  known.emplace(key, graph);
  return graph;
}

}  // namespace

NcclGraphs search_graphs(const NcclSystem& system, const NcclPaths& paths, bool inter,
                         const NcclEnvironment& environment, NcclVersion version) {
  const SearchKey host(system, paths, inter, environment, version);
  const auto find = [&](const NcclGraph& asked) {
    if (!environment.graph_file.empty()) {
      if (auto given = read_nccl_graph(environment.graph_file, asked.use, system, environment)) {
        return *given;
      }
    }
    return known_or_found(host, asked, [&] {
      return GraphSearch(system, paths, inter, environment.cross_nic, version).run(asked);
    });
  };
  NcclGraphs graphs;
  graphs.ring = find(asked_graph(GraphUse::ring, GraphPattern::ring, false, 1, 32));
  const std::uint32_t channels = graphs.ring.channel_count();
  graphs.tree =
      find(asked_graph(GraphUse::tree, GraphPattern::balanced_tree, false, channels, channels));
  graphs.collnet_chain =
      asked_graph(GraphUse::collnet_chain, GraphPattern::tree, true, channels, channels);
  graphs.collnet_direct =
      asked_graph(GraphUse::collnet_direct, GraphPattern::collnet_direct, true, 1, 64);
  graphs.nvls = asked_graph(GraphUse::nvls, GraphPattern::nvls, false, 1, 64);
  if (inter && environment.collnet_enabled) {
    graphs.collnet_chain = find(graphs.collnet_chain);
    graphs.collnet_direct = find(graphs.collnet_direct);
  }
  const bool enough = system.gpu_count() >= min_nvls_gpus(version);
  if (environment.nvls_enabled && !forbids_nvlink(environment) && enough) {
    graphs.nvls = find(graphs.nvls);
  }
  return graphs;
}

}  // namespace collsim
