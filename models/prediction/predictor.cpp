#include "models/prediction/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "models/calibration/calibration_file.h"
#include "models/calibration/trust.h"
#include "models/machine/host_memory.h"
#include "models/machine/plan_wiring.h"
#include "models/nccl/point_to_point.h"
#include "models/prediction/textbook_pipeline.h"
#include "sim/algorithms/nccl_plan.h"
#include "sim/algorithms/nccl_point_to_point.h"
#include "sim/base/input_error.h"
#include "sim/cost/warps.h"
#include "sim/execution/executor.h"

namespace collsim {

namespace {

/// What NCCL runs in its place.
Collective under_nccl(Collective collective) {
  return collective == Collective::barrier ? Collective::all_reduce : collective;
}

/// How many calls in a row the time is the mean of.
std::uint32_t calls_of(const RunSpec& run, Collective collective) {
  constexpr std::uint32_t iterations_of_benchmarks = 20;  // nccl-tests' -n
  const bool overtake = has_root(collective) && run.schedule == ScheduleKind::nccl;
  return run.calls.value_or(overtake ? iterations_of_benchmarks : 1);
}

/// What counts for the run of what a calibration says.
Calibration cost_of_run(const Calibration& cost, Collective collective, const RunSpec& run) {
  const bool is_messages = run.schedule == ScheduleKind::nccl && !function_of(collective);
  const Calibration own = is_messages ? cost.of_messages() : cost;
  return run.graph ? own.of_graph() : own;
}

/// The NICs of every node, in the order in which NCCL numbers them.
std::map<std::int32_t, std::vector<DeviceId>> nics_by_node(const Topology& topology) {
  std::map<std::int32_t, std::vector<DeviceId>> nics;
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    const Device& device = topology.device(id);
    if (device.kind == DeviceKind::nic) nics[device.node].push_back(id);
  }
  return nics;
}

/// By which NICs the algorithm's channels reach other nodes, where that is modelled.
const ChannelNets* nets_of(const Nccl& nccl, NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::ring) return &nccl.ring_nets();
  if (algorithm == NcclAlgorithm::tree) return &nccl.tree_nets();
  return nullptr;
}

}  // namespace

Predictor::Predictor(const Topology& topology, const Calibration& cost, Collective collective,
                     const RunSpec& run, Rank ranks, Rank root,
                     std::optional<std::uint32_t> ranks_per_node, MachineFaults faults)
    : Predictor(topology, cost, collective, run, first_gpus(topology, ranks, ranks_per_node), root,
                std::move(faults)) {}

Predictor::Predictor(const Topology& topology, const Calibration& cost, Collective collective,
                     const RunSpec& run, std::vector<DeviceId> gpus, Rank root,
                     MachineFaults faults)
    : topology_(&topology),
      collective_(collective),
      run_(settled(run, collective, topology)),
      cost_(cost_of_run(cost, collective, run_)),
      root_(root),
      gpus_(std::move(gpus)),
      calls_(calls_of(run_, collective)),
      faults_(std::move(faults)) {
  if (run_.schedule == ScheduleKind::nccl) order_gpus();
  placement_ = placement_of(topology, gpus_);
  if (run_.schedule == ScheduleKind::nccl) {
    prepare_nccl(cost);
  } else {
    settle_pipeline();
    prepare_textbook();
  }
  bounds_.emplace(topology, gpus_, collective, root_, calls_);
}

/// Groups ranks by node, each node's in the order of its GPUs, and renames the ranks that are
/// spoken of: NCCL's rings and trees follow GPUs, whatever ranks they have.
void Predictor::order_gpus() {
  const std::vector<DeviceId> given = gpus_;
  gpus_ = grouped_by_node(*topology_, given);
  if (gpus_ == given) return;
  const auto renamed = [&](Rank rank) {
    const auto place = std::find(gpus_.begin(), gpus_.end(), given.at(rank));
    return static_cast<Rank>(place - gpus_.begin());
  };
  if (root_ < given.size()) root_ = renamed(root_);
  for (RankFault& fault : faults_.ranks) fault.rank = renamed(fault.rank);
}

