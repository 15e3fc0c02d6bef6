#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "sim/base/division.h"
#include "sim/topologies/network.h"

namespace collsim {

namespace {

/// What the file says about the tree, defaults filled in.
struct FatTree {
  Cable cable;
  double oversubscription = 1;
  std::uint32_t levels = 2;
  std::uint32_t ports = 32;       ///< ends that a leaf takes; a switch has twice as many ports
  std::uint32_t pod_leaves = 32;  ///< leaves of a pod, three levels only
  std::uint32_t spines = 0;       ///< of every pod; 0: as few as have the ports
  std::uint32_t cores = 0;        ///< 0: as few as have the ports
  bool rail_optimised = false;
  Routing routing = Routing::fixed;
};

/// The leaves that share a set of spines.
struct Pod {
  std::vector<DeviceId> spines;
  BytesPerSecond spine_downlinks;  ///< all of one spine
};

constexpr std::uint32_t switch_limit = 16'384;
constexpr std::size_t link_limit = std::size_t{1} << 22;

FatTree read_fat_tree(const YamlValue& fabric) {
  const YamlMapping keys =
      fabric.mapping({"kind", "attach", "link", "sharp", "oversubscription", "levels", "ports",
                      "rail_optimised", "spines", "pod_leaves", "cores", "routing"});
  FatTree tree;
  tree.cable = read_cable(keys);
  tree.oversubscription = read_oversubscription(keys);
  if (const auto levels = keys.find("levels")) {
    tree.levels = static_cast<std::uint32_t>(levels->integer(2, 3));
  }
  tree.ports = read_count(keys, "ports", tree.ports, switch_limit);
  tree.spines = read_count(keys, "spines", 0, switch_limit);
  if (const auto rails = keys.find("rail_optimised")) tree.rail_optimised = rails->boolean();
  for (const std::string_view key : {"pod_leaves", "cores"}) {
    if (tree.levels == 2 && keys.find(key)) {
      keys.at(key).fail(
          fmt::format("'{}' is a key of trees with three levels, and this one has two", key),
          "add 'levels: 3'");
    }
  }
  tree.pod_leaves = read_count(keys, "pod_leaves", tree.ports, switch_limit);
  tree.cores = read_count(keys, "cores", 0, switch_limit);
  tree.routing = read_routing(keys, "ecmp");
  return tree;
}

/// The ends of each leaf. Packed: in order, leaf by leaf. Rail optimised: groups of `ports` nodes
/// have one leaf per rail, which takes the i-th end of every node of the group.
std::vector<std::vector<DeviceId>> assign_leaves(const FatTree& tree, const YamlValue& fabric,
                                                 const NodeEnds& ends) {
  std::vector<std::vector<DeviceId>> leaves;
  if (tree.rail_optimised) {
    const std::size_t rails = equal_end_count(fabric, ends);
    for (std::size_t node = 0; node < ends.size(); ++node) {
      if (node % tree.ports == 0) leaves.resize(leaves.size() + rails);
      for (std::size_t i = 0; i < rails; ++i) {
        leaves[leaves.size() - rails + i].push_back(ends[node][i]);
      }
    }
    return leaves;
  }
  for (const auto& ends_of_node : ends) {
    for (const DeviceId end : ends_of_node) {
      if (leaves.empty() || leaves.back().size() == tree.ports) leaves.emplace_back();
      leaves.back().push_back(end);
    }
  }
  return leaves;
}

/// The smallest divisor of `cables` that is at least `least`: so many switches share the cables of
/// each switch below them evenly.
std::uint32_t even_switch_count(std::uint32_t cables, std::uint32_t least) {
  if (cables > switch_limit) return least;
  for (std::uint32_t count = std::max(least, 1U); count < cables; ++count) {
    if (cables % count == 0) return count;
  }
  return std::max(cables, 1U);
}

class FatTreeBuilder {
 public:
  FatTreeBuilder(TopologyBuilder& builder, const YamlValue& fabric, const FatTree& tree,
                 const NodeEnds& ends)
      : builder_(builder), fabric_(fabric), tree_(tree) {
    for (const auto& ends_of_leaf : assign_leaves(tree, fabric, ends)) {
      leaves_.push_back(add_network_switch(builder, "leaf", leaves_.size()));
      widest_leaf_ = std::max(widest_leaf_, ends_of_leaf.size());
      for (const DeviceId end : ends_of_leaf) {
        add_cable(builder, end, leaves_.back(), tree.cable);
      }
    }
  }

