#include "models/machine/host_memory.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace collsim {

double cached_share(double footprint, Bytes cache) {
  assert(cache.count > 0);
  const double fills = footprint / static_cast<double>(cache.count);
  if (fills <= 1) return 1;
  // The missed share m solves m = 1 - exp(-fills m), above log(fills) / fills.
  double low = std::log(fills) / fills;
  double high = 1;
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (middle < -std::expm1(-fills * middle) ? low : high) = middle;
  }
  return 1 - high;
}

namespace {

/// Numbers what hops share as they come to use it.
class ShareTable {
 public:
  explicit ShareTable(Wiring& wiring) : wiring_(wiring) {}

  ResourceId of(HostShare share, std::uint32_t id, BytesPerSecond nominal) {
    const auto [found, added] =
        numbers_.emplace(std::pair(share, id), static_cast<ResourceId>(wiring_.nominal.size()));
    if (added) {
      wiring_.nominal.push_back(nominal);
      wiring_.kinds.emplace_back();
      wiring_.origins.push_back({true, id, share});
    }
    return found->second;
  }

 private:
  Wiring& wiring_;
  std::map<std::pair<HostShare, std::uint32_t>, ResourceId> numbers_;
};

/// What a hop through host memory shares with others beyond the links on its way: of each PCIe
/// link, what it carries both ways if it is a GPU's, else what it carries this way. A hop that
/// crosses a switch's link twice, up and down, loads either way.
std::vector<ResourceId> shares_of(const Wire& wire, const Wiring& wiring, const Topology& topology,
                                  ShareTable& table) {
  std::vector<ResourceId> shares;
  for (const ResourceId resource : wire.resources) {
    if (wiring.kinds[resource] != LinkKind::pcie || wiring.origins[resource].shared) continue;
    const LinkId id = wiring.origins[resource].id;
    const Link link = topology.link(id);
    const auto is_gpu = [&](DeviceId end) { return topology.device(end).kind == DeviceKind::gpu; };
    if (is_gpu(link.from) || is_gpu(link.to)) {
      const BytesPerSecond both_ways = 2 * link.bandwidth;
      shares.push_back(
          table.of(HostShare::gpu, is_gpu(link.from) ? link.from : link.to, both_ways));
    } else {
      shares.push_back(table.of(HostShare::link, id, link.bandwidth));
    }
  }
  return shares;
}

/// The memory in which a connection has its buffer, if it goes through one that was measured.
std::optional<ResourceId> memory_of(const Wire& wire, const Wiring& wiring) {
  for (const ResourceId resource : wire.resources) {
    if (wiring.origins[resource].host == HostShare::memory) return resource;
  }
  return std::nullopt;
}

/// Data of the largest slice that each connection of a channel carries. The first loop has it.
std::vector<Bytes> largest_slices(const Plan& plan, const DataPartition& partition,
                                  std::uint32_t channel) {
  const Schedule& schedule = plan.schedule(channel);
  std::vector<Bytes> largest(schedule.connections().size());
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      for (const Primitive& primitive : schedule.program(rank, lane)) {
        if (!sends(primitive.kind)) continue;
        const Bytes chunk = partition.chunk_bytes(channel, 0, primitive.chunks());
        const Bytes slice = partition.slice_bytes(chunk, 0);
        for (const ConnectionId peer : schedule.peers(primitive.send_group)) {
          largest[peer] = std::max(largest[peer], slice);
        }
      }
    }
  }
  return largest;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Chunks that a rank sends in one loop of a channel, and those of them in turn with receives.
struct SentChunks {
  double all = 0;
  double in_turn = 0;
};

SentChunks sent_chunks(const Schedule& schedule, Rank rank) {
  SentChunks sent;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    double only_sent = 0;
    double only_received = 0;
    for (const Run& run : schedule.program(rank, lane).runs()) {
      const double chunks = static_cast<double>(run.repeats) * run.first.chunk_count;
      if (sends(run.first.kind)) sent.all += chunks;
      if (!receives(run.first.kind)) only_sent += chunks;
      if (!sends(run.first.kind)) only_received += chunks;
    }
    sent.in_turn += std::min(only_sent, only_received);
  }
  return sent;
}

