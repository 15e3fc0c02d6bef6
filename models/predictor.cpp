#include "models/predictor.h"

#include <fmt/format.h>

#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "models/wiring.h"
#include "sim/algorithms/nccl_plan.h"
#include "sim/executor.h"
#include "sim/input_error.h"

namespace collsim {

namespace {

std::vector<DeviceId> first_gpus(const Topology& topology, Rank ranks) {
  const auto gpus = topology.gpus();
  if (ranks < 1 || ranks > gpus.size()) {
    throw InputError(fmt::format("{} ranks on '{}'", ranks, topology.name()),
                     fmt::format("1 to {} ranks, one per GPU", gpus.size()));
  }
  return {gpus.begin(), gpus.begin() + ranks};
}

Placement place(const Topology& topology, const std::vector<DeviceId>& gpus) {
  Placement placement;
  for (const DeviceId gpu : gpus) {
    placement.node_of_rank.push_back(static_cast<std::uint32_t>(topology.device(gpu).node));
  }
  return placement;
}

/// The function of NCCL's that a collective is. Throws InputError for those that NCCL does not
/// tune.
NcclFunction function_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return NcclFunction::all_reduce;
    case Collective::all_gather:
      return NcclFunction::all_gather;
    case Collective::reduce_scatter:
      return NcclFunction::reduce_scatter;
    case Collective::broadcast:
      return NcclFunction::broadcast;
    case Collective::reduce:
      return NcclFunction::reduce;
    default:
      throw InputError(fmt::format("{} under NCCL's rules", to_string(collective)),
                       "all_reduce, all_gather, reduce_scatter, broadcast or reduce; others with "
                       "the textbook schedule");
  }
}

/// As reports name it.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(letter));
  return lower;
}

}  // namespace

Predictor::Predictor(const Topology& topology, const TransferCost& cost, Collective collective,
                     const RunSpec& run, Rank ranks, Rank root)
    : topology_(&topology),
      cost_(cost),
      collective_(collective),
      run_(run),
      root_(root),
      gpus_(first_gpus(topology, ranks)),
      placement_(place(topology, gpus_)) {
  if (run.schedule == ScheduleKind::nccl) {
    prepare_nccl(topology);
  } else {
    prepare_textbook(root);
  }
}

void Predictor::prepare_textbook(Rank root) {
  Plan plan = make_plan(collective_, run_.algorithm, placement_, run_.channels, root);
  Wiring wiring = wire(plan, *topology_, gpus_, cost_);
  textbook_ = std::make_unique<const Layout>(Layout{std::move(plan), std::move(wiring)});
}

void Predictor::prepare_nccl(const Topology& topology) {
  static_cast<void>(function_of(collective_));
  if (run_.algorithm != "auto") run_.variables["NCCL_ALGO"] = run_.algorithm;
  nccl_.emplace(topology, run_.variables, run_.nccl_version);
  warnings_ = nccl_->environment().warnings;
  if (nccl_->ranks() != ranks()) {
    throw InputError(fmt::format("{} ranks under NCCL's rules on '{}'", ranks(), topology.name()),
                     fmt::format("all {} of its GPUs", nccl_->ranks()));
  }
  warn_of_what_is_uncalibrated();
}

void Predictor::warn_of_what_is_uncalibrated() {
  constexpr std::int64_t largest = std::int64_t{1} << 33;
  std::set<NcclAlgorithm> named{NcclAlgorithm::ring, NcclAlgorithm::tree};
  for (std::int64_t size = 8; size <= largest; size *= 2) {
    const NcclAlgorithm algorithm = nccl_->choose(function_of(collective_), Bytes{size}).algorithm;
    if (!named.insert(algorithm).second) continue;
    warnings_.push_back(fmt::format(
        "from {} on NCCL runs {}, which is uncalibrated: nothing measured it, its times use what "
        "was found for Ring and Tree",
        to_string(Bytes{size}), nccl_name(algorithm)));
  }
}

