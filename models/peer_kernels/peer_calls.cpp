#include "models/peer_kernels/peer_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/machine/gpu_model.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::array kernel_names{"one_shot", "two_shot", "multimem_one_shot", "multimem_two_shot"};

/// Costs of cards that peers reach over PCIe: those of the L40S.
constexpr int pcie_card = 89;

bool has_nvlink(const Topology& topology, DeviceId gpu) {
  const auto links = topology.links_from(gpu);
  return std::any_of(links.begin(), links.end(), [&](LinkId link) {
    const DeviceKind to = topology.device(topology.link(link).to).kind;
    return topology.link(link).kind == LinkKind::nvlink && to != DeviceKind::cpu;
  });
}

/// The oldest of the GPUs' generations.
int generation_of(const Topology& topology, const std::vector<DeviceId>& gpus) {
  int oldest = 0;
  for (const DeviceId gpu : gpus) {
    if (!has_nvlink(topology, gpu)) return pcie_card;
    const std::string_view model = topology.device(gpu).model;
    const auto capability = known_compute_capability(model);
    constexpr int first_with_peer_kernels = 80;
    if (!capability || *capability < first_with_peer_kernels) {
      throw InputError(fmt::format("no peer kernels are known of the GPU '{}'", model),
                       "A100, H100, H200, B200 and their like, or L40S");
    }
    const int generation = *capability / 10 * 10;
    if (oldest == 0 || generation < oldest) oldest = generation;
  }
  return oldest;
}

/// The model of the machine's CPUs; empty where it has none.
std::string cpu_of(const Topology& topology) {
  for (const Device& device : topology.devices()) {
    if (device.kind == DeviceKind::cpu) return std::string(device.model);
  }
  return {};
}

/// Whether an NVSwitch of the GPUs' node adds up.
bool adds_in_switch(const Topology& topology, DeviceId gpu) {
  const auto links = topology.links_from(gpu);
  return std::any_of(links.begin(), links.end(), [&](LinkId link) {
    const Device device = topology.device(topology.link(link).to);
    return device.kind == DeviceKind::nvswitch && device.reduces;
  });
}

void require_one_node(const CallSpec& spec) {
  if (spec.collective != Collective::all_reduce) {
    throw InputError(fmt::format("--kernels with {}", to_string(spec.collective)), "all_reduce");
  }
  if (spec.gpus.size() < 2) throw InputError("peer kernels on one rank", "two ranks or more");
  const Topology& topology = *spec.topology;
  for (const DeviceId gpu : spec.gpus) {
    if (topology.node_of(gpu) == topology.node_of(spec.gpus.front())) continue;
    throw InputError(fmt::format("peer kernels on {} ranks of several nodes", spec.gpus.size()),
                     "ranks of one node, such as -n 8");
  }
}

