#include "models/nccl/search/channels.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/algorithms/patterns.h"

namespace collsim {

namespace {

/// How many channels rings and trees have in common.
std::uint32_t search_channels_of(const NcclGraphs& graphs) {
  return std::min(graphs.ring.channel_count(), graphs.tree.channel_count());
}

/// Lays the search channels of every node over all nodes.
class Connector {
 public:
  explicit Connector(std::span<const SearchedHost> hosts)
      : hosts_(hosts),
        nodes_(static_cast<std::uint32_t>(hosts.size())),
        search_channels_(search_channels_of(*hosts.front().graphs)) {
    first_ranks_.push_back(0);
    for (const SearchedHost& host : hosts) {
      first_ranks_.push_back(first_ranks_.back() + static_cast<Rank>(host.system->gpu_count()));
    }
  }

  /// Node after node, each in the order of its channel; begins at rank 0.
  std::vector<Rank> ring(std::uint32_t channel) const {
    std::vector<Rank> ring;
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      for (const std::uint32_t gpu : graphs(node).ring.channels[ring_of(channel, node)].gpus) {
        ring.push_back(rank(node, gpu));
      }
    }
    std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), Rank{0}), ring.end());
    return ring;
  }

  /// CollNetChain's, the one of the search channel or of the first if there are fewer.
  std::vector<std::vector<Rank>> chains(std::uint32_t channel) const {
    std::vector<std::vector<Rank>> chains;
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      const auto& found = graphs(node).collnet_chain.channels;
      if (found.empty()) return {};
      std::vector<Rank>& chain = chains.emplace_back();
      for (const std::uint32_t gpu : found[channel % found.size()].gpus) {
        chain.push_back(rank(node, gpu));
      }
    }
    return chains;
  }

  /// The stripes of a graph whose channels list their heads.
  NcclStripes stripes(const NcclGraph& graph) const {
    NcclStripes stripes;
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      std::vector<Rank>& ranks = stripes.nodes.emplace_back();
      const auto gpus = static_cast<std::uint32_t>(hosts_[node].system->gpu_count());
      for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) ranks.push_back(rank(node, gpu));
    }
    stripes.heads = stripe_heads(graph);
    return stripes;
  }

  /// Chains inside nodes, joined by the first or the second binary tree over nodes.
  RootedTree tree(std::uint32_t channel, bool second) const {
    RootedTree tree;
    tree.parent.resize(first_ranks_.back());
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      const std::vector<std::uint32_t>& chain = chain_of(channel, node);
      for (std::size_t i = 1; i < chain.size(); ++i) {
        tree.parent[rank(node, chain[i])] = rank(node, chain[i - 1]);
      }
    }
    const RootedTree over_nodes = second ? second_binary_tree(nodes_) : binary_tree(nodes_);
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      const auto parent = over_nodes.parent[node];
      if (!parent) continue;
      const bool first_child = place_in_tree(node, second) < place_in_tree(*parent, second);
      const GraphPattern pattern = graphs(*parent).tree.pattern;
      const std::size_t joint =
          first_child ? first_child_place(pattern) : second_child_place(pattern);
      const std::vector<std::uint32_t>& above = chain_of(channel, *parent);
      tree.parent[rank(node, chain_of(channel, node).front())] =
          rank(*parent, above[std::min(joint, above.size() - 1)]);
    }
    return tree;
  }

 private:
  const NcclGraphs& graphs(std::uint32_t node) const { return *hosts_[node].graphs; }

  const std::vector<std::uint32_t>& chain_of(std::uint32_t channel, std::uint32_t node) const {
    return graphs(node).tree.channels[channel].gpus;
  }

  Rank rank(std::uint32_t node, std::uint32_t gpu) const {
    return first_ranks_[node] + static_cast<Rank>(hosts_[node].system->gpu(gpu).gpu.rank);
  }

  /// Pairs of channels that cross between two NICs swap on every other node, so that
  /// traffic stays on one rail.
  std::uint32_t ring_of(std::uint32_t channel, std::uint32_t node) const {
    const bool swapped =
        graphs(node).ring.cross_nic == 2 && search_channels_ % 2 == 0 && node % 2 == 1;
    return swapped ? channel ^ 1U : channel;
  }

  /// The node's number in the tree that the second one is the image of.
  std::uint32_t place_in_tree(std::uint32_t node, bool second) const {
    if (!second) return node;
    return nodes_ % 2 == 0 ? nodes_ - 1 - node : (node + nodes_ - 1) % nodes_;
  }

  static std::size_t first_child_place(GraphPattern pattern) {
    return pattern == GraphPattern::tree ? 0 : 1;
  }
  static std::size_t second_child_place(GraphPattern pattern) {
    return pattern == GraphPattern::split_tree ? 1 : 0;
  }

  std::span<const SearchedHost> hosts_;
  std::uint32_t nodes_;
  std::uint32_t search_channels_;
  std::vector<Rank> first_ranks_;  // by node, then how many there are
};

