#include "models/peer_kernels/registered_calls.h"

#include <fmt/format.h>

#include <utility>

#include "models/nccl/symmetric_setting.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// The textbook's algorithm that moves the same bytes, and how often a rank moves them: what is its
/// own goes the same way as what is its peers', except in the all-reduces.
struct WireOf {
  const char* algorithm;
  bool own_too = false;
};

WireOf wire_of(SymmetricKernel kernel) {
  switch (kernel) {
    case SymmetricKernel::all_reduce_ll:
    case SymmetricKernel::all_reduce_ll_multicast:
      return {"one_shot"};
    case SymmetricKernel::all_reduce_direct:
      return {"two_shot"};
    case SymmetricKernel::all_reduce_multicast:
      return {"multimem_two_shot"};
    default:
      return {"one_shot", true};
  }
}

}  // namespace

RegisteredCalls::RegisteredCalls(CallSpec spec, bool simulated)
    : spec_(std::move(spec)), simulated_(simulated), table_(load_peer_kernels()) {
  const Nccl* const nccl = model_of("nccl").compiler().nccl();
  if (nccl == nullptr) return;  // one rank
  setting_ = symmetric_setting(*nccl, spec_.run.variables, spec_.run.reduction);
}

RegisteredCalls::~RegisteredCalls() = default;

ModelledCall& RegisteredCalls::model_of(const std::string& algorithm) {
  std::unique_ptr<ModelledCall>& model = models_[algorithm];
  if (model) return *model;
  model = std::make_unique<ModelledCall>(
      algorithm == "nccl" ? spec_ : on_links_alone(spec_, algorithm), simulated_);
  return *model;
}

const CallCompiler& RegisteredCalls::compiler() const {
  return models_.at("nccl")->compiler();
}

std::optional<std::string> RegisteredCalls::why_not(Bytes size) const {
  const auto function = function_of(spec_.collective);
  if (!function || spec_.collective == Collective::barrier) {
    return fmt::format("there is none for {}", to_string(spec_.collective));
  }
  if (const auto algorithm = find_nccl_run(spec_.run.algorithm)) {
    return fmt::format("the algorithm {} is asked for", nccl_name(*algorithm));
  }
  return why_not_symmetric(*function, size, setting_);
}

SymmetricChoice RegisteredCalls::choose(Bytes size) const {
  return choose_symmetric(*function_of(spec_.collective), size, setting_);
}

bool RegisteredCalls::uses_copy_engines() const {
  constexpr NcclVersion first{2, 28, 0};
  if (spec_.collective != Collective::all_gather || setting_.version < first) return false;
  if (setting_.ranks < 2 || !setting_.one_host || !setting_.nvlink) return false;
  const auto policy = spec_.run.variables.find("NCCL_CTA_POLICY");
  return policy != spec_.run.variables.end() && (policy->second == "2" || policy->second == "ZERO");
}

Seconds RegisteredCalls::time_of(SymmetricKernel kernel, Bytes size) {
  const WireOf wire = wire_of(kernel);
  return time_of(nccl_name(kernel), wire.algorithm, wire.own_too, size);
}

Seconds RegisteredCalls::time_of(std::string_view kernel, const char* algorithm, bool own_too,
                                 Bytes size) {
  const FoundCost found = find_cost(table_, {"nccl"}, kernel, setting_.compute_capability);
  if (found.cost == nullptr) {
    throw InputError(fmt::format("nothing is known of NCCL's {}", kernel),
                     "a call without --registered");
  }
  const double ranks = setting_.ranks;
  const double moved = own_too ? ranks / (ranks - 1) : overlapped_share(algorithm, setting_.ranks);
  return kernel_time(*found.cost, ranks, moved * model_of(algorithm).of(size).time);
}

Prediction RegisteredCalls::predict(Bytes size) {
  ModelledCall& nccl = model_of("nccl");
  const bool copies = uses_copy_engines();
  if (!copies && why_not(size)) return nccl.of(size);
  Prediction prediction;
  prediction.size = size;
  if (copies) {
    prediction.time = time_of("copy_engines", "one_shot", false, size);
    prediction.algorithm = "copy_engines";
    prediction.channels = 0;
  } else {
    const SymmetricChoice choice = choose(size);
    prediction.time = time_of(choice.chosen.kernel, size);
    prediction.algorithm = nccl_name(choice.chosen.kernel);
    prediction.channels = choice.used_blocks;
    prediction.nccl_estimate = Seconds{choice.chosen.time * 1e-6};
  }
  prediction.bounds = nccl.compiler().bounds(size);
  constexpr int measured_gpus = 90;  // Hopper, without multicast
  const bool measured = setting_.compute_capability == measured_gpus && !setting_.multicast;
  prediction.trust = measured ? Trust::measured : Trust::derived;
  prediction.method = EstimateMethod::formula;
  raise_to(prediction, prediction.bounds.largest());
  return prediction;
}

}  // namespace collsim
