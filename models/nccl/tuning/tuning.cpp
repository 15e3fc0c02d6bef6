#include "models/nccl/tuning/tuning.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "models/nccl/tuning/tuning_enabled.h"

namespace collsim {

namespace {

/// Times that a message is passed on in a ring.
double steps_of_ring(NcclFunction function, double ranks) {
  if (function == NcclFunction::all_reduce) return 2 * (ranks - 1);
  return is_gather(function) ? ranks - 1 : ranks;
}

/// Computes latency and bandwidth of one cell at a time.
class Tuner {
 public:
  explicit Tuner(const TuningInput& input)
      : input_(input),
        constants_(tuning_constants(input.version)),
        nodes_(static_cast<double>(input.nodes)),
        per_node_(static_cast<double>(input.ranks) / nodes_),
        whole_per_node_(std::floor(per_node_)),
        ranks_(static_cast<double>(input.ranks)),
        capability_(input.system->min_compute_capability()),
        architecture_(capability_ >= 100  ? TuningConstants::blackwell
                      : capability_ >= 90 ? TuningConstants::hopper
                      : capability_ >= 80 ? TuningConstants::ampere
                                          : TuningConstants::volta),
        by_nodes_(std::min<std::size_t>(input.nodes, 3) - 1) {
    auto& pci = constants_.hop_latency[TuningConstants::pci];
    if (input.system->cpu().architecture == CpuArchitecture::power) {
      constexpr std::size_t simple = index_of(Protocol::simple);
      pci[index_of(NcclAlgorithm::tree)][simple] = pci[index_of(NcclAlgorithm::ring)][simple];
    }
  }

  Tuning cell(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol) const {
    return {static_cast<float>(latency(function, algorithm, protocol)),
            static_cast<float>(bandwidth(function, algorithm, protocol))};
  }

 private:
  const NcclGraph& graph(NcclAlgorithm algorithm) const {
    return graph_of(algorithm, *input_.graphs);
  }
  bool before(NcclVersion version) const { return input_.version < version; }
  double most(const TuningConstants::ByArchitecture& table) const {
    return table[architecture_][by_nodes_];
  }
  double ring_steps(NcclFunction function) const { return steps_of_ring(function, ranks_); }

  /// Those of them that cross between nodes.
  double ring_steps_between_nodes(NcclFunction function) const {
    if (input_.nodes == 1) return 0;
    if (function != NcclFunction::all_reduce) return nodes_ - 1;
    return before({2, 23}) ? 2 * nodes_ : 2 * (nodes_ - 1);
  }

  double ll_most() const {
    const CpuVendor vendor = input_.system->cpu().vendor;
    const std::size_t row = input_.nodes == 1          ? architecture_
                            : vendor == CpuVendor::amd ? TuningConstants::ampere
                                                       : TuningConstants::volta;
    return constants_.ll_most[row][by_nodes_];
  }

  double bandwidth(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol) const {
    const NcclGraph& found = graph(algorithm);
    const bool collnet =
        algorithm == NcclAlgorithm::collnet_direct || algorithm == NcclAlgorithm::collnet_chain;
    const double channels = found.channel_count();
    const double bus =
        channels * (collnet ? found.intra_bandwidth : channel_bandwidth(found, algorithm));
    switch (algorithm) {
      case NcclAlgorithm::tree:
        return 0.5 * tree_bus(bus, channels, protocol);
      case NcclAlgorithm::ring:
        return ring_bus(bus, channels, function, protocol) * ranks_ / ring_steps(function);
      case NcclAlgorithm::collnet_direct:
        return protocol == Protocol::simple ? collnet_direct(bus, channels, function) : 0;
      case NcclAlgorithm::collnet_chain:
        return protocol == Protocol::simple ? 0.5 * bus : 0;
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree:
        return nvls(found, channels, function, algorithm == NcclAlgorithm::nvls_tree);
      case NcclAlgorithm::pat:
        return bus * constants_.pat_share;
    }
    return 0;
  }