/// Makes it `count` channels by repeating them from the first on, if it has fewer.
void repeat_up_to(std::vector<ChannelOrigin>& channels, std::size_t count) {
  const std::size_t have = channels.size();
  for (std::size_t c = have; c < count; ++c) {
    const ChannelOrigin copy = channels[c - have];
    channels.push_back(copy);
  }
}

/// Hosts with few GPUs need four channels per search channel to fill fast NICs, on Hopper and
/// later. 2.18 gave several nodes up to 32 in any case; 2.19 halved them to save memory and SMs, by
/// which all-to-all from three nodes on lost a quarter (a maintainer in NVIDIA/nccl issue 1316).
bool wants_twice(std::size_t channels, const NcclSystem& system, const NcclGraphs& graphs,
                 std::uint32_t nodes, NcclVersion version) {
  if (system.min_compute_capability() < 90 || nodes == 1) return false;
  if (version < NcclVersion{2, 19}) return 2 * channels <= channel_limit(version);
  return graphs.ring.intra_bandwidth > 45 && channels < 16;
}

}  // namespace

std::vector<std::uint32_t> stripe_heads(const NcclGraph& graph) {
  std::vector<std::uint32_t> heads;
  for (const GraphChannel& channel : graph.channels) {
    const std::uint32_t head = channel.gpus.front();
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

std::uint32_t channel_limit(NcclVersion version) {
  return version < NcclVersion{2, 25} ? 32 : 64;
}

std::vector<ChannelOrigin> channel_origins(const NcclSystem& system, const NcclGraphs& graphs,
                                           std::uint32_t nodes, const NcclEnvironment& environment,
                                           NcclVersion version) {
  const std::size_t limit = channel_limit(version);
  const std::uint32_t search_channels = search_channels_of(graphs);
  std::vector<ChannelOrigin> channels;
  for (const bool second : {false, true}) {
    for (std::uint32_t c = 0; c < search_channels; ++c) channels.push_back({c, second});
  }
  if (channels.size() > limit) channels.resize(limit);

  const bool several_gpus = system.gpu_count() > 1;
  if (graphs.collnet_chain.intra_bandwidth > graphs.collnet_chain.inter_bandwidth &&
      !graphs.collnet_chain.channels.empty() && several_gpus) {
    repeat_up_to(channels, std::min(limit, channels.size() + channels.size() / 2));
  }
  if (wants_twice(channels.size(), system, graphs, nodes, version)) {
    repeat_up_to(channels, 2 * channels.size());
  }
  const std::size_t most = std::min<std::size_t>(environment.max_channels, limit);
  if (channels.size() > most) channels.resize(most);
  repeat_up_to(channels, std::min<std::size_t>(environment.min_channels, limit));
  return channels;
}

NcclChannels connect_channels(std::span<const SearchedHost> hosts,
                              std::span<const ChannelOrigin> origins) {
  const Connector connector(hosts);
  NcclChannels result;
  for (const auto& [search_channel, second] : origins) {
    result.channels.push_back({connector.ring(search_channel),
                               connector.tree(search_channel, second),
                               connector.chains(search_channel)});
  }
  result.nvls = connector.stripes(hosts.front().graphs->nvls);
  result.collnet = connector.stripes(hosts.front().graphs->collnet_direct);
  return result;
}

std::uint32_t nvls_channel_count(int min_compute_capability, std::uint32_t nodes,
                                 const NcclEnvironment& environment) {
  std::uint32_t channels = 16;
  if (min_compute_capability >= 100) channels = nodes > 1 ? 32 : 24;
  channels = environment.nvls_channels.value_or(channels);
  return std::max(environment.min_channels, std::min(environment.max_channels, channels));
}

}  // namespace collsim
