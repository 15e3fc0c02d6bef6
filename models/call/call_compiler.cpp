#include "models/call/call_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "models/bounds/estimate.h"
#include "models/calibration/transport.h"
#include "models/call/memory_need.h"
#include "models/call/rank_gpus.h"
#include "models/call/textbook_pipeline.h"
#include "models/machine/host_memory.h"
#include "models/machine/slot_limits.h"
#include "models/nccl/point_to_point.h"
#include "models/nccl/socket_threads.h"
#include "sim/base/input_error.h"
#include "sim/cost/warps.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/nccl/nccl_point_to_point.h"

namespace collsim {

namespace {

/// The NIC of a GPU's node that NCCL gives that number.
std::optional<DeviceId> nic_beside(const Topology& topology, DeviceId gpu, int number) {
  const NodePart node = topology.node(static_cast<std::uint32_t>(topology.node_of(gpu)));
  const auto& devices = node.graph->graph().devices;
  for (DeviceId device = 0; device < devices.size(); ++device) {
    if (devices[device].kind != DeviceKind::nic) continue;
    if (number-- == 0) return node.first_device + device;
  }
  return std::nullopt;
}

/// Of the NICs, which are alike; empty where there are none.
std::string_view nic_model(const Topology& topology) {
  for (const Device device : topology.devices()) {
    if (device.kind == DeviceKind::nic) return device.model;
  }
  return {};
}

/// How a hop between the GPUs of two ranks leaves the one node and enters the other.
using NetsOfHop = std::function<std::pair<std::optional<ChannelNet>, std::optional<ChannelNet>>(
    std::uint32_t channel, Rank from, Rank to)>;

/// By which NICs the algorithm's channels, or messages, reach other nodes, where that is modelled.
NetsOfHop nets_of(const Nccl& nccl, std::optional<NcclAlgorithm> algorithm) {
  const RankNodes nodes = nccl.rank_nodes();
  if (!algorithm) {
    return [&nccl, nodes](std::uint32_t channel, Rank from, Rank to) {
      const MessageNets& sender = nccl.host(nodes.node_of(from)).message_nets();
      const MessageNets& receiver = nccl.host(nodes.node_of(to)).message_nets();
      return std::pair(sender.out(channel, nodes.place_of(from), receiver, nodes.place_of(to)),
                       receiver.in(channel, nodes.place_of(to)));
    };
  }
  const auto nets = algorithm == NcclAlgorithm::ring        ? &Nccl::ring_nets
                    : algorithm == NcclAlgorithm::tree      ? &Nccl::tree_nets
                    : algorithm == NcclAlgorithm::nvls_tree ? &Nccl::head_nets
                                                            : nullptr;
  if (nets == nullptr) return {};
  return [&nccl, nodes, nets](std::uint32_t channel, Rank from, Rank to) {
    const auto net = [&](Rank rank) {
      const Nccl& host = nccl.host(nodes.node_of(rank));
      return (host.*nets)().of(channel, nodes.place_of(rank));
    };
    return std::pair(net(from), net(to));
  };
}

/// NCCL's variables that change what calls cost a thread block, or how many there are.
constexpr std::array variables_of_thread_blocks{"NCCL_PROTO",
                                                "NCCL_NTHREADS",
                                                "NCCL_LL128_NTHREADS",
                                                "NCCL_THREAD_THRESHOLDS",
                                                "NCCL_MIN_NCHANNELS",
                                                "NCCL_MAX_NCHANNELS",
                                                "NCCL_MIN_NRINGS",
                                                "NCCL_MAX_NRINGS",
                                                "NCCL_MIN_CTAS",
                                                "NCCL_MAX_CTAS",
                                                "NCCL_NVLS_NCHANNELS",
                                                "NCCL_MIN_P2P_NCHANNELS",
                                                "NCCL_MAX_P2P_NCHANNELS"};

/// The settings of a run whose price is in a calibration, as people know them.
std::vector<std::string> priced_settings(const RunSpec& run) {
  std::vector<std::string> settings;
  if (run.protocol && *run.protocol != Protocol::simple) {
    settings.push_back(fmt::format("protocol {}", to_string(*run.protocol)));
  }
  if (run.channels.value_or(1) > 1) settings.push_back(fmt::format("{} channels", *run.channels));
  if (run.graph) settings.emplace_back("a CUDA graph");
  for (const char* const name : variables_of_thread_blocks) {
    const auto found = run.variables.find(name);
    const bool by_protocol = std::string_view(name) == "NCCL_PROTO" && run.protocol;
    if (found == run.variables.end() || by_protocol) continue;
    settings.push_back(fmt::format("{}={}", name, found->second));
  }
  return settings;
}

/// Whether every GPU of a node sends to several others of it at once, over its NVSwitches.
bool mixes_at_switches(const CallSpec& spec) {
  if (spec.collective != Collective::all_to_all || spec.gpus.empty()) return false;
  const Topology& topology = *spec.topology;
  const DeviceId first = spec.gpus.front();
  const auto in_node = std::count_if(spec.gpus.begin(), spec.gpus.end(), [&](DeviceId gpu) {
    return topology.node_of(gpu) == topology.node_of(first);
  });
  const auto links = topology.links_from(first);
  return in_node > 2 && std::any_of(links.begin(), links.end(), [&](LinkId link) {
           return topology.device(topology.link(link).to).kind == DeviceKind::nvswitch;
         });
}

/// Throws InputError where a channel would go through a textbook's program more often than can be
/// counted.
void require_few_loops(const CallSpec& spec, Rank ranks, std::uint32_t chunks, Bytes size) {
  constexpr double max_loops = 1 << 28;
  const Bytes chunk = spec.run.chunking.value_or(Chunking{}).largest_chunk;
  if (chunk.count == 0) return;
  const double share = static_cast<double>(size.count) * sizes_held(spec.collective, ranks) /
                       spec.run.channels.value_or(1);
  const auto largest = static_cast<double>(std::max(chunk, size_of(spec.run.reduction.type)).count);
  const double loops = share / chunks / largest;
  if (loops <= max_loops) return;
  throw InputError(fmt::format("{} in chunks of {} are {:.2g} chunks one after the other",
                               to_string(size), to_string(chunk), loops),
                   "a larger chunk (--chunk) or a smaller size (-b, -e)");
}

}  // namespace

CallCompiler::CallCompiler(CallSpec spec, const CallCompiler* same_ranks) : spec_(std::move(spec)) {
  const Calibration given = spec_.cost;
  spec_.run = with_defaults(spec_.run, spec_.collective, topology());
  set_cost(cost_of(given));
  if (is_nccl()) group_by_node();
  placement_ = placement_of(topology(), spec_.gpus);
  if (is_nccl() && ranks() > 1) {
    start_nccl();
    talk_tcp(given);
    take_host_transport(given);
  } else {
    settle_textbook();
  }
  std::vector<std::uint32_t> nodes = placement_.node_of_rank;
  std::sort(nodes.begin(), nodes.end());
  hosts_ = static_cast<std::uint32_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
  for (std::string& each :
       slot_limits(topology(), kinds_of_nodes(topology(), spec_.gpus), hosts_ > 1)) {
    warnings_.push_back(std::move(each));
  }
  const std::vector<std::string> settings = priced_settings(spec_.run);
  if (given.name == "ideal" && !settings.empty()) {
    warnings_.push_back(
        fmt::format("calibration ideal prices links alone, so that {} cost{} nothing here",
                    fmt::join(settings, ", "), settings.size() == 1 ? "s" : ""));
  }
  bounds_ = same_ranks != nullptr && same_ranks->is_bounded_as(*this)
                ? same_ranks->bounds_
                : std::make_shared<const MachineBounds>(topology(), spec_.gpus, spec_.collective,
                                                        spec_.root, calls());
}

bool CallCompiler::is_bounded_as(const CallCompiler& other) const {
  return &topology() == &other.topology() && spec_.gpus == other.spec_.gpus &&
         spec_.collective == other.spec_.collective && spec_.root == other.spec_.root &&
         calls() == other.calls();
}

CallCompiler CallCompiler::with_faults(MachineFaults faults) const {
  CallCompiler other(*this);
  other.spec_.faults = std::move(faults);
  other.textbook_ = std::make_shared<LaidOnce>();
  return other;
}

/// The bytes that must move at least, as a size whose parts are all alike. NCCL's cut leaves out
/// what does not make whole elements for every rank. In a textbook's, what somebody keeps for
/// himself of each loop of a channel may be one element more than the mean.
Bytes CallCompiler::evenly_moved(Bytes size) const {
  const Bytes element = size_of(spec_.run.reduction.type);
  if (is_nccl()) return rounded_size(spec_.collective, ranks(), size, element);
  const bool keeps_part = spec_.collective == Collective::gather ||
                          spec_.collective == Collective::scatter ||
                          spec_.collective == Collective::all_to_all;
  if (!keeps_part || ranks() < 2) return size;
  size.count -= size.count % element.count;
  const DataPartition partition = textbook_binding(size);
  if (chunk_sizes(partition, textbook_chunks_).alike) return size;
  std::int64_t kept = 0;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    kept += partition.loops(channel);
  }
  // (N-1)/N of the size moves, so that one element less is N/(N-1) of the size.
  const std::int64_t less = (kept * ranks() + ranks() - 2) / (ranks() - 1);
  return {std::max<std::int64_t>(size.count - less * element.count, 0)};
}

