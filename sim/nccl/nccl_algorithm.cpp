#include "sim/nccl/nccl_algorithm.h"

#include <array>
#include <cstddef>

namespace collsim {

std::string_view to_string(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 7> names{
      "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
  static_assert(names.size() == static_cast<std::size_t>(NcclAlgorithm::pat) + 1);
  return names.at(static_cast<std::size_t>(algorithm));
}

bool adds_in_nvswitches(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
}

double wire_factor(Collective collective, NcclAlgorithm algorithm, Rank ranks,
                   Rank ranks_per_node) {
  const double busbw = busbw_factor(collective, ranks);
  if (ranks < 2) return busbw;
  if (algorithm == NcclAlgorithm::tree && collective == Collective::all_reduce) {
    return ranks > 2 ? 2 : busbw;
  }
  if (!adds_in_nvswitches(algorithm)) return busbw;
  switch (collective) {
    case Collective::all_reduce:
      return 1 + 1.0 / ranks_per_node;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return 1;
    default:
      return busbw;
  }
}

}  // namespace collsim
