#include "tests/support/nccl_channels.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace collsim::test {

NcclChannels one_node_channels(Rank ranks, std::uint32_t count) {
  NcclChannel channel;
  channel.ring.resize(ranks);
  std::iota(channel.ring.begin(), channel.ring.end(), Rank{0});
  channel.tree.parent.resize(ranks);
  for (Rank rank = 1; rank < ranks; ++rank) channel.tree.parent[rank] = rank - 1;
  return {std::vector<NcclChannel>(count, channel)};
}

NcclChannels random_channels(Rank ranks, std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  NcclChannels channels;
  for (std::uint32_t i = 0; i < count; ++i) {
    NcclChannel& channel = channels.channels.emplace_back();
    channel.ring.resize(ranks);
    std::iota(channel.ring.begin(), channel.ring.end(), Rank{0});
    std::shuffle(channel.ring.begin(), channel.ring.end(), random);
    // Ranks join in another random order, each below one that is there and has room.
    std::vector<Rank> order = channel.ring;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::uint32_t> children(ranks);
    channel.tree.parent.resize(ranks);
    for (Rank joined = 1; joined < ranks; ++joined) {
      Rank parent = 0;
      do parent = order[random() % joined];
      while (children[parent] == 3);
      ++children[parent];
      channel.tree.parent[order[joined]] = parent;
    }
  }
  return channels;
}

NcclChannels node_channels(std::uint32_t nodes, Rank per_node, std::uint32_t count,
                           std::uint32_t seed) {
  std::mt19937 random(seed);
  NcclChannels channels = one_node_channels(nodes * per_node, count);
  NcclStripes stripes;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::vector<Rank>& ranks = stripes.nodes.emplace_back(per_node);
    std::iota(ranks.begin(), ranks.end(), node * per_node);
  }
  stripes.heads.resize(per_node);
  std::iota(stripes.heads.begin(), stripes.heads.end(), 0U);
  std::shuffle(stripes.heads.begin(), stripes.heads.end(), random);
  channels.nvls = stripes;
  channels.collnet = stripes;
  for (NcclChannel& channel : channels.channels) {
    channel.chains = stripes.nodes;
    for (auto& chain : channel.chains) std::shuffle(chain.begin(), chain.end(), random);
  }
  return channels;
}

}  // namespace collsim::test