Prediction Predictor::simulate(Bytes size, Engine engine) const {
  const Call settled = call(size);
  const auto fabric = make_fabric(engine);
  const ExecutionResult result =
      execute({settled.layout->plan, settled.binding, settled.layout->wiring, cost_,
               settled.protocol, settled.warps},
              *fabric);
  Prediction prediction = answer(settled, size, result.time);
  prediction.transfers = result.transfers;
  return prediction;
}

Prediction Predictor::estimate(Bytes size) const {
  const Call settled = call(size);
  const Estimate estimate =
      collsim::estimate(settled.layout->plan, placement_, settled.binding, settled.layout->wiring,
                        cost_, settled.protocol, bounds_of(settled), settled.warps);
  Prediction prediction = answer(settled, size, estimate.time);
  prediction.method = estimate.method;
  return prediction;
}

CriticalPath Predictor::critical_path(Bytes size) const {
  const Call settled = call(size);
  return uncontended_critical_path(settled.layout->plan, settled.binding, settled.layout->wiring,
                                   cost_, settled.protocol, settled.warps);
}

Predictor::Call Predictor::call(Bytes size) const {
  return nccl_ ? nccl_call(size) : textbook_call(size);
}

Predictor::Call Predictor::textbook_call(Bytes size) const {
  return {textbook_.get(), Binding(textbook_->plan, size, element_size, run_.chunking),
          run_.protocol,   0,
          run_.algorithm,  std::nullopt};
}

Predictor::Call Predictor::nccl_call(Bytes size) const {
  const Choice chosen = nccl_->choose(function_of(collective_), size);
  const Layout& layout = nccl_layout(chosen.algorithm, chosen.channels);
  NcclCall call;
  call.size = size;
  call.element_size = element_size;
  call.algorithm = chosen.algorithm;
  call.protocol = chosen.protocol;
  call.nodes = nccl_->nodes();
  call.stripes = chosen.algorithm == NcclAlgorithm::collnet_direct
                     ? nccl_->channels().collnet.stripes()
                     : nccl_->channels().nvls.stripes();
  call.threads = chosen.threads;
  call.version = static_cast<std::uint32_t>(nccl_->version().minor_number);
  const PerProtocol<Bytes>& buffers = nccl_->environment().buffer_size;
  call.buffers.ll = buffers[index_of(Protocol::ll)];
  call.buffers.ll128 = buffers[index_of(Protocol::ll128)];
  call.buffers.simple = buffers[index_of(Protocol::simple)];
  call.buffers.nvls_chunk = nccl_->nvls_chunk(chosen.algorithm);
  constexpr std::uint32_t threads_per_warp = 32;
  return {&layout,
          Binding::nccl(layout.plan, call),
          chosen.protocol,
          chosen.threads / threads_per_warp,
          lower_case(nccl_name(chosen.algorithm)),
          microseconds(chosen.time)};
}

const Predictor::Layout& Predictor::nccl_layout(NcclAlgorithm algorithm,
                                                std::uint32_t channels) const {
  const auto key = std::pair(algorithm, channels);
  if (const auto found = nccl_layouts_.find(key); found != nccl_layouts_.end()) {
    return found->second;
  }
  Plan plan = make_nccl_plan(collective_, algorithm, nccl_->channels(), channels, root_);
  Wiring wiring = wire(plan, *topology_, gpus_, cost_);
  return nccl_layouts_.emplace(key, Layout{std::move(plan), std::move(wiring)}).first->second;
}

Bounds Predictor::bounds_of(const Call& call) const {
  return lower_bounds(call.layout->plan, call.binding, call.layout->wiring, *topology_, gpus_,
                      cost_, call.protocol);
}

Prediction Predictor::answer(const Call& call, Bytes size, Seconds time) const {
  Prediction prediction;
  prediction.size = size;
  prediction.time = time;
  prediction.algorithm = call.algorithm;
  prediction.protocol = call.protocol;
  prediction.channels = call.binding.channels();
  prediction.nccl_estimate = call.nccl_estimate;
  prediction.bounds = bounds_of(call);
  check_bounds(time, prediction.bounds,
               fmt::format("{} of {} on {} ranks", call.algorithm, to_string(size), ranks()));
  return prediction;
}

}  // namespace collsim