  /// Two nodes were held to the rate inside one; since 2.31 Blackwell's are held to the network's,
  /// and what goes by trees to the slower of the two.
  double channel_bandwidth(const NcclGraph& found, NcclAlgorithm algorithm) const {
    const double slower = std::min(found.intra_bandwidth, found.inter_bandwidth);
    if (!before({2, 31})) {
      const bool is_blackwell = architecture_ == TuningConstants::blackwell;
      if (algorithm == NcclAlgorithm::pat) return slower;
      if (is_blackwell && algorithm == NcclAlgorithm::tree) return slower;
      if (is_blackwell && input_.nodes == 2) return found.inter_bandwidth;
    }
    return input_.nodes <= 2 ? found.intra_bandwidth : found.inter_bandwidth;
  }

  double ring_bus(double bus, double channels, NcclFunction function, Protocol protocol) const {
    if (protocol == Protocol::ll) {
      const bool one_way = input_.nodes == 1 && function != NcclFunction::all_reduce &&
                           function != NcclFunction::reduce;
      const double share = one_way ? constants_.ring_ll_share_one_node : constants_.ring_ll_share;
      return std::min(ll_most(), bus * share);
    }
    if (protocol == Protocol::ll128) {
      const double share = per_node_ < 2 ? constants_.ring_ll128_share_one_gpu : 0.92;
      return std::min(bus * share, channels * most(constants_.ring_ll128_most));
    }
    return bus;
  }

  double tree_bus(double bus, double channels, Protocol protocol) const {
    bus = std::min(bus * 0.92, channels * most(constants_.tree_most));
    if (protocol == Protocol::ll) bus = std::min(bus / 3.8, ll_most());
    if (protocol == Protocol::ll128) {
      const double share = input_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
      bus = std::min(bus * share, channels * most(constants_.tree_ll128_most));
    }
    // All that enters and leaves the node goes through one GPU.
    return graph(NcclAlgorithm::tree).pattern == GraphPattern::tree ? bus * 0.85 : bus;
  }

  double collnet_direct(double bus, double channels, NcclFunction function) const {
    const NcclGraph& found = graph(NcclAlgorithm::collnet_direct);
    if (channels == 0) return 0;
    if (is_gather(function)) {
      return per_node_ * std::min<double>(found.intra_bandwidth, found.inter_bandwidth * 0.9);
    }
    const double gpus_per_net = per_node_ / channels;
    bus = 2 * bus / (1 + gpus_per_net);
    return 0.5 * (capability_ >= 90 ? bus * 0.85 : bus);
  }

  double nvls(const NcclGraph& found, double channels, NcclFunction function, bool tree) const {
    if (channels < 2) return 0;
    if (before({2, 28})) return nvls_before_2_28(found, channels, function, tree);
    double intra = found.intra_bandwidth * constants_.nvls_efficiency[architecture_] *
                   (channels - 1) / channels;
    intra *= function == NcclFunction::all_reduce ? 2 : (per_node_ - 1) / per_node_;
    const double inter = found.inter_bandwidth * (tree && input_.nodes <= 2 ? 2 : 1);
    double per_channel = std::min(intra, inter);
    if (tree) per_channel = std::min(per_channel, most(constants_.nvls_tree_most));
    const double bus = channels * per_channel;
    return function == NcclFunction::all_reduce ? bus * ranks_ / ring_steps(function) : bus;
  }

  double nvls_before_2_28(const NcclGraph& found, double channels, NcclFunction function,
                          bool tree) const {
    const double intra = found.intra_bandwidth;
    const double inter = found.inter_bandwidth;
    if (!before({2, 27}) && is_gather(function)) {
      return channels * std::min(intra * (per_node_ - 1) / per_node_, 0.9 * inter);
    }
    const double usable = tree && input_.nodes > 2 ? inter / 2 : inter;
    return channels * std::min(intra, usable) * 5.0 / 6.0;
  }

