#include "models/nccl/symmetric/symmetric_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/nccl/settings/version.h"
#include "sim/base/division.h"

namespace collsim {

namespace {

/// What NCCL knows of a kernel.
struct KernelFacts {
  SymmetricKernel kernel;
  std::string_view name;
  NcclFunction function;
  bool ll = false;
  bool stores_multicast = false;
  bool loads_multicast = false;
};

constexpr std::array kernels{
    KernelFacts{SymmetricKernel::all_reduce_ll, "AllReduce_AGxLL_R", NcclFunction::all_reduce,
                true},
    KernelFacts{SymmetricKernel::all_reduce_ll_multicast, "AllReduce_AGxLLMC_R",
                NcclFunction::all_reduce, true, true},
    KernelFacts{SymmetricKernel::all_reduce_direct, "AllReduce_RSxLD_AGxST",
                NcclFunction::all_reduce},
    KernelFacts{SymmetricKernel::all_reduce_multicast, "AllReduce_RSxLDMC_AGxSTMC",
                NcclFunction::all_reduce, false, true, true},
    KernelFacts{SymmetricKernel::all_gather_ll, "AllGather_LL", NcclFunction::all_gather, true},
    KernelFacts{SymmetricKernel::all_gather_ll_multicast, "AllGather_LLMC",
                NcclFunction::all_gather, true, true},
    KernelFacts{SymmetricKernel::all_gather_direct, "AllGather_ST", NcclFunction::all_gather},
    KernelFacts{SymmetricKernel::all_gather_multicast, "AllGather_STMC", NcclFunction::all_gather,
                false, true},
    KernelFacts{SymmetricKernel::reduce_scatter_ll, "ReduceScatter_LL",
                NcclFunction::reduce_scatter, true},
    KernelFacts{SymmetricKernel::reduce_scatter_direct, "ReduceScatter_LD",
                NcclFunction::reduce_scatter},
    KernelFacts{SymmetricKernel::reduce_scatter_multicast, "ReduceScatter_LDMC",
                NcclFunction::reduce_scatter, false, true, true},
};

const KernelFacts& facts_of(SymmetricKernel kernel) {
  return kernels[static_cast<std::size_t>(kernel)];
}

// NCCL's constants. Rates are bytes per us, of units of 2^30 bytes a second.
constexpr double gibi_per_second = (1 << 30) / 1e6;
constexpr double ll_bytes_per_byte = 9;     ///< flags, processing, no unrolled loops
constexpr double ll_multicast_bonus = 1.1;  ///< so that it is taken before the plain one
constexpr double multicast_share = 0.55;    ///< of the ranks, likewise
constexpr double enough = 1.025;            ///< of the time of the most thread blocks
constexpr float block_penalty = .025F;      ///< of the time, for each thread block
constexpr std::uint32_t max_blocks = 64;
constexpr std::int64_t cell_bytes = 1024;  ///< that one thread block has at least
constexpr int blackwell = 100;
constexpr std::int64_t max_ll_bytes = std::int64_t{2} << 30;
constexpr std::int64_t max_direct_bytes = 32 * max_ll_bytes;
constexpr NcclVersion first_version{2, 27, 0};
/// From here on two ranks have no multicast kernels, and averages are reduced by kernels, too.
constexpr NcclVersion without_pairs{2, 30, 0};
/// From here on an even number of thread blocks runs, but for one, and Blackwell's reduce-scatters
/// have rates of their own (NCCL 2.31 src/tuning/sym_model.cc).
constexpr NcclVersion with_even_blocks{2, 31, 0};

/// A smooth min(x, ceiling).
double soft_min(double x, double ceiling, double softness) {
  return ceiling -
         softness * std::log1p((std::exp(ceiling / softness) - 1) * std::exp(-x / softness));
}

/// A smooth max(0, x).
double soft_plus(double x) {
  constexpr double linear_from = 100;
  return x >= linear_from ? x : std::log1p(std::exp(x));
}

/// What NCCL takes a kernel to move, and how fast.
struct KernelModel {
  double bytes = 0;
  double multiplier = 1;
  double base = 0;
  double block_rate = 0;
  double peak = 0;
  std::uint32_t block_limit = max_blocks;

