#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/collective.h"
#include "sim/plan/plan.h"

namespace collsim {

class Group;

/// Where the ranks of a collective sit: node_of_rank[r] is the node of rank r. Nodes need not be
/// equally full, and ranks of a node need not be consecutive.
struct Placement {
  std::vector<std::uint32_t> node_of_rank;

  Rank ranks() const { return static_cast<Rank>(node_of_rank.size()); }
  /// The ranks of every node that has any, nodes in order of their first rank, ranks ascending.
  std::vector<std::vector<Rank>> ranks_by_node() const;
  /// How many nodes have ranks.
  Rank nodes() const;
};

/// How many ranks every node has; 1 where they differ.
Rank ranks_per_node(const Placement& placement);

/// `ranks` ranks filling nodes of `per_node` in order.
Placement uniform_placement(Rank ranks, Rank per_node = 1);

/// What more ranks cost an algorithm, and so how its time on two small clusters goes on to a large
/// one.
enum class Growth : std::uint8_t {
  none,  ///< not known, or the algorithm runs within one node
  /// A step for each further rank, in which everybody sends what one rank holds of the data: all
  /// steps take as long where the data grow with the ranks.
  share_per_rank,
  all_per_rank,       ///< a step for each further rank, in which somebody sends all data
  all_per_doubling,   ///< a level for each doubling of the ranks, through which all data go
  half_per_doubling,  ///< a level for each doubling, with half of the data of the one before
};

/// One way to reach a collective. `algorithms()` is the only list of them: help texts, `list`,
/// tests and docs iterate it. `inter` is the algorithm between nodes, given only to one that is
/// `composed`.
struct Algorithm {
  std::string_view name;
  Collective collective;
  std::string_view description;  ///< one line
  /// Nothing, or why it cannot run on this placement and what would do.
  std::optional<std::string> (*unsupported)(const Placement& placement, const Algorithm* inter);
  /// How many chunks one loop of the buffer is cut into.
  std::uint32_t (*chunks)(const Placement& placement, const Algorithm* inter);
  /// Emits the whole algorithm into a group of placement.ranks() ranks and chunks() chunks, which
  /// knows its root.
  void (*emit)(Group& group, const Placement& placement, const Algorithm* inter);
  Growth growth = Growth::none;  ///< of one that is composed: that of its inner one counts
  /// Made of another one: its full name is "<name>:<inter>", `default_inter` if only "<name>".
  bool composed = false;
  std::string_view default_inter = {};
};

std::span<const Algorithm> algorithms();

/// The names that make_plan() takes for a collective, the composed ones with each of their inner
/// algorithms ("hierarchical:tree"); in table order.
std::vector<std::string> algorithm_names(Collective collective);

/// Nothing, or why the algorithm of that name cannot run on the placement and what would do. Throws
/// InputError when there is no such algorithm, naming those there are.
std::optional<std::string> why_unsupported(Collective collective, std::string_view name,
                                           const Placement& placement);
/// Whether an NVSwitch makes its sums and copies, so that a machine has to have one that joins all
/// ranks. Throws InputError for an unknown name.
bool needs_adding_switch(Collective collective, std::string_view name);

/// Whose place in an algorithm the ranks take on the channels of a plan.
enum class ChannelOrder : std::uint8_t {
  same,  ///< on every channel rank i has place i
  /// On channel c the ranks of every node are rotated by c places, so that every GPU of a node, and
  /// the NIC beside it, is the way in and out on some channel. Only where nodes have equally many
  /// ranks, and the data of ranks have no order of their own (all_reduce, broadcast, reduce).
  rotated,
};

/// Which rank has each place, for as many channels as differ; channel c has the order c modulo
/// their number.
std::vector<std::vector<Rank>> channel_orders(Collective collective, const Placement& placement,
                                              std::uint32_t channels, ChannelOrder order);

/// How many chunks the algorithm of that name cuts a loop into. Throws as make_plan() does.
std::uint32_t chunks_of(Collective collective, std::string_view name, const Placement& placement);

/// How the algorithm of that name grows; `none` for a file. Throws InputError for an unknown name.
Growth growth_of(Collective collective, std::string_view name);

/// The plan of the algorithm of that name, with that order on its channels. `name` may be
/// "hierarchical:<inter-node algorithm>", or a file that names_schedule_file(), which is read;
/// `root` counts only where the collective has one. Throws InputError when there is no such
/// algorithm (naming those there are), when it does not support the placement, or when the root is
/// no rank.
Plan make_plan(Collective collective, std::string_view name, const Placement& placement,
               std::uint32_t channels = 1, Rank root = 0, ChannelOrder order = ChannelOrder::same);

}  // namespace collsim