/// A textbook's own machine has one channel and messages of any size unless told otherwise.
void Predictor::settle_pipeline() {
  const bool ideal = cost_.name == "ideal";
  const Protocol protocol = run_.protocol.value_or(Protocol::simple);
  if (!run_.channels) run_.channels = ideal ? 1 : nccls_channels(*topology_, gpus_);
  if (!run_.chunking) {
    run_.chunking = ideal ? Chunking{} : nccls_chunking(collective_, run_.algorithm, protocol);
  }
}

void Predictor::prepare_textbook() {
  const bool ideal = cost_.name == "ideal";
  Plan plan = make_plan(collective_, run_.algorithm, placement_, *run_.channels, root_,
                        ideal ? ChannelOrder::same : ChannelOrder::rotated);
  textbook_ = std::make_unique<Layout>(lay(std::move(plan), {}));
}

Predictor::Layout Predictor::lay(Plan plan, const HopRules& rules) const {
  Wiring wiring = wire(plan, *topology_, gpus_, cost_, rules);
  if (faults_.empty()) return {std::move(plan), std::move(wiring)};
  FaultyLayout faulty =
      lay_faults(faults_, plan, *topology_, gpus_, cost_, std::move(wiring), rules);
  return {std::move(plan), std::move(faulty.wiring), std::move(faulty.disturbance),
          faulty.reroutes};
}

Execution Predictor::execution(const Call& call) const {
  const Layout& layout = *call.layout;
  return {layout.plan,   call.binding, call.wiring(), cost_,
          call.protocol, call.warps,   calls_,        &layout.disturbance};
}

void Predictor::talk_tcp(const Calibration& cost) {
  const bool several_nodes = placement_.ranks_by_node().size() > 1;
  const bool over_sockets = nccl_->environment().over_sockets() || has_sockets_only(*topology_);
  if (!several_nodes || !over_sockets || cost.proxy.used || cost.name == "ideal") return;
  talks_tcp_ = true;
  cost_ = cost_of_run(over_tcp(cost), collective_, run_);
  if (!cost.over_tcp.empty()) return;
  warnings_.push_back(fmt::format(
      "hosts talk TCP, which was measured on none like these: messages between them cost what they "
      "cost between H200 hosts (calibration {})",
      cost_.name));
}

void Predictor::prepare_nccl(const Calibration& cost) {
  const Nccl::LocalGpus places = places_of_each_node(*topology_, gpus_);
  const auto per_node = static_cast<std::uint32_t>(places.size());
  Nccl::Variables variables = run_.variables;
  if (const auto algorithm = find_nccl_run(run_.algorithm)) {
    variables["NCCL_ALGO"] = nccl_name(*algorithm);
  }
  if (ranks() == 1) {
    Plan plan = make_plan(collective_, algorithm_names(collective_).front(), placement_);
    textbook_ = std::make_unique<Layout>(Layout{std::move(plan), {.wires = {{}}}});
    return;
  }
  nccl_.emplace(*topology_, variables, run_.nccl_version, ranks() / per_node, places);
  nccl_->set_reduction(run_.reduction);
  warnings_ = nccl_->environment().warnings;
  if (nccl_->ranks() != ranks()) {
    throw InputError(
        fmt::format("{} ranks on the {} GPUs of NCCL_TOPO_FILE", ranks(), nccl_->ranks()),
        "a file of a machine with as many GPUs");
  }
  talk_tcp(cost);
  if (const auto function = function_of(under_nccl(collective_))) {
    // Throws where nothing that is asked for can run, before any size is answered.
    static_cast<void>(nccl_->choose(*function, float_size));
  }
  if (!function_of(collective_) && run_.algorithm != "auto") {
    throw InputError(
        fmt::format("NCCL algorithm '{}' for {}", run_.algorithm, to_string(collective_)),
        "auto: sends and receives have no algorithms to choose from");
  }
}