Bounds CallCompiler::bounds(Bytes size) const {
  return bounds_->of(evenly_moved(size));
}

Calibration CallCompiler::cost_of(const Calibration& cost) const {
  Calibration own = talks_tcp_ ? over_tcp(cost) : cost;
  if (talks_tcp_) {
    const SocketThreads threads = socket_threads(nccl_->environment(), nic_model(topology()));
    own.proxy.helpers = threads.helpers;
    own.proxy.streams = threads.streams;
  }
  if (host_transport_ && own.wants_host_transport) own = with_transport(own, *host_transport_);
  if (is_nccl() && !nccl_function()) {
    own = mixes_at_switches(spec_) ? own.of_mixed_messages() : own.of_messages();
  }
  return spec_.run.graph ? own.of_graph() : own;
}

std::uint32_t CallCompiler::calls() const {
  constexpr std::uint32_t iterations_of_benchmarks = 20;  // nccl-tests' -n
  const bool overtake = has_root(spec_.collective) && is_nccl();
  return spec_.run.calls.value_or(overtake ? iterations_of_benchmarks : 1);
}

/// Renames the ranks that the spec speaks of as well.
void CallCompiler::group_by_node() {
  const std::vector<DeviceId> given = spec_.gpus;
  spec_.gpus = grouped_by_node(topology(), given);
  const auto renamed = [&](Rank rank) {
    const auto place = std::find(spec_.gpus.begin(), spec_.gpus.end(), given.at(rank));
    return static_cast<Rank>(place - spec_.gpus.begin());
  };
  if (spec_.root < given.size()) spec_.root = renamed(spec_.root);
  for (RankFault& fault : spec_.faults.ranks) fault.rank = renamed(fault.rank);
}

