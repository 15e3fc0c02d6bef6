#include "models/nccl/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "models/machine/gpu_model.h"
#include "models/nccl/net_plugin.h"
#include "models/nccl/system/net_merge.h"
#include "models/nccl/system/system_topology.h"
#include "models/nccl/system/system_xml.h"
#include "models/nccl/tuning/requirement.h"
#include "models/nccl/tuning/tuning_enabled.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Grouped calls whose latencies overlap but in Ring: 1024 bytes of descriptors of 96 bytes each
/// (NCCL src/include/device.h).
constexpr std::uint32_t operations_per_batch = 10;

/// What NCCL finds on the machine where a cut-down file says nothing.
HostHint hint_of(const NcclSystem& machine) {
  const NcclNode& gpu = machine.gpu(0);
  HostHint hint;
  hint.model = gpu_model_of_pci_device(static_cast<std::uint16_t>(gpu.pci_device >> 32U));
  hint.cards = std::none_of(gpu.links.begin(), gpu.links.end(), [&](std::uint32_t id) {
    return machine.links()[id].kind == NcclLinkKind::nvl;
  });
  const auto nets = machine.of_kind(NcclNodeKind::net);
  if (!nets.empty()) hint.nic_rate = machine.node(nets.front()).net.bandwidth;
  return hint;
}

/// NCCL_TOPO_FILE replaces the machine that is there; NCCL_IB_HCA hides NICs of either.
NcclSystem effective_system(NcclSystem detected, const NcclEnvironment& environment,
                            NcclVersion version, const std::optional<Nccl::LocalGpus>& gpus) {
  if (!environment.topology_file.empty()) {
    const TextFile file = read_text_file(environment.topology_file, "an XML file");
    detected = read_nccl_topology_file(file, version, hint_of(detected)).system;
  }
  if (gpus) detected.keep_gpus(*gpus);
  if (environment.over_sockets()) detected.set_net_latency(0);
  return with_merged_ports(keep_nets(std::move(detected), environment.nets), environment, version);
}

/// What all hosts can do: NCCL takes the least of each figure.
void agree(NcclGraph& graph, const NcclGraph& other) {
  graph.channels.resize(std::min(graph.channels.size(), other.channels.size()));
  graph.intra_bandwidth = std::min(graph.intra_bandwidth, other.intra_bandwidth);
  graph.inter_bandwidth = std::min(graph.inter_bandwidth, other.inter_bandwidth);
  graph.inter_latency = std::max(graph.inter_latency, other.inter_latency);
  graph.intra_type = std::max(graph.intra_type, other.intra_type);
  graph.inter_type = std::max(graph.inter_type, other.inter_type);
  graph.cross_nic = std::max(graph.cross_nic, other.cross_nic);
  graph.same_channels = graph.same_channels && other.same_channels;
}

std::size_t nics_of_host(const Topology& topology, std::uint32_t host) {
  const auto& devices = topology.node(host).graph->graph().devices;
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const GraphDevice& device) { return device.kind == DeviceKind::nic; }));
}

/// The one with the fewest NICs first, so that those that it has are everywhere.
std::vector<std::uint32_t> fewest_nics_first(const Topology& topology,
                                             std::vector<std::uint32_t> hosts) {
  std::stable_sort(hosts.begin(), hosts.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nics_of_host(topology, a) < nics_of_host(topology, b);
  });
  return hosts;
}

void require_equal_hosts(const Topology& topology) {
  const std::size_t first = topology.node(0).graph->gpus().size();
  for (std::uint32_t host = 1; host < topology.node_count(); ++host) {
    const std::size_t gpus = topology.node(host).graph->gpus().size();
    if (gpus == first) continue;
    throw InputError(fmt::format("node {} has {} GPUs, node 0 has {}", host, gpus, first),
                     "nodes with equally many GPUs, or as many ranks on each (--ranks-per-node, "
                     "--rank-list)");
  }
}

/// Whether GPUs of the same places head the stripes of both kinds of host.
bool have_like_stripes(const NcclGraphs& one, const NcclGraphs& other) {
  return stripe_heads(one.nvls) == stripe_heads(other.nvls) &&
         stripe_heads(one.collnet_direct) == stripe_heads(other.collnet_direct);
}

}  // namespace

/// Hosts that have other GPUs in the communicator than others, or more of them.
struct Nccl::UnlikeHosts {
  std::vector<Nccl> kinds;  // that have agreed
  std::vector<std::uint32_t> kind_of_node;
  std::vector<Rank> first_ranks;  // by node, then how many there are
  bool like_stripes = true;
};

