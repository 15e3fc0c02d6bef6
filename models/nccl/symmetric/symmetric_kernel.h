#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/settings/function.h"
#include "models/nccl/tuning/reduction.h"
#include "sim/base/units.h"
#include "sim/nccl/nccl_version.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// NCCL's kernels on symmetric memory: buffers registered as windows, which peers read and write
/// directly (from 2.27 on). LL: flags lie between the data. MC: by multicast and sums of
/// NVSwitches.
enum class SymmetricKernel : std::uint8_t {
  all_reduce_ll,             ///< AllReduce_AGxLL_R: all to all, each adds up
  all_reduce_ll_multicast,   ///< AllReduce_AGxLLMC_R
  all_reduce_direct,         ///< AllReduce_RSxLD_AGxST: loads of the own part, stores to all
  all_reduce_multicast,      ///< AllReduce_RSxLDMC_AGxSTMC
  all_gather_ll,             ///< AllGather_LL
  all_gather_ll_multicast,   ///< AllGather_LLMC
  all_gather_direct,         ///< AllGather_ST
  all_gather_multicast,      ///< AllGather_STMC
  reduce_scatter_ll,         ///< ReduceScatter_LL
  reduce_scatter_direct,     ///< ReduceScatter_LD
  reduce_scatter_multicast,  ///< ReduceScatter_LDMC
};

/// NCCL's name, which NCCL_SYM_KERNEL takes: "AllReduce_AGxLL_R".
std::string_view nccl_name(SymmetricKernel kernel);
/// Finds a kernel by that name.
std::optional<SymmetricKernel> find_symmetric_kernel(std::string_view name);

/// What NCCL chooses a symmetric kernel by.
struct SymmetricSetting {
  NcclVersion version = default_nccl_version;
  Rank ranks = 1;
  int compute_capability = 90;  ///< 10 major + minor
  bool one_host = true;         ///< all ranks share one
  bool nvlink = true;           ///< every pair of ranks has it: they share memory
  bool multicast = false;       ///< NVLS
  bool windows = true;          ///< NCCL_WIN_ENABLE is not 0
  Reduction reduction{};
  std::uint32_t min_thread_blocks = 1;         ///< NCCL_MIN_CTAS
  std::uint32_t max_thread_blocks = 64;        ///< NCCL_MAX_CTAS
  std::optional<std::uint32_t> thread_blocks;  ///< NCCL_SYM_CTAS
  std::optional<SymmetricKernel> kernel;       ///< NCCL_SYM_KERNEL
};

/// A kernel that NCCL considers.
struct SymmetricCandidate {
  SymmetricKernel kernel = SymmetricKernel::all_reduce_ll;
  std::uint32_t thread_blocks = 1;  ///< by NCCL's form, the fewest within 2.5 % of the most
  double time = 0;                  ///< NCCL's estimate, us: made to choose by, not to predict
  double weight = 0;                ///< the time, 2.5 % more for each thread block: the least runs
};

struct SymmetricChoice {
  SymmetricCandidate chosen;
  std::uint32_t used_blocks = 1;               ///< that data is left for
  std::vector<SymmetricCandidate> candidates;  ///< in NCCL's order
};

/// The cells of 1 KiB of a rank that NCCL divides among thread blocks. `size` is nccl-tests'.
std::int64_t symmetric_cells(NcclFunction function, Bytes size, Rank ranks);

/// Why NCCL runs none of them; nothing where it does. It does not compare them with its rings and
/// trees: where both buffers are registered and a kernel is there, it runs.
std::optional<std::string> why_not_symmetric(NcclFunction function, Bytes size,
                                             const SymmetricSetting& setting);

/// What NCCL runs, by the form that it has had since 2.28 (2.27 interpolates in tables of times
/// that are not kept here; it is taken to choose as 2.28). `size` is nccl-tests': for AllGather and
/// ReduceScatter that of all ranks. Only where not why_not_symmetric().
///
///   T = base + softplus(bytes / rate - 1),  rate = softmin(blocks * block rate * multiplier, peak)
///
/// (NCCL src/sym_kernels.cc; facts of it, not its text)
SymmetricChoice choose_symmetric(NcclFunction function, Bytes size,
                                 const SymmetricSetting& setting);

}  // namespace collsim