  void build() {
    if (leaves_.size() == 1) return;
    const std::size_t pod_size = tree_.levels == 2 ? leaves_.size() : tree_.pod_leaves;
    std::vector<Pod> pods;
    for (std::size_t first = 0; first < leaves_.size(); first += pod_size) {
      const std::size_t count = std::min(pod_size, leaves_.size() - first);
      pods.push_back(add_pod(std::span(leaves_).subspan(first, count), pod_size));
    }
    if (pods.size() > 1) add_cores(pods, std::min(pod_size, leaves_.size()));
  }

 private:
  /// Cables of a leaf upwards. Their bandwidth is exact for any oversubscription; their number is
  /// rounded and only says how many spines they can be spread over.
  std::uint32_t uplinks() const {
    const double cables = static_cast<double>(widest_leaf_) / tree_.oversubscription;
    return std::max(1U, static_cast<std::uint32_t>(std::lround(cables)));
  }

  /// Whether every flow has an even share of all spines of a pod, and of all cores: to it those are
  /// one switch, with all their cables.
  bool is_spread() const { return tree_.routing == Routing::adaptive; }

  void add_counted_trunk(DeviceId below, DeviceId above, BytesPerSecond bandwidth) {
    if (++trunks_ > link_limit) {
      fabric_.fail("more than 4194304 links between switches", "fewer spines or cores");
    }
    add_trunk(builder_, below, above, bandwidth, tree_.cable);
  }

  Pod add_pod(std::span<const DeviceId> leaves, std::size_t full_size) {
    const std::uint32_t down_ports = tree_.levels == 2 ? 2 * tree_.ports : tree_.ports;
    const auto size = static_cast<std::uint32_t>(std::min(full_size, leaves_.size()));
    const std::uint32_t spine_count =
        tree_.spines != 0
            ? tree_.spines
            : even_switch_count(uplinks(), static_cast<std::uint32_t>(divide_up(
                                               std::uint64_t{size} * uplinks(), down_ports)));
    if (spine_count > uplinks()) {
      fabric_.free_mapping().at("spines").fail(
          fmt::format("{} spines share {} cables up from every leaf", spine_count, uplinks()),
          "every spine needs at least one of them: use fewer spines");
    }
    spines_of_pod_ = spine_count;
    const std::uint32_t drawn = is_spread() ? 1 : spine_count;
    const double cables = static_cast<double>(widest_leaf_) / tree_.oversubscription;
    const BytesPerSecond trunk = cables / drawn * tree_.cable.bandwidth;
    Pod pod{{}, static_cast<double>(size) * trunk};
    for (std::uint32_t s = 0; s < drawn; ++s) {
      pod.spines.push_back(add_network_switch(builder_, "spine", spines_++));
      for (const DeviceId leaf : leaves) add_counted_trunk(leaf, pod.spines.back(), trunk);
    }
    return pod;
  }

  /// Spine j of every pod meets spine j of the others in its own group of cores, which carry all
  /// that its downlinks carry.
  void add_cores(const std::vector<Pod>& pods, std::size_t pod_size) {
    const std::uint32_t groups = spines_of_pod_;
    std::uint32_t group_size = tree_.cores / groups;
    if (tree_.cores % groups != 0) {
      fabric_.free_mapping().at("cores").fail(
          fmt::format("{} cores do not divide among {} spines of every pod", tree_.cores, groups),
          fmt::format("'cores' must be a multiple of {}", groups));
    }
    if (tree_.cores == 0) {
      const auto cables =
          static_cast<std::uint32_t>(std::max<std::size_t>(1, pod_size * uplinks() / groups));
      const std::uint64_t all = pods.size() * cables;
      group_size = even_switch_count(
          cables, static_cast<std::uint32_t>(divide_up(all, std::uint64_t{2} * tree_.ports)));
    }
    if (is_spread()) group_size = 1;
    const std::uint32_t drawn = is_spread() ? 1 : groups * group_size;
    for (std::uint32_t core = 0; core < drawn; ++core) {
      const DeviceId above = add_network_switch(builder_, "core", core);
      for (const Pod& pod : pods) {
        add_counted_trunk(pod.spines[core / group_size], above,
                          (1.0 / group_size) * pod.spine_downlinks);
      }
    }
  }

  TopologyBuilder& builder_;
  const YamlValue& fabric_;
  const FatTree& tree_;
  std::vector<DeviceId> leaves_;
  std::size_t widest_leaf_ = 0;
  std::size_t spines_ = 0;
  std::uint32_t spines_of_pod_ = 0;
  std::size_t trunks_ = 0;
};

}  // namespace

void build_fat_tree(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends) {
  const FatTree tree = read_fat_tree(fabric);
  FatTreeBuilder(builder, fabric, tree, ends).build();
}

}  // namespace collsim