std::optional<NcclFunction> Predictor::nccl_function() const {
  return function_of(collective_);
}

Prediction Predictor::simulate(Bytes size, Engine engine) const {
  return simulate(call(size), size, engine);
}

Prediction Predictor::simulate(Bytes size, Engine engine, const Candidate& candidate) const {
  return simulate(call(size, candidate), size, engine);
}

Predictor::Call Predictor::call(Bytes size, const Candidate& candidate) const {
  if (!nccl_ || !function_of(collective_)) {
    throw InputError(
        fmt::format("{} by NCCL's {}", to_string(collective_), nccl_name(candidate.algorithm)),
        "a collective that NCCL tunes, of several ranks, under NCCL's rules");
  }
  return nccl_call(size, candidate);
}

Prediction Predictor::simulate(const Call& call, Bytes size, Engine engine) const {
  if (engine == Engine::simgrid && !call.wiring().bursts.empty()) {
    throw InputError("links with a burst on engine simgrid", "engine native");
  }
  const auto fabric = make_fabric(engine);
  try {
    const ExecutionResult result = execute(execution(call), *fabric);
    Prediction prediction = answer(call, size, result.time, floor_of(call));
    prediction.transfers = result.transfers;
    prediction.mean_over_ranks = result.mean_over_ranks;
    return prediction;
  } catch (const HangError& error) {
    const Layout& layout = *call.layout;
    const auto dead = links_that_stay_dead(call.wiring(), layout.disturbance, *topology_);
    throw HangError(error.channel(), error.rank(), error.step(),
                    fmt::format("{} of {} {}; dead: {}", call.algorithm, to_string(size),
                                error.what(), fmt::join(dead, ", ")));
  }
}

Seconds Predictor::time(Bytes size) const {
  const Call settled = call(size);
  const auto fabric = make_fabric(Engine::native);
  return execute(execution(settled), *fabric).mean_over_ranks;
}

void Predictor::set_cost(const Calibration& cost) {
  assert((talks_tcp_ || cost.proxy.used == cost_.proxy.used) && faults_.empty());
  cost_ = cost_of_run(talks_tcp_ ? over_tcp(cost) : cost, collective_, run_);
  if (textbook_) set_efficiency(textbook_->wiring, cost_);
  for (auto& [key, layout] : nccl_layouts_) set_efficiency(layout.wiring, cost_);
  for (auto& [key, layout] : message_layouts_) set_efficiency(layout.wiring, cost_);
}

Prediction Predictor::estimate(Bytes size) const {
  const Call settled = call(size);
  const Wiring wiring = wiring_as_it_begins(settled.wiring(), settled.layout->disturbance);
  const ModelFloor floor = floor_on(settled, wiring);
  const Estimate estimate =
      collsim::estimate(settled.layout->plan, placement_, settled.binding, wiring, cost_,
                        settled.protocol, floor, settled.warps);
  Prediction prediction = answer(settled, size, estimate.time, floor);
  prediction.method = estimate.method;
  prediction.form = estimate.form;
  return prediction;
}

CriticalPath Predictor::critical_path(Bytes size) const {
  const Call settled = call(size);
  return uncontended_critical_path(
      settled.layout->plan, settled.binding,
      wiring_as_it_begins(settled.wiring(), settled.layout->disturbance), cost_, settled.protocol,
      settled.warps);
}

Predictor::Call Predictor::call(Bytes size) const {
  if (!nccl_) return textbook_call(size);
  return function_of(collective_) ? nccl_call(size, choose(size)) : message_call(size);
}

Predictor::Call Predictor::textbook_call(Bytes size) const {
  const bool alone_under_nccl = run_.schedule == ScheduleKind::nccl;
  const Bytes element = size_of(run_.reduction.type);
  return {textbook_.get(),
          Binding(textbook_->plan, size, element, run_.chunking.value_or(Chunking{})),
          run_.protocol.value_or(Protocol::simple),
          full_warps(run_.protocol.value_or(Protocol::simple)),
          alone_under_nccl ? "none" : run_.algorithm};
}

