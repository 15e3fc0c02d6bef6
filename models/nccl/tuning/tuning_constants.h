#pragma once

#include <array>

#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"

namespace collsim {

/// What NCCL's estimates rest on. us and GB/s.
struct TuningConstants {
  /// Rows of the tables by GPU.
  enum Architecture : std::size_t { volta, ampere, hopper, blackwell };
  /// The rows of hop_latency: the kind of link that a hop crosses.
  enum Hop : std::size_t { nvlink, pci, network };
  /// A constant for one node, for two, and for more.
  using ByNodes = std::array<double, 3>;
  using ByArchitecture = std::array<ByNodes, 4>;

  PerAlgorithm<PerProtocol<double>> base_latency;
  std::array<PerAlgorithm<PerProtocol<double>>, 3> hop_latency;
  /// In all; one node: by GPU. More: row volta for Intel and other CPUs, row ampere for AMD.
  ByArchitecture ll_most;
  // Per search channel.
  ByArchitecture ring_ll128_most;
  ByArchitecture tree_ll128_most;
  ByArchitecture tree_most;
  ByArchitecture nvls_tree_most;
  std::array<double, 4> nvls_efficiency;
  double ring_ll_share = 0.5;              ///< of the ring's bandwidth that LL reaches
  double ring_ll_share_one_node = 0.5;     ///< the same on one node, but for AllReduce and Reduce
  double ring_ll128_share_one_gpu = 0.92;  ///< what LL128 reaches with one GPU per node
  double pat_share = 0.75;
};

/// The constants of a release (NCCL src/graph/tuning.cc).
TuningConstants tuning_constants(NcclVersion version);

/// The factor of tree bandwidths for sizes from 2^(6+i) bytes on; 1 beyond the table. Tree leaves
/// out the last of its 24 entries, NVLSTree does not.
double tree_correction(Protocol protocol, int log2_of_size_over_64);

}  // namespace collsim
