#include "models/machine/resource_load.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sim/execution/thread_block_cost.h"

namespace collsim {

namespace {

/// Bytes of the chunks of one channel in all loops. All are whole numbers, so that no sum of them
/// is rounded.
class ChunkBytes {
 public:
  explicit ChunkBytes(const std::vector<double>& of_chunk)
      : chunks_(static_cast<std::uint32_t>(of_chunk.size())) {
    for (std::size_t i = 0; i < 2 * of_chunk.size(); ++i) {
      before_.push_back(before_.back() + of_chunk[i % of_chunk.size()]);
    }
  }

  /// Of all chunks of a run.
  double of_run(const Run& run) const {
    if (const auto window = window_of(run, chunks_)) {
      return before_[window->begin + run.repeats] - before_[window->begin];
    }
    double bytes = 0;
    for (std::uint32_t i = 0; i < run.repeats; ++i) {
      const std::uint32_t first = run.at(i, chunks_).first_chunk;
      bytes += before_[first + run.first.chunk_count] - before_[first];
    }
    return bytes;
  }

 private:
  std::uint32_t chunks_;
  std::vector<double> before_{0};  // by chunk, twice around: of those before it
};

ChunkBytes chunk_bytes(const Schedule& schedule, const DataPartition& partition,
                       std::uint32_t channel) {
  std::vector<double> bytes(schedule.chunks());
  for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
    for (std::uint32_t loop = 0; loop < partition.loops(channel); ++loop) {
      const Bytes once = partition.chunk_bytes(channel, loop, {chunk, 1});
      bytes[chunk] += static_cast<double>(once.count);
    }
  }
  return ChunkBytes(bytes);
}

/// What the call puts on one channel.
struct ChannelLoad {
  std::vector<double> connections;  ///< bytes of data
  std::vector<Seconds> busy;        ///< by rank: of its thread block
};

ChannelLoad channel_load(const Schedule& schedule, const DataPartition& partition,
                         std::uint32_t channel, const ProtocolConstants& cost) {
  const ChunkBytes of_chunk = chunk_bytes(schedule, partition, channel);
  ChannelLoad load{std::vector<double>(schedule.connections().size()),
                   std::vector<Seconds>(schedule.ranks())};
  for_each_program(schedule, [&](Rank rank, std::uint32_t, const Program& program) {
    for (const Run& run : program.runs()) {
      const Primitive& primitive = run.first;
      const double moved = of_chunk.of_run(run);
      if (rank < schedule.ranks()) {
        const BytesPerSecond rate = block_rate(cost, operations_of(schedule, primitive));
        load.busy[rank] += Seconds{cost.wire_factor * moved / rate.value};
      }
      if (!sends(primitive.kind)) continue;
      for (const ConnectionId peer : schedule.peers(primitive.send_group)) {
        load.connections[peer] += moved;
      }
    }
  });
  return load;
}

}  // namespace

ResourceLoad resource_load(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
                           const ProtocolConstants& cost) {
  ResourceLoad load;
  load.resources.resize(wiring.capacities.size());
  std::map<std::uint32_t, std::pair<std::uint32_t, ChannelLoad>> known;  // by schedule
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    auto& [other, once] = known[plan.schedule_of_channel[channel]];
    if (once.busy.empty() || !partition.alike(channel, other)) {
      other = channel;
      once = channel_load(schedule, partition, channel, cost);
    }
    const std::vector<double>& bytes = once.connections;
    std::vector<ThreadBlockLoad> blocks(schedule.ranks());
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) blocks[rank].busy = once.busy[rank];
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double on_wire = cost.wire_factor * bytes[i];
      const Rank sender = schedule.connections()[i].src;
      if (!schedule.is_agent(sender)) blocks[sender].sent += on_wire;
      const Wire& wire = wiring.wires[channel][i];
      for (const ResourceId resource : wire.resources) load.resources[resource] += on_wire;
      for (const ResourceId resource : wire.network) load.resources[resource] += on_wire;
    }
    load.thread_blocks.push_back(std::move(blocks));
  }
  return load;
}

}  // namespace collsim