void CallCompiler::start_nccl() {
  const RunSpec& run = spec_.run;
  const NodesByPlaces nodes = nodes_by_places(topology(), spec_.gpus);
  Nccl::Variables variables = run.variables;
  if (const auto algorithm = find_nccl_run(run.algorithm)) {
    variables["NCCL_ALGO"] = nccl_name(*algorithm);
  }
  const auto count = static_cast<std::uint32_t>(nodes.kind_of_node.size());
  const auto over = [&](const LikeNodes& like) {
    return Nccl(topology(), variables, run.nccl_version, count, like.places,
                kinds_of_nodes(topology(), like.gpus));
  };
  if (nodes.kinds.size() > 1) {
    std::vector<Nccl> kinds;
    for (const LikeNodes& like : nodes.kinds) kinds.push_back(over(like));
    nccl_.emplace(std::move(kinds), nodes.kind_of_node);
  } else if (spec_.like != nullptr && (spec_.like->nodes() > 1) == (count > 1)) {
    nccl_.emplace(*spec_.like, count);
  } else {
    nccl_.emplace(over(nodes.kinds.front()));
  }
  nccl_->set_reduction(run.reduction);
  warnings_ = nccl_->environment().warnings;
  if (nccl_->ranks() != ranks()) {
    throw InputError(
        fmt::format("{} ranks on the {} GPUs of NCCL_TOPO_FILE", ranks(), nccl_->ranks()),
        "a file of a machine with as many GPUs");
  }
  if (const auto function = nccl_function()) {
    nccl_->require_any(*function);
  } else if (run.algorithm != "auto") {
    throw InputError(
        fmt::format("NCCL algorithm '{}' for {}", run.algorithm, to_string(spec_.collective)),
        "auto: sends and receives have no algorithms to choose from");
  }
}