  double latency(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol) const {
    const std::size_t p = index_of(protocol);
    const NcclGraph& found = graph(algorithm);
    const bool nvlink = found.intra_type == PathType::nvl;
    const auto& intra_row =
        constants_.hop_latency[nvlink ? TuningConstants::nvlink : TuningConstants::pci];
    const auto& network_row = constants_.hop_latency[TuningConstants::network];
    // With one GPU per node nothing hides the network, which Tree's figures show whole.
    const NcclAlgorithm network_as =
        per_node_ == 1 && !before({2, 23}) ? NcclAlgorithm::tree : algorithm;
    const double base = constants_.base_latency[index_of(algorithm)][p];
    const double intra = intra_row[index_of(algorithm)][p];
    const double nic = found.inter_latency * (protocol == Protocol::simple ? 2 : 1);
    const double inter = network_row[index_of(network_as)][p] + nic;
    const double levels = std::bit_width(input_.nodes) - 1;
    switch (algorithm) {
      case NcclAlgorithm::ring:
        return base + ring_latency(function, protocol, intra, inter,
                                   input_.nodes == 1 ? intra_row : network_row);
      case NcclAlgorithm::tree:
        return base + 2 * ((whole_per_node_ - 1) * intra + levels * inter);
      case NcclAlgorithm::collnet_direct:
        return base +
               2 * (std::min(1.0, whole_per_node_ - 1) * intra + (whole_per_node_ - 1) * 0.4) +
               inter;
      case NcclAlgorithm::collnet_chain:
        return base + 2 * (whole_per_node_ - 1) * intra + inter;
      case NcclAlgorithm::nvls:
        return intra + (input_.nodes > 1 ? inter : 0);
      case NcclAlgorithm::nvls_tree:
        return before({2, 19}) ? base + intra + 2 * (nodes_ - 1) * inter
                               : base + intra + 2 * levels * inter;
      case NcclAlgorithm::pat:
        return base + levels * inter / 3.5 + ranks_ * 2.8;
    }
    return 0;
  }

  double ring_latency(NcclFunction function, Protocol protocol, double intra, double inter,
                      const PerAlgorithm<PerProtocol<double>>& row) const {
    const std::size_t p = index_of(protocol);
    if (function == NcclFunction::broadcast || function == NcclFunction::reduce) {
      if (graph(NcclAlgorithm::ring).same_channels) return row[index_of(NcclAlgorithm::ring)][p];
      const NcclAlgorithm as =
          protocol == Protocol::simple ? NcclAlgorithm::tree : NcclAlgorithm::ring;
      return ranks_ * row[index_of(as)][p];
    }
    double overhead = 0;
    if (input_.nodes > 1) {
      overhead = net_overhead() * (protocol == Protocol::simple ? 3 : 1);
    }
    const double between = ring_steps_between_nodes(function);
    return (ring_steps(function) - between) * std::max(intra, overhead) + between * inter;
  }

  /// What handing a message to the NIC costs, us.
  double net_overhead() const {
    const NcclCpu& cpu = input_.system->cpu();
    const bool amd = cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::amd;
    return input_.environment->net_overhead.value_or(amd ? 2.0 : 1.0);
  }

