#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_cache.h"
#include "models/estimate/stripe_time.h"
#include "sim/nccl/nccl_channels.h"

namespace collsim {

/// What NVLS, NVLSTree and CollNetDirect reduce at heads, for each number of channels found once.
class StripeShapes {
 public:
  /// Refers to both.
  StripeShapes(const CallCompiler& compiler, CallHops& hops);

  const StripeShape& shape(NcclAlgorithm algorithm, std::uint32_t channels);

 private:
  using Id = LaidHops::Id;

  const NcclStripes& stripes(NcclAlgorithm algorithm) const;
  /// Even channels have the first tree over nodes, odd ones the second.
  const RootedTree& tree(std::uint32_t channel) const { return trees_[channel % trees_.size()]; }
  StripeShape made(NcclAlgorithm algorithm, std::uint32_t channels);
  std::vector<Id> local_hops(NcclAlgorithm algorithm, std::uint32_t channels);
  std::vector<Id> network_hops(NcclAlgorithm algorithm, std::uint32_t channels);
  Rank other_end(bool over_tree, std::uint32_t channel, Rank node) const;
  bool is_shown(bool over_tree, std::uint32_t channels, Rank node) const;
  void add_local_hops(StripeShape& shape, const LaidHops& laid, const std::vector<Id>& hops);
  void add_tree(StripeShape& shape, std::uint32_t channels) const;
  void add_proxy_tasks(StripeShape& shape, const LaidHops& laid, const std::vector<Id>& hops) const;
  void add_network_hops(StripeShape& shape, const LaidHops& laid, const std::vector<Id>& hops);

  const CallCompiler& compiler_;
  const MachineView& view_;
  CallHops& hops_;
  std::vector<RootedTree> trees_;  // over nodes
  std::map<std::pair<NcclAlgorithm, std::uint32_t>, StripeShape> shapes_;
};

}  // namespace collsim
