#pragma once

#include <cstdint>

#include "sim/base/units.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/nccl/nccl_version.h"
#include "sim/plan/protocol.h"

namespace collsim {

/// What one connection holds per protocol (NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE, NCCL_BUFFSIZE): 8
/// steps. The bytes of LL and LL128 are those on the wire, flags included.
struct NcclBuffers {
  Bytes ll{512 << 10};
  Bytes ll128{4915200};
  Bytes simple{4 << 20};
  /// A step of a send or receive to a peer (NCCL_P2P_NVL_CHUNKSIZE; 128 KiB over PCIe or network).
  Bytes point_to_point_chunk{512 << 10};
  /// The largest chunk of NVLS and NVLSTree (NCCL_NVLS_CHUNKSIZE); on Hopper, NVLSTree over four
  /// nodes or more has 64 KiB.
  Bytes nvls_chunk{128 << 10};

  bool operator==(const NcclBuffers&) const = default;
};

/// One call, as NCCL's choice has settled it; how many channels it uses says the plan.
struct NcclCall {
  Bytes size;  ///< nccl-tests' size: of the larger of a rank's buffers
  Bytes element_size{4};
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t nodes = 1;
  std::uint32_t stripes = 1;  ///< heads of a node, of NVLS, NVLSTree and CollNetDirect
  /// Threads of a thread block as launched: Ring with Simple has a warp more than it copies with.
  /// Only versions before 2.20 round by it.
  std::uint32_t threads = 544;
  NcclVersion version = default_nccl_version;  ///< 2.18 is the oldest known
  NcclBuffers buffers{};
};

}  // namespace collsim