Nccl::Nccl(NcclSystem system, std::uint32_t nodes, const Variables& variables, NcclVersion version,
           const std::optional<LocalGpus>& gpus)
    : environment_(parse_nccl_environment(variables, version)),
      version_(version),
      nodes_(nodes),
      system_(effective_system(std::move(system), environment_, version, gpus)) {
  const bool inter = nodes_ > 1;
  if (inter && system_.of_kind(NcclNodeKind::net).empty()) {
    throw InputError(fmt::format("{} nodes without a NIC", nodes_),
                     "one node, or a machine with NICs that NCCL_IB_HCA allows");
  }
  const NcclPaths paths(system_, environment_, version_);
  bandwidth_ = system_bandwidth(system_, paths, inter);
  for (const std::uint32_t from : system_.of_kind(NcclNodeKind::gpu)) {
    for (const std::uint32_t to : system_.of_kind(NcclNodeKind::gpu)) {
      through_host_memory_.push_back(paths.between(from, to).staged);
    }
  }
  const auto nets = system_.of_kind(NcclNodeKind::net);
  for (const std::uint32_t gpu : system_.of_kind(NcclNodeKind::gpu)) {
    network_through_host_memory_.push_back(
        std::any_of(nets.begin(), nets.end(),
                    [&](std::uint32_t net) { return paths.between(gpu, net).staged; }));
  }
  graphs_ = search_graphs(system_, paths, inter, environment_, version_);
  settle_nodes(paths);
}

Nccl::Nccl(const Nccl& like, std::uint32_t nodes) : Nccl(like) {
  assert((like.nodes_ > 1) == (nodes > 1));
  nodes_ = nodes;
  settle_nodes(NcclPaths(system_, environment_, version_));
}

void Nccl::settle_nodes(const NcclPaths& paths) {
  origins_ = channel_origins(system_, graphs_, nodes_, environment_, version_);
  const auto hosts = laid_ ? laid_->hosts : nullptr;
  laid_ = std::make_shared<LaidChannels>();
  laid_->hosts = hosts;
  if (nodes_ > 1) {
    const auto searched = std::min(graphs_.ring.channel_count(), graphs_.tree.channel_count());
    ring_nets_ = ChannelNets(system_, paths, graphs_.ring, searched);
    tree_nets_ = ChannelNets(system_, paths, graphs_.tree, searched);
  }
  nvls_channels_ = 0;
  if (!graphs_.nvls.channels.empty()) {
    nvls_channels_ = nvls_channel_count(system_.min_compute_capability(), nodes_, environment_);
    if (nodes_ > 1) head_nets_ = ChannelNets::of_heads(system_, graphs_.nvls, nvls_channels_);
  }
  point_to_point_ = point_to_point_channels(system_, paths, nodes_, ranks(), channel_count(),
                                            environment_, version_);
  if (nodes_ > 1) {
    message_nets_ = MessageNets(system_, paths, environment_, point_to_point_.channels);
  }
  table_ = tune(tuning_input());
}

Nccl::Nccl(const Topology& topology, const Variables& variables, NcclVersion version,
           std::optional<std::uint32_t> nodes, const std::optional<LocalGpus>& gpus,
           std::vector<std::uint32_t> kinds)
    : Nccl(system_from_topology(topology, version, fewest_nics_first(topology, kinds).front()),
           nodes.value_or(host_count(topology)), with_net_plugin(topology, variables, version),
           version, gpus) {
  if (!gpus) require_equal_hosts(topology);
  kinds = fewest_nics_first(topology, std::move(kinds));
  for (const std::uint32_t kind : std::span(kinds).subspan(1)) {
    agree_with(Nccl(system_from_topology(topology, version, kind), nodes_,
                    with_net_plugin(topology, variables, version), version, gpus));
  }
  if (environment_.uses_tuner(version)) tuner_ = efa_platform(topology);
}