/// Prices TCP where hosts have nothing else.
void CallCompiler::talk_tcp(const Calibration& cost) {
  const bool over_sockets = nccl_->environment().over_sockets() || has_sockets_only(topology());
  if (nccl_->nodes() == 1 || !over_sockets || cost.name == "ideal") return;
  talks_tcp_ = true;
  set_cost(cost_of(cost));
}

void CallCompiler::set_cost(Calibration cost) {
  nvls_cost_ = cost.of_nvls();
  spec_.cost = std::move(cost);
}

/// Where GPUs of a host have no NVLink, or may not use it, NCCL decides how they talk.
void CallCompiler::take_host_transport(const Calibration& cost) {
  if (ranks() == nccl_->nodes() || !cost.wants_host_transport) return;
  const bool through_host_memory = nccl_->talks_through_host_memory();
  const std::string_view name = transport_inside_host(topology(), through_host_memory);
  if (name.empty()) return;
  host_transport_ = shipped_transport(name);
  set_cost(cost_of(cost));
}

/// A textbook's own machine has one channel and messages of any size unless told otherwise.
void CallCompiler::settle_textbook() {
  if (is_nccl()) return;
  RunSpec& run = spec_.run;
  const bool ideal = cost().name == "ideal";
  if (!run.channels) run.channels = ideal ? 1 : nccls_channels(topology(), spec_.gpus);
  if (!run.chunking) {
    const Protocol protocol = run.protocol.value_or(Protocol::simple);
    run.chunking = ideal ? Chunking{} : nccls_chunking(spec_.collective, run.algorithm, protocol);
  }
  textbook_chunks_ = chunks_of(spec_.collective, run.algorithm, placement_);
}

ChannelOrder CallCompiler::textbook_order() const {
  return cost().name == "ideal" ? ChannelOrder::same : ChannelOrder::rotated;
}

std::vector<std::vector<Rank>> CallCompiler::textbook_orders() const {
  return channel_orders(spec_.collective, placement_, spec_.run.channels.value_or(1),
                        textbook_order());
}

/// A single rank has nothing to do.
Layout CallCompiler::textbook_layout() const {
  const RunSpec& run = spec_.run;
  if (is_nccl()) {
    return {make_plan(spec_.collective, algorithm_names(spec_.collective).front(), placement_),
            {.wires = {{}}}};
  }
  return lay(make_plan(spec_.collective, run.algorithm, placement_, *run.channels, spec_.root,
                       textbook_order()),
             {});
}

DataPartition CallCompiler::textbook_binding(Bytes size) const {
  require_few_loops(spec_, ranks(), textbook_chunks_, size);
  const RunSpec& run = spec_.run;
  return {spec_.collective,
          ranks(),
          run.channels.value_or(1),
          textbook_chunks_,
          size,
          size_of(run.reduction.type),
          run.chunking.value_or(Chunking{})};
}

Layout CallCompiler::lay(Plan plan, const HopRules& rules) const {
  const Calibration& cost = cost_of(plan);
  Wiring wiring = wire(plan, topology(), spec_.gpus, cost, rules);
  if (spec_.faults.empty()) return {std::move(plan), std::move(wiring)};
  FaultyLayout faulty =
      lay_faults(spec_.faults, plan, topology(), spec_.gpus, cost, std::move(wiring), rules);
  return {std::move(plan), std::move(faulty.wiring), std::move(faulty.events), faulty.reroutes};
}

