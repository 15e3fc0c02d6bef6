#include "models/nccl/tuning/tuning_constants.h"

namespace collsim {

namespace {

using Latencies = PerAlgorithm<PerProtocol<double>>;

// NCCL 2.30 src/graph/tuning.cc. Rows: Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree,
// PAT; columns: LL, LL128, Simple.
constexpr Latencies base_latency{{{6.8, 14.0, 8.4},
                                  {6.6, 14.0, 8.4},
                                  {0, 0, 0},
                                  {0, 0, 0},
                                  {0, 0, 0},
                                  {0, 0, 0},
                                  {8.0, 8.0, 8.0}}};
constexpr Latencies nvlink_hop{{{0.6, 1.25, 4.0},
                                {0.6, 1.9, 3.4},
                                {0, 0, 3.7},
                                {0, 0, 2.8},
                                {0, 0, 25},
                                {0, 0, 25},
                                {0, 0, 4.0}}};
constexpr Latencies pci_hop{{{1.0, 1.9, 4.0},
                             {1.0, 2.5, 5.7},
                             {0, 0, 3.7},
                             {0, 0, 2.8},
                             {0, 0, 0},
                             {0, 0, 0},
                             {0, 0, 4.0}}};
constexpr Latencies network_hop{{{5.0, 8.5, 14.0},
                                 {2.7, 4.0, 14.0},
                                 {0, 0, 31},
                                 {0, 0, 30},
                                 {0, 0, 18},
                                 {0, 0, 20.9},
                                 {0, 0, 14}}};

constexpr TuningConstants newest() {
  TuningConstants constants{};
  constants.base_latency = base_latency;
  constants.hop_latency = {nvlink_hop, pci_hop, network_hop};
  constants.ll_most = {{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141, 45, 35}, {282, 90, 70}}};
  constants.ring_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
  constants.tree_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  constants.tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  constants.nvls_tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
  constants.nvls_efficiency = {0, 0, 0.85, 0.74};
  return constants;
}

constexpr double& simple(Latencies& latencies, NcclAlgorithm algorithm) {
  return latencies[index_of(algorithm)][index_of(Protocol::simple)];
}

void set_tree_simple(TuningConstants& constants, double base, double nvlink, double pci,
                     double network) {
  simple(constants.base_latency, NcclAlgorithm::tree) = base;
  simple(constants.hop_latency[TuningConstants::nvlink], NcclAlgorithm::tree) = nvlink;
  simple(constants.hop_latency[TuningConstants::pci], NcclAlgorithm::tree) = pci;
  simple(constants.hop_latency[TuningConstants::network], NcclAlgorithm::tree) = network;
}

/// Before it was measured, Blackwell was taken to be two Hoppers.
void double_hopper(TuningConstants::ByArchitecture& table) {
  for (std::size_t i = 0; i < 3; ++i) {
    table[TuningConstants::blackwell][i] = 2 * table[TuningConstants::hopper][i];
  }
}

}  // namespace

TuningConstants tuning_constants(NcclVersion version) {
  TuningConstants constants = newest();
  auto& network = constants.hop_latency[TuningConstants::network];
  auto& nvlink = constants.hop_latency[TuningConstants::nvlink];
  if (version < NcclVersion{2, 29}) simple(network, NcclAlgorithm::nvls_tree) = 14.0;
  if (version < NcclVersion{2, 29}) {
    constants.ring_ll128_most[TuningConstants::blackwell] = {73.4, 73.4, 73.4};
    constants.nvls_tree_most[TuningConstants::blackwell] = {0, 96, 43.1};
  }
  if (version < NcclVersion{2, 28}) {
    for (auto* table : {&constants.tree_ll128_most, &constants.tree_most}) double_hopper(*table);
  }
  if (version < NcclVersion{2, 24}) constants.pat_share = 0.85;
  if (version < NcclVersion{2, 23}) {
    set_tree_simple(constants, 0, 28, 28, 28);
    constants.ring_ll128_share_one_gpu = 0.7;
  }
  if (version < NcclVersion{2, 21}) {
    constants.ring_ll_share = 1.0 / 4.0;
    constants.ring_ll_share_one_node = 1.0 / 3.0;
    constants.ll_most[TuningConstants::hopper] = constants.ll_most[TuningConstants::ampere];
    for (const NcclAlgorithm each : {NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree}) {
      simple(nvlink, each) = 23.0;
    }
  }
  if (version < NcclVersion{2, 19}) {
    set_tree_simple(constants, 0, 4, 6, 14);
    simple(network, NcclAlgorithm::nvls_tree) = 19.0;
  }
  return constants;
}

double tree_correction(Protocol protocol, int log2_of_size_over_64) {
  // NCCL src/graph/tuning.cc.
  static constexpr PerProtocol<std::array<double, 24>> table{
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
       {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
       {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
        .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
  const auto& row = table[index_of(protocol)];
  if (log2_of_size_over_64 < 0 || static_cast<std::size_t>(log2_of_size_over_64) >= row.size()) {
    return 1;
  }
  return row[static_cast<std::size_t>(log2_of_size_over_64)];
}

}  // namespace collsim