Candidate Predictor::choose(Bytes size) const {
  const Choice choice = nccl_->choose(*function_of(under_nccl(collective_)), size);
  return {choice.algorithm, choice.protocol, choice.time};
}

Predictor::Call Predictor::nccl_call(Bytes asked, const Candidate& chosen) const {
  const Bytes element = size_of(run_.reduction.type);
  const Bytes size = collective_ == Collective::barrier ? element : asked;
  const LaunchSize launch = nccl_->launch(chosen.algorithm, chosen.protocol, size);
  const Layout& layout = nccl_layout(chosen.algorithm, launch.channels);
  NcclCall call;
  call.size = size;
  call.element_size = element;
  call.algorithm = chosen.algorithm;
  call.protocol = chosen.protocol;
  call.nodes = nccl_->nodes();
  call.stripes = chosen.algorithm == NcclAlgorithm::collnet_direct
                     ? nccl_->channels().collnet.stripes()
                     : nccl_->channels().nvls.stripes();
  call.threads = launch.threads;
  call.version = static_cast<std::uint32_t>(nccl_->version().minor_number);
  const PerProtocol<Bytes>& buffers = nccl_->environment().buffer_size;
  call.buffers.ll = buffers[index_of(Protocol::ll)];
  call.buffers.ll128 = buffers[index_of(Protocol::ll128)];
  call.buffers.simple = buffers[index_of(Protocol::simple)];
  call.buffers.nvls_chunk = nccl_->nvls_chunk(chosen.algorithm);
  constexpr std::uint32_t threads_per_warp = 32;
  return with_host_memory({&layout, Binding::nccl(layout.plan, call), chosen.protocol,
                           launch.threads / threads_per_warp, nccl_report_name(chosen.algorithm),
                           microseconds(chosen.time), chosen.algorithm});
}

Predictor::Call Predictor::with_host_memory(Call call) const {
  if (!loads_host_memory(call.layout->wiring)) return call;
  Wiring wiring = call.layout->wiring;
  set_host_memory(wiring, call.layout->plan, call.binding, gpus_, call.protocol, cost_);
  call.own_wiring = std::make_shared<const Wiring>(std::move(wiring));
  return call;
}

Predictor::Call Predictor::message_call(Bytes size) const {
  const Bytes element = size_of(run_.reduction.type);
  const Bytes message = bytes_per_rank(collective_, ranks(), size, element);
  const MessageLaunch launch =
      launch_messages(nccl_->point_to_point(), message, ranks(), nccl_->nodes());
  const Layout& layout = message_layout(launch.parts);
  NcclCall call;
  call.size = size;
  call.element_size = element;
  call.protocol = launch.protocol;
  call.nodes = nccl_->nodes();
  call.version = static_cast<std::uint32_t>(nccl_->version().minor_number);
  call.buffers.ll = nccl_->environment().buffer_size[index_of(Protocol::ll)];
  call.buffers.point_to_point_chunk = launch.chunk;
  constexpr std::uint32_t warps_of_kernel = 20;  // NCCL's sends and receives always launch all
  return with_host_memory(
      {&layout, Binding::nccl(layout.plan, call), launch.protocol, warps_of_kernel, "p2p"});
}

const Predictor::Layout& Predictor::nccl_layout(NcclAlgorithm algorithm,
                                                std::uint32_t channels) const {
  const auto key = std::pair(algorithm, channels);
  if (const auto found = nccl_layouts_.find(key); found != nccl_layouts_.end()) {
    return found->second;
  }
  Plan plan = make_nccl_plan(under_nccl(collective_), algorithm, nccl_->channels(), channels, root_,
                             run_.in_place);
  return nccl_layouts_.emplace(key, lay(std::move(plan), hop_rules(nets_of(*nccl_, algorithm))))
      .first->second;
}