std::vector<double> shares_in_turn(const Plan& plan, const DataPartition& partition,
                                   std::size_t ranks) {
  std::vector<double> shares;
  for (Rank rank = 0; rank < ranks; ++rank) shares.push_back(share_in_turn(plan, partition, rank));
  return shares;
}

}  // namespace

std::map<ResourceId, Bytes> host_footprints(const Wiring& wiring, const Plan& plan,
                                            const DataPartition& partition, Protocol protocol) {
  std::map<ResourceId, Bytes> bytes;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    if (partition.loops(channel) == 0) continue;
    const std::vector<Bytes> slices = largest_slices(plan, partition, channel);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const auto memory = memory_of(wiring.wires[channel][i], wiring);
      if (!memory) continue;
      const double slot = bytes_per_byte(protocol) * static_cast<double>(slices[i].count);
      bytes[*memory] += {partition.chunking().credits * static_cast<std::int64_t>(slot)};
    }
  }
  return bytes;
}

BytesPerSecond memory_rate(const MemoryConstants& cost, Bytes footprint) {
  const double cached = cached_share(static_cast<double>(footprint.count), cost.cache);
  return {1 / (cached / cost.cached.value + (1 - cached) / cost.rate.value)};
}

double both_ways_share(const MemoryConstants& cost, double in_turn) {
  const double worst = std::min(cost.in_turn, cost.at_once);  // where the file says nothing of it
  return 1 / (in_turn / worst + (1 - in_turn) / cost.at_once);
}

double share_in_turn(const Plan& plan, const DataPartition& partition, Rank rank) {
  SentChunks sent;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    if (partition.loops(channel) == 0) continue;
    const SentChunks own = sent_chunks(plan.schedule(channel), rank);
    sent.all += own.all;
    sent.in_turn += own.in_turn;
  }
  return sent.all == 0 ? 0 : sent.in_turn / sent.all;
}

void load_host_memory(Wiring& wiring, const Plan& plan, const Topology& topology,
                      std::span<const DeviceId> gpus, const HopRules& rules) {
  if (!rules.through_host_memory) return;
  ShareTable table(wiring);
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    const auto connections = schedule.connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      const auto& [src, dst, lane] = connections[i];
      if (schedule.is_agent(src) || schedule.is_agent(dst)) continue;
      if (!rules.through_host_memory(src, dst)) continue;
      const auto node = static_cast<std::uint32_t>(topology.node_of(gpus[dst]));
      Wire& wire = wiring.wires[channel][i];
      const std::vector<ResourceId> shares = shares_of(wire, wiring, topology, table);
      wire.resources.push_back(table.of(HostShare::memory, node, unlimited));
      wire.resources.insert(wire.resources.end(), shares.begin(), shares.end());
    }
  }
}

bool loads_host_memory(const Wiring& wiring) {
  return std::any_of(wiring.origins.begin(), wiring.origins.end(),
                     [](const ResourceOrigin& origin) { return origin.host.has_value(); });
}

void set_host_memory(Wiring& wiring, const Plan& plan, const DataPartition& partition,
                     std::span<const DeviceId> gpus, Protocol protocol, const Calibration& cost) {
  for (const auto& [memory, footprint] : host_footprints(wiring, plan, partition, protocol)) {
    wiring.capacities[memory] = memory_rate(cost.memory, footprint);
  }
  const std::vector<double> in_turn = shares_in_turn(plan, partition, gpus.size());
  for (ResourceId resource = 0; resource < wiring.origins.size(); ++resource) {
    const ResourceOrigin& origin = wiring.origins[resource];
    if (!origin.host || origin.host == HostShare::memory) continue;
    const auto gpu = std::find(gpus.begin(), gpus.end(), origin.id);
    const bool is_ranks = origin.host == HostShare::gpu && gpu != gpus.end();
    const double share = both_ways_share(
        cost.memory,
        is_ranks ? in_turn[static_cast<std::size_t>(gpu - gpus.begin())] : mean_of(in_turn));
    wiring.capacities[resource] = share * wiring.nominal[resource];
  }
}

}  // namespace collsim