HopRules CallCompiler::hop_rules(std::optional<NcclAlgorithm> algorithm) const {
  const auto nets = nets_of(*nccl_, algorithm);
  const RankNodes nodes = nccl_->rank_nodes();
  HopRules rules;
  rules.through_host_memory = [this, nodes](Rank from, Rank to) {
    const Rank node = nodes.node_of(from);
    return node == nodes.node_of(to) &&
           nccl_->host(node).through_host_memory(nodes.place_of(from), nodes.place_of(to));
  };
  rules.network_through_host = [this, nodes](Rank rank) {
    return nccl_->host(nodes.node_of(rank)).network_through_host_memory(nodes.place_of(rank));
  };
  // The NICs of a topology file are another machine's.
  if (!nets || !nccl_->environment().topology_file.empty()) return rules;
  rules.nics = [this, nets, nodes](std::uint32_t channel, Rank from,
                                   Rank to) -> std::optional<HopNics> {
    const Rank node = nodes.node_of(from);
    if (node == nodes.node_of(to)) return std::nullopt;
    const auto [out, in] = nets(channel, from, to);
    if (!out || !in) return std::nullopt;
    const auto out_nic = nic_beside(topology(), spec_.gpus[from], out->nic);
    const auto in_nic = nic_beside(topology(), spec_.gpus[to], in->nic);
    if (!out_nic || !in_nic) return std::nullopt;
    HopNics hop{std::nullopt, *out_nic, *in_nic};
    if (out->relay) hop.relay = spec_.gpus[nodes.first_rank(node) + *out->relay];
    return hop;
  };
  return rules;
}

std::shared_ptr<const Layout> CallCompiler::nccl_layout(const LayoutCache::Key& key,
                                                        LayoutCache* cache) const {
  LayoutCache own;
  std::shared_ptr<const Layout>& layout = (cache != nullptr ? cache : &own)->layouts[key];
  if (layout) return layout;
  const auto& [algorithm, count] = key;
  require_memory_of_layout(*this, memory_needed(*this, algorithm, count));
  Plan plan = algorithm ? make_nccl_plan(under_nccl(spec_.collective), *algorithm,
                                         nccl_->channels(), count, spec_.root, spec_.run.in_place)
                        : make_nccl_point_to_point_plan(spec_.collective, placement_,
                                                        nccl_->point_to_point().channels, count,
                                                        spec_.root);
  layout = std::make_shared<const Layout>(lay(std::move(plan), hop_rules(algorithm)));
  return layout;
}

CompiledCall CallCompiler::plan(Bytes size, LayoutCache* cache) const {
  if (!nccl_) return textbook_plan(size);
  return nccl_plan(size, decide(size), cache);
}

CompiledCall CallCompiler::plan_messages(
    Bytes size, const std::function<bool(Rank from, Rank to)>& sends) const {
  const NcclDecision decision = decide_messages(size);
  Plan plan =
      make_nccl_point_to_point_plan(spec_.collective, placement_, nccl_->point_to_point().channels,
                                    decision.parts, spec_.root, sends);
  const auto layout = std::make_shared<const Layout>(lay(std::move(plan), hop_rules({})));
  return with_host_memory({this, size, layout, DataPartition::nccl(layout->plan, decision.call),
                           decision.call.protocol, decision.warps, "p2p"});
}

CompiledCall CallCompiler::plan(Bytes size, const Candidate& candidate, LayoutCache* cache) const {
  if (nccl_ && nccl_function()) return nccl_plan(size, decide(size, candidate), cache);
  throw InputError(
      fmt::format("{} by NCCL's {}", to_string(spec_.collective), nccl_name(candidate.algorithm)),
      "a collective that NCCL tunes, of several ranks, under NCCL's rules");
}