  TuningInput input_;
  TuningConstants constants_;
  double nodes_;
  double per_node_;
  double whole_per_node_;  // NCCL divides integers where it counts hops
  double ranks_;
  int capability_;
  TuningConstants::Architecture architecture_;
  std::size_t by_nodes_;
};

/// Of a ring inside a node of Blackwell (NCCL 2.32 src/tuning/ring.cc): less for few steps, and for
/// pieces above 256 KiB.
double plateau_of_short_ring(NcclFunction function, double piece, std::uint32_t ranks) {
  constexpr double highest = 0.4;
  constexpr double shed = 0.1;
  constexpr double long_piece = 256 << 10;
  const double steps = steps_of_ring(function, ranks);
  const double reached = 1 - std::pow(shed / highest, std::max(0.0, steps - 1));
  const double lost = shed * std::clamp(piece / long_piece - 1, 0.0, 1.0);
  return 1 + reached * (highest - lost);
}

/// By how much the latency of Simple grows in rings once their pieces, one a channel and rank, have
/// 64 bytes: between nodes in AllReduce; inside a node on Blackwell's NVLink in AllGather and
/// ReduceScatter since 2.31, and in AllReduce since 2.32.
double ring_plateau(NcclFunction function, Bytes size, std::uint32_t channels,
                    const TuningInput& input) {
  const std::int64_t piece = size.count / (std::int64_t{channels} * input.ranks);
  if (piece < 64) return 1;
  const int capability = input.system->min_compute_capability();
  const bool all_reduce = function == NcclFunction::all_reduce;
  if (input.nodes > 1) return !all_reduce ? 1 : capability < 80 ? 1.9 : 1.4;
  const bool blackwell_nvlink = capability >= 100 && input.graphs->ring.intra_type == PathType::nvl;
  if (!blackwell_nvlink || input.version < NcclVersion{2, 31}) return 1;
  if (input.version < NcclVersion{2, 32}) return is_gather(function) ? 1.4 : 1;
  if (!all_reduce && !is_gather(function)) return 1;
  return plateau_of_short_ring(function, static_cast<double>(piece), input.ranks);
}

/// Whether NVLSTree falls short of its bandwidth as trees do: on Blackwell since 2.29 behind x86
/// CPUs, and since 2.31 also behind Arm's with four GPUs a node and NICs of 800 Gb/s, on two nodes
/// only below 512 MiB, 64 MiB since 2.32 (NCCL src/tuning/nvls.cc).
bool corrects_nvls_tree(int log2_blocks, const TuningInput& input) {
  constexpr double fast_net = 96;
  const NcclSystem& system = *input.system;
  if (input.version < NcclVersion{2, 29} || system.min_compute_capability() < 100) return false;
  const CpuArchitecture cpu = system.cpu().architecture;
  if (cpu == CpuArchitecture::x86) return true;
  if (cpu != CpuArchitecture::arm || input.version < NcclVersion{2, 31}) return false;
  const auto nets = system.of_kind(NcclNodeKind::net);
  const bool fast = std::all_of(nets.begin(), nets.end(), [&](std::uint32_t net) {
    return system.node(net).net.bandwidth >= fast_net;
  });
  const int last = input.version < NcclVersion{2, 32} ? 23 : 20;
  return fast && input.ranks == 4 * input.nodes && (log2_blocks < last || input.nodes > 2);
}

}  // namespace

Tuning tuning_for(Tuning cell, NcclFunction function, AlgorithmProtocol of, Bytes size,
                  std::uint32_t channels, const TuningInput& input) {
  const auto blocks = static_cast<std::uint64_t>(size.count) >> 6U;
  const int log2_blocks = static_cast<int>(std::bit_width(blocks)) - 1;
  const bool as_tree =
      of.algorithm == NcclAlgorithm::tree
          ? function == NcclFunction::all_reduce && log2_blocks < 23
          : of.algorithm == NcclAlgorithm::nvls_tree && corrects_nvls_tree(log2_blocks, input);
  if (as_tree) cell.bandwidth *= static_cast<float>(tree_correction(of.protocol, log2_blocks));
  if (of.algorithm == NcclAlgorithm::ring && of.protocol == Protocol::simple) {
    cell.latency *= static_cast<float>(ring_plateau(function, size, channels, input));
  }
  return cell;
}

const NcclGraph& graph_of(NcclAlgorithm algorithm, const NcclGraphs& graphs) {
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return graphs.ring;
    case NcclAlgorithm::collnet_direct:
      return graphs.collnet_direct;
    case NcclAlgorithm::collnet_chain:
      return graphs.collnet_chain;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return graphs.nvls;
    case NcclAlgorithm::tree:
    case NcclAlgorithm::pat:
      break;
  }
  return graphs.tree;
}

TuningTable tune(const TuningInput& input) {
  const Tuner tuner(input);
  TuningTable table{};
  if (input.ranks <= 1) return table;
  for (const NcclFunction function : all_nccl_functions) {
    for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
      for (const Protocol protocol : all_nccl_protocols) {
        if (!implements(function, algorithm, protocol, input)) continue;
        Tuning& cell = table[index_of(function)][index_of(algorithm)][index_of(protocol)];
        cell = tuner.cell(function, algorithm, protocol);
        if (!is_enabled(function, algorithm, protocol, input)) cell.bandwidth = 0;
      }
    }
  }
  return table;
}

}  // namespace collsim