Nccl::Nccl(std::vector<Nccl> kinds, std::vector<std::uint32_t> kind_of_node)
    : Nccl(kinds[kind_of_node.front()]) {
  assert(kind_of_node.size() == nodes_ && nodes_ > 1);
  auto hosts = std::make_shared<UnlikeHosts>();
  hosts->first_ranks.push_back(0);
  for (const std::uint32_t kind : kind_of_node) {
    hosts->first_ranks.push_back(hosts->first_ranks.back() +
                                 static_cast<Rank>(kinds[kind].system_.gpu_count()));
  }
  for (const Nccl& kind : kinds) {
    hosts->like_stripes = hosts->like_stripes && kind.system_.gpu_count() == system_.gpu_count() &&
                          have_like_stripes(kind.graphs_, graphs_);
    bandwidth_.per_channel = std::min(bandwidth_.per_channel, kind.bandwidth_.per_channel);
    bandwidth_.total = std::min(bandwidth_.total, kind.bandwidth_.total);
  }
  std::vector<NcclGraphs> searched;
  searched.reserve(kinds.size());
  for (const Nccl& kind : kinds) searched.push_back(kind.graphs_);
  for (Nccl& kind : kinds) {
    for (const NcclGraphs& other : searched) kind.agree_on_graphs(other);
    if (!hosts->like_stripes) kind.leave_out_stripes();
    kind.settle_nodes(NcclPaths(kind.system_, environment_, version_));
  }
  graphs_ = kinds[kind_of_node.front()].graphs_;
  hosts->kinds = std::move(kinds);
  hosts->kind_of_node = std::move(kind_of_node);
  laid_ = std::make_shared<LaidChannels>();
  laid_->hosts = hosts;
  settle_nodes(NcclPaths(system_, environment_, version_));
  for (const Nccl& kind : hosts->kinds) {
    const PointToPoint own =
        point_to_point_channels(kind.system_, NcclPaths(kind.system_, environment_, version_),
                                nodes_, ranks(), channel_count(), environment_, version_);
    point_to_point_.per_peer = std::min(point_to_point_.per_peer, own.per_peer);
  }
}

std::uint32_t Nccl::ranks() const {
  if (laid_ && laid_->hosts) return laid_->hosts->first_ranks.back();
  return nodes_ * static_cast<std::uint32_t>(system_.gpu_count());
}

RankNodes Nccl::rank_nodes() const {
  if (laid_->hosts) return RankNodes(laid_->hosts->first_ranks);
  return RankNodes(static_cast<Rank>(system_.gpu_count()));
}

const Nccl& Nccl::host(std::uint32_t node) const {
  if (!laid_->hosts) return *this;
  return laid_->hosts->kinds[laid_->hosts->kind_of_node[node]];
}

bool Nccl::talks_through_host_memory() const {
  if (laid_->hosts) {
    return std::any_of(laid_->hosts->kinds.begin(), laid_->hosts->kinds.end(),
                       [](const Nccl& kind) { return kind.talks_through_host_memory(); });
  }
  const std::size_t gpus = system_.gpu_count();
  for (std::size_t i = 0; i < through_host_memory_.size(); ++i) {
    if (i / gpus != i % gpus && through_host_memory_[i]) return true;
  }
  return false;
}

TuningInput Nccl::tuning_input() const {
  const bool like_stripes = !laid_->hosts || laid_->hosts->like_stripes;
  return {&system_, &graphs_, nodes_, &environment_, version_, ranks(), like_stripes};
}

void Nccl::leave_out_stripes() {
  graphs_.nvls.channels.clear();
  graphs_.collnet_chain.channels.clear();
  graphs_.collnet_direct.channels.clear();
}

void Nccl::agree_on_graphs(const NcclGraphs& other) {
  for (const auto graph : {&NcclGraphs::ring, &NcclGraphs::tree, &NcclGraphs::collnet_chain,
                           &NcclGraphs::collnet_direct, &NcclGraphs::nvls}) {
    agree(graphs_.*graph, other.*graph);
  }
}

void Nccl::agree_with(const Nccl& other) {
  bandwidth_.per_channel = std::min(bandwidth_.per_channel, other.bandwidth_.per_channel);
  bandwidth_.total = std::min(bandwidth_.total, other.bandwidth_.total);
  for (std::size_t i = 0; i < through_host_memory_.size(); ++i) {
    through_host_memory_[i] = through_host_memory_[i] || other.through_host_memory_[i];
  }
  agree_on_graphs(other.graphs_);
  settle_nodes(NcclPaths(system_, environment_, version_));
}

const NcclChannels& Nccl::channels() const {
  std::call_once(laid_->once, [this] {
    std::vector<SearchedHost> hosts;
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      hosts.push_back({&host(node).system_, &host(node).graphs_});
    }
    laid_->channels = connect_channels(hosts, origins_);
  });
  return laid_->channels;
}

std::uint32_t Nccl::stripes(NcclAlgorithm algorithm) const {
  const bool collnet = algorithm == NcclAlgorithm::collnet_direct;
  return static_cast<std::uint32_t>(
      stripe_heads(collnet ? graphs_.collnet_direct : graphs_.nvls).size());
}

Bytes Nccl::nvls_chunk(NcclAlgorithm algorithm) const {
  // NCCL src/transport/nvls.cc.
  const bool short_of_buffer = nodes_ >= 4 && system_.min_compute_capability() < 100;
  const Bytes most = environment_.nvls_chunk;
  if (algorithm != NcclAlgorithm::nvls_tree) return most;
  const Bytes usual{short_of_buffer ? 64 << 10 : 256 << 10};
  return std::min(most, environment_.nvls_tree_chunk.value_or(usual));
}