const Predictor::Layout& Predictor::message_layout(std::uint32_t parts) const {
  if (const auto found = message_layouts_.find(parts); found != message_layouts_.end()) {
    return found->second;
  }
  Plan plan = make_nccl_point_to_point_plan(collective_, placement_,
                                            nccl_->point_to_point().channels, parts, root_);
  return message_layouts_.emplace(parts, lay(std::move(plan), hop_rules(nullptr))).first->second;
}

HopRules Predictor::hop_rules(const ChannelNets* nets) const {
  const Rank per_node = ranks() / nccl_->nodes();
  HopRules rules;
  rules.through_host_memory = [this, per_node](Rank from, Rank to) {
    return from / per_node == to / per_node &&
           nccl_->through_host_memory(from % per_node, to % per_node);
  };
  // The NICs of a topology file are another machine's.
  if (nets == nullptr || !nccl_->environment().topology_file.empty()) return rules;
  rules.nics = [nets, per_node, gpus = gpus_, topology = topology_,
                nics = nics_by_node(*topology_)](std::uint32_t channel, Rank from,
                                                 Rank to) -> std::optional<HopNics> {
    if (from / per_node == to / per_node) return std::nullopt;
    const auto out = nets->of(channel, from % per_node);
    const auto in = nets->of(channel, to % per_node);
    if (!out || !in) return std::nullopt;
    const auto nic_of = [&](Rank rank, const ChannelNet& net) -> std::optional<DeviceId> {
      const auto found = nics.find(topology->device(gpus[rank]).node);
      const auto index = static_cast<std::size_t>(net.device);
      if (found == nics.end() || index >= found->second.size()) return std::nullopt;
      return found->second[index];
    };
    const auto out_nic = nic_of(from, *out);
    const auto in_nic = nic_of(to, *in);
    if (!out_nic || !in_nic) return std::nullopt;
    HopNics hop{std::nullopt, *out_nic, *in_nic};
    if (out->relay) hop.relay = gpus[from / per_node * per_node + *out->relay];
    return hop;
  };
  return rules;
}

Bounds Predictor::bounds_of(const Call& call) const {
  return bounds_->of(call.binding.size());
}

ModelFloor Predictor::floor_of(const Call& call) const {
  return floor_on(call, call.wiring());
}

ModelFloor Predictor::floor_on(const Call& call, const Wiring& wiring) const {
  ModelFloor floor = model_floor(call.layout->plan, call.binding, wiring, cost_, call.protocol);
  const Seconds launch = cost_.startup(call.protocol, collective_, 1, 0);
  floor.latency = launch + (1.0 / calls_) * (floor.latency - launch);
  // While a rank launches a further call, others may keep a link busy with what is left of theirs.
  for (Seconds* busiest : {&floor.busiest_link, &floor.busiest_block}) {
    *busiest += (1.0 / calls_ - 1) * launch;
  }
  if (call.layout->reroutes) {  // what each link will carry is not known
    floor.busiest_link = launch;
    floor.latency = launch;
  }
  return floor;
}

Prediction Predictor::answer(const Call& call, Bytes size, Seconds time,
                             const ModelFloor& floor) const {
  Prediction prediction;
  prediction.size = size;
  prediction.time = time;
  prediction.algorithm = call.algorithm;
  prediction.protocol = call.protocol;
  prediction.channels = busy_channels(call.layout->plan, call.binding);
  prediction.nccl_estimate = call.nccl_estimate;
  if (call.nccl_algorithm) {
    prediction.wire_factor =
        wire_factor(collective_, *call.nccl_algorithm, ranks(), ranks() / nccl_->nodes());
  }
  prediction.bounds = bounds_of(call);
  prediction.floor = floor;
  prediction.trust = trust_of(cost_.trust, *topology_, gpus_, call.wiring(), call.algorithm,
                              run_.schedule == ScheduleKind::textbook);
  const Seconds least =
      std::max(prediction.bounds.largest(), surely_needed(floor, cost_.unevenness));
  check_not_below(time, least,
                  fmt::format("{} of {} on {} ranks", call.algorithm, to_string(size), ranks()));
  return prediction;
}

}  // namespace collsim