  double time(std::uint32_t blocks) const {
    const double rate = soft_min(blocks * block_rate * multiplier, peak, block_rate);
    return base + soft_plus(bytes / rate - 1);
  }
};

void add_rates(const KernelFacts& facts, const SymmetricSetting& of, KernelModel& model) {
  const bool reduces_all = facts.function == NcclFunction::all_reduce;
  const bool sums_in_switch = reduces_all && facts.loads_multicast;
  if (of.compute_capability < blackwell) {
    model.base = facts.ll ? 4.5 : 7.8;
    model.block_rate = (reduces_all ? 65 : 44) * gibi_per_second;
    model.peak = (sums_in_switch ? 480 : 320) * gibi_per_second;
    return;
  }
  const bool gathers = facts.function == NcclFunction::all_gather;
  const bool scatters =
      facts.function == NcclFunction::reduce_scatter && of.version >= with_even_blocks;
  model.base = facts.ll ? (gathers ? 8.5 : scatters ? 10.5 : 11) : (reduces_all ? 19.5 : 13.0);
  model.block_rate = 55 * gibi_per_second;
  model.peak = (sums_in_switch ? 1000 : scatters ? 650 : 600) * gibi_per_second;
}

/// `bytes`: of a rank.
KernelModel model_of(const KernelFacts& facts, std::int64_t bytes, const SymmetricSetting& of) {
  KernelModel model;
  add_rates(facts, of, model);
  const std::int64_t n = of.ranks;
  const bool reduces_all = facts.function == NcclFunction::all_reduce;
  if (facts.ll) {
    model.bytes = static_cast<double>(n * bytes) * ll_bytes_per_byte;
    if (facts.stores_multicast) model.multiplier = ll_multicast_bonus;
    return model;
  }
  const bool multicast = facts.stores_multicast || facts.loads_multicast;
  std::int64_t moved = (n - 1) * bytes;
  if (reduces_all) moved = multicast ? bytes / n + bytes : 2 * bytes * (n - 1) / n;
  model.bytes = static_cast<double>(moved);
  if (!multicast) return model;
  model.multiplier = static_cast<double>(n) * (reduces_all ? 1 : multicast_share);
  const std::uint32_t of_switches = of.compute_capability < blackwell ? 16 : 32;
  model.block_limit = divide_up(of_switches, of.ranks);
  return model;
}

SymmetricCandidate candidate_of(const KernelFacts& facts, std::int64_t bytes,
                                const SymmetricSetting& of) {
  const KernelModel model = model_of(facts, bytes, of);
  std::uint32_t most = std::min(model.block_limit, of.max_thread_blocks);
  std::uint32_t least = of.min_thread_blocks;
  if (of.thread_blocks && *of.thread_blocks > 0) {
    most = std::min(max_blocks, *of.thread_blocks);
    least = most;
  }
  const bool even = of.version >= with_even_blocks && least != most;
  if (even && least > 1) least += least % 2;
  if (even && most > 1) most -= most % 2;
  SymmetricCandidate candidate{facts.kernel, most, model.time(most), 0};
  for (std::uint32_t blocks = least; blocks < most; blocks += even && blocks > 1 ? 2 : 1) {
    const double time = model.time(blocks);
    if (time > enough * static_cast<float>(candidate.time)) continue;
    candidate.thread_blocks = blocks;
    candidate.time = time;
    break;
  }
  candidate.weight = static_cast<float>(candidate.time) *
                     (1 + block_penalty * static_cast<float>(candidate.thread_blocks));
  return candidate;
}

bool is_float(Datatype type) {
  return type == Datatype::float16 || type == Datatype::float32 || type == Datatype::bfloat16 ||
         type == Datatype::float8_e4m3 || type == Datatype::float8_e5m2;
}

/// Whether NVSwitches add such elements up for a kernel.
bool adds_in_switch(const SymmetricSetting& of) {
  switch (of.reduction.type) {
    case Datatype::float8_e4m3:
    case Datatype::float8_e5m2:
      return of.compute_capability >= blackwell;
    case Datatype::int8:
    case Datatype::uint8:
      return false;
    default:
      return true;
  }
}

bool has_multicast(const SymmetricSetting& of) {
  return of.multicast && (of.version < without_pairs || of.ranks > 2);
}

bool is_considered(const KernelFacts& facts, NcclFunction function, Bytes size,
                   const SymmetricSetting& of) {
  if (facts.function != function || (of.kernel && *of.kernel != facts.kernel)) return false;
  if (facts.ll && size.count >= max_ll_bytes) return false;
  if ((facts.stores_multicast || facts.loads_multicast) && !has_multicast(of)) return false;
  return !facts.loads_multicast || adds_in_switch(of);
}

}  // namespace

std::string_view nccl_name(SymmetricKernel kernel) {
  return facts_of(kernel).name;
}

std::optional<SymmetricKernel> find_symmetric_kernel(std::string_view name) {
  const auto* const found = std::find_if(kernels.begin(), kernels.end(),
                                         [&](const auto& facts) { return facts.name == name; });
  return found == kernels.end() ? std::nullopt : std::optional(found->kernel);
}

std::int64_t symmetric_cells(NcclFunction function, Bytes size, Rank ranks) {
  const std::int64_t own = function == NcclFunction::all_reduce ? size.count : size.count / ranks;
  return std::max<std::int64_t>(divide_up(own, cell_bytes), 1);
}

std::optional<std::string> why_not_symmetric(NcclFunction function, Bytes size,
                                             const SymmetricSetting& setting) {
  if (setting.version < first_version) {
    return fmt::format("NCCL {} has none, 2.27 is the first that has", to_string(setting.version));
  }
  if (!setting.windows) return "NCCL_WIN_ENABLE=0 registers no windows";
  if (setting.ranks < 2) return "one rank sends nothing";
  if (!setting.one_host) return "ranks are on several hosts, whose kernels are not modelled";
  if (!setting.nvlink) return "not every pair of ranks has NVLink";
  if (function == NcclFunction::broadcast || function == NcclFunction::reduce) {
    return fmt::format("there is none for {}", nccl_name(function));
  }
  if (function != NcclFunction::all_gather) {
    const ReductionOp op = setting.reduction.op;
    const bool adds =
        op == ReductionOp::sum || (op == ReductionOp::avg && setting.version >= without_pairs);
    if (!adds || !is_float(setting.reduction.type)) {
      return fmt::format("none computes the {} of {}", to_string(op),
                         to_string(setting.reduction.type));
    }
  }
  if (size.count >= max_direct_bytes) return "64 GiB and more are too much for one";
  const bool any = std::any_of(kernels.begin(), kernels.end(), [&](const KernelFacts& facts) {
    return is_considered(facts, function, size, setting);
  });
  if (!any) return "NCCL_SYM_KERNEL leaves none";
  return std::nullopt;
}

SymmetricChoice choose_symmetric(NcclFunction function, Bytes size,
                                 const SymmetricSetting& setting) {
  SymmetricChoice choice;
  const std::int64_t cells = symmetric_cells(function, size, setting.ranks);
  for (const KernelFacts& facts : kernels) {
    if (!is_considered(facts, function, size, setting)) continue;
    choice.candidates.push_back(candidate_of(facts, cells * cell_bytes, setting));
    const SymmetricCandidate& last = choice.candidates.back();
    if (choice.candidates.size() == 1 || last.weight < choice.chosen.weight) choice.chosen = last;
  }
  const auto blocks = static_cast<std::int64_t>(choice.chosen.thread_blocks);
  const std::int64_t each = divide_up(cells, blocks);
  choice.used_blocks = static_cast<std::uint32_t>(divide_up(cells, each));
  return choice;
}

}  // namespace collsim
