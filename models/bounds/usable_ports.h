#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// Capacity that leaves and that enters something, or what must cross it.
struct Port {
  double out = 0;     ///< bytes per second
  double in = 0;      ///< bytes per second
  double bursts = 0;  ///< bytes that the links of a capacity pass at once

  bool operator==(const Port&) const = default;
  Port& operator+=(const Port& other);
};

/// The ports that the ranks of a communicator can use. What other GPUs of their nodes could reach
/// is idle, since a GPU outside the communicator runs nothing that could pass data on.
///
/// A rank uses the NICs that are nearest to its GPU, as NCCL and a Router do, and ranks of one node
/// use each other's, since one may send through the GPU of another (PXN). Farther NICs count only
/// while the nearer ones cannot fill the ranks' links to them, as NCCL counts PCIe (48 GB/s for
/// gen5 x16): NCCL's search adds channels over farther NICs then. All NICs count where those of two
/// nodes are not joined, as on separate rails. A GPU's link counts if it leads to another rank or
/// to such a NIC without passing through a GPU outside the communicator; where ranks have no other
/// way to each other, they do pass.
class UsablePorts {
 public:
  /// `gpus[r]` is the device of rank r.
  UsablePorts(const Topology& topology, std::span<const DeviceId> gpus);

  /// The port of all that the rank's GPU can use.
  Port of_rank(Rank rank) const { return uses_[use_of_rank_[rank].first].ranks[place_of(rank)]; }
  /// The port from the ranks of a rank's node to the network.
  Port of_node(Rank rank) const { return uses_[use_of_rank_[rank].first].network; }
  /// Whether one network joins all NICs that they use: not so separate rails.
  bool are_on_one_network() const { return on_one_network_; }

 private:
  struct Use {
    Port network;
    std::vector<Port> ranks;  ///< in the order of the node's ranks
  };

  std::size_t place_of(Rank rank) const { return use_of_rank_[rank].second; }

  std::vector<Use> uses_;
  std::vector<std::pair<std::size_t, std::size_t>> use_of_rank_;  // and the place there
  bool on_one_network_ = true;
};

}  // namespace collsim