CompiledCall CallCompiler::textbook_plan(Bytes size) const {
  require_few_loops(spec_, ranks(), textbook_chunks_, size);
  const RunSpec& run = spec_.run;
  const Protocol protocol = run.protocol.value_or(Protocol::simple);
  LaidOnce& once = *textbook_;
  std::call_once(once.flag, [&] {
    require_memory_of_layout(*this, memory_needed(*this, size));
    once.layout = std::make_shared<const Layout>(textbook_layout());
  });
  return {this,
          size,
          once.layout,
          DataPartition(once.layout->plan, size, size_of(run.reduction.type),
                        run.chunking.value_or(Chunking{})),
          protocol,
          full_warps(protocol),
          is_nccl() ? "none" : run.algorithm};
}

NcclCall CallCompiler::nccl_call(Bytes size, Protocol protocol) const {
  NcclCall call;
  call.size = size;
  call.element_size = size_of(spec_.run.reduction.type);
  call.protocol = protocol;
  call.nodes = nccl_->nodes();
  call.version = nccl_->version();
  const PerProtocol<Bytes>& buffers = nccl_->environment().buffer_size;
  call.buffers.ll = buffers[index_of(Protocol::ll)];
  call.buffers.ll128 = buffers[index_of(Protocol::ll128)];
  call.buffers.simple = buffers[index_of(Protocol::simple)];
  return call;
}

NcclDecision CallCompiler::decide(Bytes size) const {
  if (!nccl_function()) return decide_messages(size);
  const Choice choice = nccl_->choose(*nccl_function(), size);
  return decide(size, {choice.algorithm, choice.protocol, choice.time, std::nullopt});
}

NcclDecision CallCompiler::decide(Bytes asked, const Candidate& chosen) const {
  const Bytes size =
      spec_.collective == Collective::barrier ? size_of(spec_.run.reduction.type) : asked;
  const LaunchSize launch =
      chosen.launch.value_or(nccl_->launch(chosen.algorithm, chosen.protocol, size));
  NcclDecision decision{nccl_call(size, chosen.protocol), launch.channels, 0, 0, chosen};
  decision.call.algorithm = chosen.algorithm;
  decision.call.stripes = nccl_->stripes(chosen.algorithm);
  decision.call.threads = launch.threads;
  decision.call.buffers.nvls_chunk = nccl_->nvls_chunk(chosen.algorithm);
  constexpr std::uint32_t threads_per_warp = 32;
  decision.warps = launch.threads / threads_per_warp;
  return decision;
}

NcclDecision CallCompiler::decide_messages(Bytes size) const {
  const Bytes message =
      bytes_per_rank(spec_.collective, ranks(), size, size_of(spec_.run.reduction.type));
  const MessageLaunch launch =
      launch_messages(nccl_->point_to_point(), message, ranks(), nccl_->nodes());
  constexpr std::uint32_t warps_of_kernel = 20;  // NCCL's sends and receives always launch all
  NcclDecision decision{nccl_call(size, launch.protocol), nccl_->point_to_point().channels,
                        launch.parts, warps_of_kernel, std::nullopt};
  decision.call.buffers.point_to_point_chunk = launch.chunk;
  return decision;
}

CompiledCall CallCompiler::nccl_plan(Bytes size, const NcclDecision& decision,
                                     LayoutCache* cache) const {
  const auto& chosen = decision.candidate;
  const auto layout = chosen ? nccl_layout({chosen->algorithm, decision.channels}, cache)
                             : nccl_layout({std::nullopt, decision.parts}, cache);
  return with_host_memory({this, size, layout, DataPartition::nccl(layout->plan, decision.call),
                           decision.call.protocol, decision.warps,
                           chosen ? nccl_report_name(chosen->algorithm) : "p2p", chosen});
}

CompiledCall CallCompiler::with_host_memory(CompiledCall plan) const {
  if (!loads_host_memory(plan.wiring())) return plan;
  Wiring wiring = plan.wiring();
  set_host_memory(wiring, plan.plan(), plan.partition, spec_.gpus, plan.protocol, cost());
  plan.own_wiring = std::make_shared<const Wiring>(std::move(wiring));
  return plan;
}

const Calibration& CompiledCall::cost() const {
  return compiler->cost_of(plan());
}

}  // namespace collsim
