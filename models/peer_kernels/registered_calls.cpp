#include "models/peer_kernels/registered_calls.h"

#include <fmt/format.h>

#include <utility>

#include "models/nccl/symmetric_setting.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// The buffers of its own that a rank of AllReduce_AGxLL_R handles beside one of each peer. On 2
/// and 4 H200 with 7 thread blocks a byte takes 62 and 77 ps, as 8 to 10.
constexpr double own_buffers_of_ll = 7;

RegisteredCalls::Wire wire_of(SymmetricKernel kernel) {
  switch (kernel) {
    case SymmetricKernel::all_reduce_ll:
      return {"one_shot", own_buffers_of_ll};
    case SymmetricKernel::all_reduce_ll_multicast:
      return {"one_shot"};
    case SymmetricKernel::all_reduce_direct:
      return {"two_shot"};
    case SymmetricKernel::all_reduce_multicast:
      return {"multimem_two_shot"};
    default:
      return {"one_shot", 1};
  }
}

}  // namespace

RegisteredCalls::RegisteredCalls(CallSpec spec, bool simulated)
    : plans_(std::move(spec), simulated ? by_simulation() : by_formulas()),
      table_(load_peer_kernels()) {
  const Nccl* const nccl = compiler().nccl();
  if (nccl == nullptr) return;  // one rank
  setting_ = symmetric_setting(*nccl, plans_.spec().run.variables, plans_.spec().run.reduction);
}

std::optional<std::string> RegisteredCalls::why_not(Bytes size) const {
  const auto function = function_of(plans_.spec().collective);
  if (!function || plans_.spec().collective == Collective::barrier) {
    return fmt::format("there is none for {}", to_string(plans_.spec().collective));
  }
  if (const auto algorithm = find_nccl_run(plans_.spec().run.algorithm)) {
    return fmt::format("the algorithm {} is asked for", nccl_name(*algorithm));
  }
  return why_not_symmetric(*function, size, setting_);
}

SymmetricChoice RegisteredCalls::choose(Bytes size) const {
  return choose_symmetric(*function_of(plans_.spec().collective), size, setting_);
}

bool RegisteredCalls::uses_copy_engines() const {
  constexpr NcclVersion first{2, 28, 0};
  if (plans_.spec().collective != Collective::all_gather || setting_.version < first) return false;
  if (setting_.ranks < 2 || !setting_.one_host || !setting_.nvlink) return false;
  if (!setting_.windows) return false;
  const auto policy = plans_.spec().run.variables.find("NCCL_CTA_POLICY");
  return policy != plans_.spec().run.variables.end() &&
         (policy->second == "2" || policy->second == "ZERO");
}

Seconds RegisteredCalls::time_of(SymmetricKernel kernel, std::uint32_t blocks, Bytes size) {
  const std::int64_t cells =
      symmetric_cells(*function_of(plans_.spec().collective), size, setting_.ranks);
  const bool even = blocks > 0 && cells % blocks == 0;
  return time_of(nccl_name(kernel), wire_of(kernel), {blocks, even}, size);
}

Seconds RegisteredCalls::time_of(std::string_view kernel, const Wire& wire, KernelBlocks blocks,
                                 Bytes size) {
  const PeerKernelCost* const cost =
      find_cost(table_, {"nccl"}, kernel, setting_.compute_capability);
  if (cost == nullptr) {
    throw InputError(fmt::format("nothing is known of NCCL's {}", kernel),
                     "a call without --registered");
  }
  const double ranks = setting_.ranks;
  const Seconds on_wire = overlapped_share(wire.algorithm, setting_.ranks) *
                          plans_.on_links_alone(wire.algorithm).predict(size).time;
  const double handled = (ranks - 1 + wire.own_buffers) / (ranks - 1);
  return kernel_time(*cost, ranks, on_wire, handled * on_wire, blocks);
}

Prediction RegisteredCalls::predict(Bytes size) {
  Predictor& nccl = plans_.nccl();
  const bool copies = uses_copy_engines();
  if (!copies && why_not(size)) return nccl.predict(size);
  Prediction prediction;
  prediction.size = size;
  if (copies) {
    prediction.time = time_of("copy_engines", Wire{"one_shot"}, {}, size);
    prediction.algorithm = "copy_engines";
    prediction.channels = 0;
  } else {
    const SymmetricChoice choice = choose(size);
    prediction.time = time_of(choice.chosen.kernel, choice.used_blocks, size);
    prediction.algorithm = nccl_name(choice.chosen.kernel);
    prediction.channels = choice.used_blocks;
    prediction.nccl_estimate = Seconds{choice.chosen.time * 1e-6};
  }
  prediction.bounds = nccl.compiler().bounds(size);
  const PeerKernelCost& cost =
      *find_cost(table_, {"nccl"}, prediction.algorithm, setting_.compute_capability);
  const std::string gpu = common_gpu(*plans_.spec().topology, plans_.spec().gpus);
  prediction.trust = trust_of(cost, prediction.algorithm, gpu, static_cast<Rank>(setting_.ranks));
  prediction.medium.name = peer_medium(true);
  prediction.method = EstimateMethod::formula;
  clamp_to(prediction, prediction.bounds.largest());
  return prediction;
}

}  // namespace collsim
