#include "models/nccl/launch_size.h"

#include <algorithm>
#include <set>

#include "models/nccl/system/link_bandwidth.h"

namespace collsim {

namespace {

constexpr std::uint32_t warp = 32;
constexpr std::uint32_t min_threads = 3 * warp;
constexpr std::uint32_t threads_of_long_kernels = 640;
constexpr std::uint32_t threads_at_most = 512;
constexpr std::uint32_t threads_on_slow_rings = 256;

std::uint32_t collnet_heads(const NcclGraphs& graphs) {
  std::set<std::uint32_t> heads;
  for (const GraphChannel& channel : graphs.collnet_direct.channels) {
    heads.insert(channel.gpus.front());
  }
  return static_cast<std::uint32_t>(heads.size());
}

/// CollNetDirect gives up channels in stages, each time asking for less per thread.
std::uint32_t collnet_channels(std::int64_t size, std::uint32_t channels, std::uint32_t threads,
                               std::int64_t& threshold, std::uint32_t heads) {
  bool too_many = true;
  for (std::uint32_t stage = 16; stage >= 1 && too_many; stage /= 2) {
    const auto wants = [&] { return size < std::int64_t{channels} * threads * heads * threshold; };
    while ((too_many = wants()) && channels > stage) {
      if (channels == stage + stage / 2) threshold /= 2;
      --channels;
    }
  }
  return channels;
}

}  // namespace

std::uint32_t max_threads(NcclAlgorithm algorithm, Protocol protocol, const LaunchInput& input) {
  if (algorithm != NcclAlgorithm::tree && algorithm != NcclAlgorithm::ring) {
    return protocol == Protocol::simple ? threads_of_long_kernels : 0;
  }
  if (protocol == Protocol::ll128) {
    return input.environment->ll128_threads.value_or(threads_of_long_kernels);
  }
  const NcclGraph& ring = input.graphs->ring;
  const bool slow =
      input.version < NcclVersion{2, 31} && protocol == Protocol::simple &&
      algorithm == NcclAlgorithm::ring &&
      ring.intra_bandwidth * static_cast<float>(ring.channel_count()) <= pci_gen3_bandwidth;
  return input.environment->threads.value_or(slow ? threads_on_slow_rings : threads_at_most);
}

std::int64_t thread_threshold(NcclAlgorithm algorithm, Protocol protocol,
                              const LaunchInput& input) {
  if (algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::ring) {
    const auto& asked = input.environment->thread_thresholds[index_of(algorithm)];
    if (asked[index_of(protocol)]) return *asked[index_of(protocol)];
  }
  if (protocol == Protocol::simple) {
    const bool collnet =
        algorithm == NcclAlgorithm::collnet_direct || algorithm == NcclAlgorithm::collnet_chain;
    return collnet ? 512 : 64;
  }
  const bool ring_ll = algorithm == NcclAlgorithm::ring && protocol == Protocol::ll;
  return ring_ll ? 8 * std::int64_t{input.ranks} : 8;
}

LaunchSize launch_size(NcclAlgorithm algorithm, Protocol protocol, Bytes size,
                       const LaunchInput& input) {
  std::uint32_t channels = input.channels;
  std::uint32_t threads = max_threads(algorithm, protocol, input);
  if (algorithm == NcclAlgorithm::pat) threads = threads_at_most;
  std::int64_t threshold = thread_threshold(algorithm, protocol, input);
  const auto too_many = [&] { return size.count < std::int64_t{channels} * threads * threshold; };
  if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree) {
    return {input.nvls_channels, threads};
  }
  if (algorithm == NcclAlgorithm::collnet_direct) {
    channels =
        collnet_channels(size.count, channels, threads, threshold, collnet_heads(*input.graphs));
  } else {
    while (channels >= 2 && too_many()) --channels;
  }
  while (threads % (4 * warp) == 0 && too_many()) threads /= 2;
  if (protocol == Protocol::simple && algorithm == NcclAlgorithm::ring) threads += warp;
  threads = std::max(threads, min_threads);
  if (algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::pat) {
    threads = threads_of_long_kernels;
  }
  return {channels, threads};
}

}  // namespace collsim