void require_engine(const PeerKernelTable& table, const std::string& engine) {
  const std::vector<std::string> known = engines_of(table);
  if (std::find(known.begin(), known.end(), engine) != known.end()) return;
  throw InputError(fmt::format("no kernels are known of the engine '{}'", engine),
                   fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace

PeerCalls::PeerCalls(const CallSpec& spec, EngineRelease engine, bool simulated,
                     std::optional<Seconds> small_call)
    : plans_(spec, simulated ? by_simulation() : by_formulas()),
      engine_(std::move(engine)),
      table_(load_peer_kernels()) {
  require_engine(table_, engine_.engine);
  require_one_node(spec);
  gpu_ = generation_of(*spec.topology, spec.gpus);
  gpu_name_ = common_gpu(*spec.topology, spec.gpus);
  adds_in_switch_ = adds_in_switch(*spec.topology, spec.gpus.front());
  host_call_ = host_call(table_, gpu_name_, cpu_of(*spec.topology));
  if (!small_call) return;
  const PeerKernelLaunch* const launch = find_launch(table_, choose(Bytes{1}).kernels, gpu_);
  if (launch != nullptr && launch->calls > 0) host_call_ = 1 / launch->calls * *small_call;
}

Seconds PeerCalls::launch_of(const PeerKernelCost& cost, Seconds kernel, Bytes size) const {
  const PeerKernelLaunch* const launch =
      plans_.spec().run.graph ? nullptr : find_launch(table_, cost.kernels, gpu_);
  if (launch == nullptr) return {};
  const Seconds issued = kernel + launch->gap + size / launch->copy;
  return std::max(launch->calls * host_call_, issued) - kernel;
}

Predictor& PeerCalls::predictor_of(std::string_view kernel) {
  return kernel == "nccl" ? plans_.nccl() : plans_.on_links_alone(std::string(kernel));
}

std::optional<std::string> PeerCalls::why_not(std::string_view kernel) const {
  if (!kernel.starts_with("multimem")) return std::nullopt;
  if (!adds_in_switch_) return "no NVSwitch of the machine adds up";
  // Multicast over two GPUs saves nothing, and nobody's kernels use it.
  if (ranks() < 3) return "multimem needs three ranks or more";
  return std::nullopt;
}

PeerCallParts PeerCalls::parts(std::string_view kernel, Bytes size) {
  return parts(kernels_of(table_, engine_), kernel, size);
}

PeerCallParts PeerCalls::chosen_parts(Bytes size) {
  const PeerCallChoice choice = choose(size);
  return parts({choice.kernels}, choice.kernel, size);
}

PeerCallParts PeerCalls::parts(const std::vector<std::string>& kernels, std::string_view kernel,
                               Bytes size) {
  if (std::find(kernel_names.begin(), kernel_names.end(), kernel) == kernel_names.end()) {
    throw InputError(fmt::format("no peer kernel is called '{}'", kernel),
                     fmt::format("{}, multimem, nccl", fmt::join(kernel_names, ", ")));
  }
  if (const auto reason = why_not(kernel)) {
    throw InputError(fmt::format("{} does not run here: {}", kernel, *reason),
                     "one_shot or two_shot");
  }
  const PeerKernelCost* const cost = find_cost(table_, kernels, kernel, gpu_);
  if (cost == nullptr) {
    throw InputError(fmt::format("nothing is known of {} by {}", kernel, engine_.engine),
                     "another kernel, or --kernels pytorch");
  }
  PeerCallParts parts;
  parts.cost = cost;
  parts.wire = overlapped_share(kernel, ranks()) * predictor_of(kernel).predict(size).time;
  parts.flags = flag_time(*cost, ranks());
  parts.kernel = kernel_time(*cost, ranks(), parts.wire);
  parts.launch = launch_of(*cost, parts.kernel, size);
  return parts;
}

Prediction PeerCalls::predict(const std::vector<std::string>& kernels, std::string_view kernel,
                              Bytes size) {
  const PeerCallParts call = parts(kernels, kernel, size);
  Prediction prediction;
  prediction.size = size;
  prediction.time = call.kernel + call.launch;
  prediction.algorithm = kernel;
  prediction.bounds = predictor_of(kernel).compiler().bounds(size);
  prediction.trust = trust_of(*call.cost, kernel, gpu_name_, ranks());
  if (prediction.trust != Trust::measured) {
    taken_over_.insert(fmt::format("{} of {}", kernel, describe_recorded(*call.cost)));
  }
  prediction.medium.name = peer_medium(plans_.spec().run.graph);
  prediction.method = EstimateMethod::formula;
  clamp_to(prediction, prediction.bounds.largest());
  return prediction;
}

Prediction PeerCalls::predict(std::string_view kernel, Bytes size) {
  if (kernel == "nccl") return plans_.nccl().predict(size);
  const std::vector<std::string> kernels = kernels_of(table_, engine_);
  if (kernel != "multimem") return predict(kernels, kernel, size);
  const Prediction one = predict(kernels, "multimem_one_shot", size);
  const Prediction two = predict(kernels, "multimem_two_shot", size);
  return two.time <= one.time ? two : one;
}

Prediction PeerCalls::predict(Bytes size) {
  const PeerCallChoice choice = choose(size);
  if (choice.kernels.empty()) return predict("nccl", size);
  return predict({choice.kernels}, choice.kernel, size);
}

PeerCallChoice PeerCalls::fastest(const PeerKernelChoice& row, Bytes size) {
  PeerCallChoice best{{}, "nccl", fmt::format("NCCL is the fastest of what {} has", row.engine)};
  Seconds least = predict("nccl", size).time;
  for (const PeerKernelStep& step : row.runs) {
    if (step.below || why_not(step.kernel)) continue;
    const Seconds time = predict({step.kernels}, step.kernel, size).time;
    if (time >= least) continue;
    least = time;
    best = {step.kernels, step.kernel,
            fmt::format("{} is the fastest of what {} has", step.kernel, row.engine)};
  }
  return best;
}

PeerCallChoice PeerCalls::choose(Bytes size) {
  const PeerKernelChoice* const row = find_choice(table_, engine_, gpu_, ranks());
  if (row == nullptr) {
    return {{}, "nccl", fmt::format("{} leaves {} such GPUs to NCCL", to_string(engine_), ranks())};
  }
  if (std::none_of(row->runs.begin(), row->runs.end(),
                   [](const PeerKernelStep& step) { return step.below.has_value(); })) {
    return fastest(*row, size);
  }
  for (const PeerKernelStep& step : row->runs) {
    if (size >= step.below.value_or(Bytes{0}) || why_not(step.kernel)) continue;
    return {step.kernels, step.kernel,
            fmt::format("{} runs {} below {} on {} ranks", to_string(engine_), step.kernel,
                        to_string(*step.below), ranks())};
  }
  return {{},
          "nccl",
          fmt::format("{} leaves {} on {} ranks to NCCL", to_string(engine_), to_string(size),
                      ranks())};
}

}  // namespace collsim