std::optional<double> Nccl::estimate(NcclFunction function, NcclAlgorithm algorithm,
                                     Protocol protocol, Bytes size,
                                     std::uint32_t operations) const {
  const Tuning& cell = tuning(function, algorithm, protocol);
  if (cell.bandwidth <= 0 || !can_reduce(function, algorithm, reduction_)) return std::nullopt;
  const Tuning of_size =
      tuning_for(cell, function, {algorithm, protocol}, size, channel_count(), tuning_input());
  const std::uint32_t waits =
      algorithm == NcclAlgorithm::ring ? operations : divide_up(operations, operations_per_batch);
  return double{of_size.latency} * waits +
         static_cast<double>(size.count) / (1000.0 * of_size.bandwidth);
}

std::optional<std::string> Nccl::why_not(NcclFunction function, NcclAlgorithm algorithm,
                                         Protocol protocol) const {
  if (!can_reduce(function, algorithm, reduction_)) {
    return fmt::format("does not do {} of {}", to_string(reduction_.op),
                       to_string(reduction_.type));
  }
  if (tuning(function, algorithm, protocol).bandwidth > 0) return std::nullopt;
  return collsim::why_not(function, algorithm, protocol, tuning_input())
      .value_or("no channels are found");
}

LaunchSize Nccl::launch(NcclAlgorithm algorithm, Protocol protocol, Bytes size) const {
  const LaunchInput input{&graphs_, &environment_,   version_,
                          ranks(),  channel_count(), nvls_channels_};
  return launch_size(algorithm, protocol, size, input);
}

void Nccl::complain_of_nothing(NcclFunction function) const {
  const auto& allowed = environment_.algorithm_allowed[index_of(function)];
  const auto only = std::find(allowed.begin(), allowed.end(), true);
  if (std::count(allowed.begin(), allowed.end(), true) == 1) {
    const auto algorithm = static_cast<NcclAlgorithm>(only - allowed.begin());
    const std::string missing = missing_requirement(function, algorithm, tuning_input());
    if (missing.empty() && !can_reduce(function, algorithm, reduction_)) {
      throw InputError(fmt::format("{} by {} of {}, {}", nccl_name(function), nccl_name(algorithm),
                                   to_string(reduction_.type), to_string(reduction_.op)),
                       reductions_of(algorithm));
    }
    if (!missing.empty()) {
      throw InputError(
          fmt::format("NCCL cannot run {} by {} here", nccl_name(function), nccl_name(algorithm)),
          fmt::format("{} needs {}", nccl_name(algorithm), missing));
    }
  }
  std::string reasons;
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    const auto reason = why_not(function, algorithm, Protocol::simple);
    if (!allowed[index_of(algorithm)] || !reason) continue;
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? " (" : "; ", nccl_name(algorithm), *reason);
  }
  throw InputError(fmt::format("NCCL_ALGO and NCCL_PROTO leave nothing for {}{}{}",
                               nccl_name(function), reasons, reasons.empty() ? "" : ")"),
                   "lists that keep an algorithm which the function has, such as Ring");
}

void Nccl::require_any(NcclFunction function) const {
  static_cast<void>(choose(function, Bytes{8}));
}

std::optional<AlgorithmProtocol> Nccl::tuned(NcclFunction function, Bytes size) const {
  if (!tuner_) return std::nullopt;
  return efa_tuner_choice(*tuner_, function, size, ranks(), nodes_);
}

Choice Nccl::choose(NcclFunction function, Bytes size, std::uint32_t operations) const {
  Choice choice;
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    for (const Protocol protocol : all_nccl_protocols) {
      const auto time = estimate(function, algorithm, protocol, size, operations);
      if (time) choice.candidates.push_back({algorithm, protocol, *time});
    }
  }
  if (choice.candidates.empty()) complain_of_nothing(function);
  auto least =
      std::min_element(choice.candidates.begin(), choice.candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
  if (const auto asked = tuned(function, size)) {
    const auto same = std::find_if(
        choice.candidates.begin(), choice.candidates.end(), [&](const Candidate& each) {
          return AlgorithmProtocol{each.algorithm, each.protocol} == *asked;
        });
    if (same != choice.candidates.end()) least = same;
  }
  choice.algorithm = least->algorithm;
  choice.protocol = least->protocol;
  choice.time = least->time;
  const LaunchSize launch = this->launch(choice.algorithm, choice.protocol, size);
  choice.channels = launch.channels;
  choice.threads = launch.threads;
  return choice;
}

}  // namespace collsim
