#include "sim/nccl/nccl_algorithm.h"

namespace collsim {

std::string_view to_string(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return "tree";
    case NcclAlgorithm::ring:
      return "ring";
    case NcclAlgorithm::collnet_direct:
      return "collnet_direct";
    case NcclAlgorithm::collnet_chain:
      return "collnet_chain";
    case NcclAlgorithm::nvls:
      return "nvls";
    case NcclAlgorithm::nvls_tree:
      return "nvls_tree";
    case NcclAlgorithm::pat:
      return "pat";
  }
  return "?";
}

double wire_factor(Collective collective, NcclAlgorithm algorithm, Rank ranks,
                   Rank ranks_per_node) {
  const double busbw = busbw_factor(collective, ranks);
  if (ranks < 2) return busbw;
  if (algorithm == NcclAlgorithm::tree && collective == Collective::all_reduce) {
    return ranks > 2 ? 2 : busbw;
  }
  const bool through_nvswitch =
      algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
  if (!through_nvswitch) return busbw;
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
