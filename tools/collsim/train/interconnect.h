#pragma once

#include <cstdint>
#include <string_view>

namespace collsim {

/// The network between nodes as a source words it.
struct Interconnect {
  std::int64_t nics = 0;          ///< of a node; 0: as many as the machine's nodes have
  double gigabits = 0;            ///< a second, of each NIC; 0: the machine's own
  std::int64_t gpus_of_node = 0;  ///< 0: not said
};

/// Reads words such as "8x NDR InfiniBand 400 Gb/s per node (3200 Gb/s), NVLink4"; docs/formats.md
/// has the grammar. `gpus_of_node` is what else is known of the nodes, or 0. Throws QuantityError
/// for words that say a rate or a number and are not understood, or that contradict each other.
Interconnect read_interconnect(std::string_view words, std::int64_t gpus_of_node);

}  // namespace collsim
