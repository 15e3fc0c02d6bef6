#include "sim/execution/execution_hash.h"

#include <bit>
#include <cstddef>
#include <optional>

#include "sim/base/scramble.h"
#include "sim/cost/cost_hash.h"

namespace collsim {

namespace {

class ExecutionHash {
 public:
  void add(std::uint64_t value) { hash_ = scramble(hash_ ^ scramble(value)); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(Bytes bytes) { add(static_cast<std::uint64_t>(bytes.count)); }
  void add(const Plan& plan);
  void add(const Schedule& schedule);
  void add(const Plan& plan, const DataPartition& partition);
  void add(const Wiring& wiring);
  void add(const Wire& wire);
  void add(const MachineEvents& events);
  std::uint64_t value() const { return hash_; }

 private:
  void add_sizes(const DataPartition& partition, std::uint32_t channel, std::uint32_t chunks);

  std::uint64_t hash_ = 0;
};

void ExecutionHash::add(const Plan& plan) {
  add(static_cast<std::uint64_t>(plan.collective));
  add(std::uint64_t{plan.root});
  add(std::uint64_t{plan.channels_divide_chunks} + 2 * std::uint64_t{plan.several_peers});
  add(std::uint64_t{plan.min_credits});
  add(std::uint64_t{plan.schedules.size()});
  for (const Schedule& schedule : plan.schedules) add(schedule);
  for (const std::uint32_t schedule : plan.schedule_of_channel) add(std::uint64_t{schedule});
}

void ExecutionHash::add(const Schedule& schedule) {
  add(std::uint64_t{schedule.ranks()});
  for (const SwitchReducer agent : schedule.agents()) add(static_cast<std::uint64_t>(agent));
  add(std::uint64_t{schedule.lanes()});
  add(std::uint64_t{schedule.chunks()});
  for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
    add(std::uint64_t{program.runs().size()});
    for (const Run& run : program.runs()) {
      const Primitive& first = run.first;
      add(std::uint64_t{first.first_chunk} << 32U | first.chunk_count);
      add(std::uint64_t{first.receive_group} << 32U | first.send_group);
      add(static_cast<std::uint64_t>(first.kind));
      add(std::uint64_t{run.repeats} << 32U | run.chunk_stride);
    }
  });
  for (const Connection& connection : schedule.connections()) {
    add(std::uint64_t{connection.src} << 32U | connection.dst);
    add(std::uint64_t{connection.lane});
  }
  for (PeerGroupId group = 0; group < schedule.groups(); ++group) {
    add(std::uint64_t{schedule.peers(group).size()});
    for (const ConnectionId peer : schedule.peers(group)) add(std::uint64_t{peer});
  }
}

void ExecutionHash::add(const Plan& plan, const DataPartition& partition) {
  const Chunking& chunking = partition.chunking();
  add(partition.size());
  add(std::uint64_t{partition.is_nccl()});
  add(std::uint64_t{chunking.slices} << 32U | chunking.credits);
  for (const Bytes bytes : {chunking.largest_chunk, chunking.smallest_slice, chunking.slice_unit}) {
    add(bytes);
  }
  add(std::uint64_t{partition.channels()});
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    const std::uint32_t chunks = plan.schedule(channel).chunks();
    const bool is_like_last = channel > 0 && partition.alike(channel, channel - 1) &&
                              plan.schedule(channel - 1).chunks() == chunks;
    add(std::uint64_t{is_like_last});
    if (!is_like_last) add_sizes(partition, channel, chunks);
  }
}

/// Of every chunk, of loops that are cut alike once.
void ExecutionHash::add_sizes(const DataPartition& partition, std::uint32_t channel,
                              std::uint32_t chunks) {
  const std::uint32_t loops = partition.loops(channel);
  add(std::uint64_t{loops});
  for (std::uint32_t loop = 0; loop < loops; loop = partition.alike_until(channel, loop)) {
    add(std::uint64_t{loop});
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      add(partition.chunk_bytes(channel, loop, {chunk, 1}));
    }
  }
}

void ExecutionHash::add(const Wiring& wiring) {
  for (const BytesPerSecond capacity : wiring.capacities) add(capacity.value);
  for (const std::optional<LinkKind>& kind : wiring.kinds) {
    add(kind ? 1 + static_cast<std::uint64_t>(*kind) : 0);
  }
  for (const Burst& burst : wiring.bursts) {
    add(burst.size);
    add(burst.peak.value);
  }
  for (const auto& wires : wiring.wires) {
    add(std::uint64_t{wires.size()});
    for (const Wire& wire : wires) add(wire);
  }
}

void ExecutionHash::add(const Wire& wire) {
  add(wire.latency.value);
  add(static_cast<std::uint64_t>(wire.kind));
  for (const auto* const list : {&wire.resources, &wire.network}) {
    add(std::uint64_t{list->size()});
    for (const ResourceId resource : *list) add(std::uint64_t{resource});
  }
}

void ExecutionHash::add(const MachineEvents& events) {
  for (const MachineChange& change : events.changes) {
    add(change.at.value);
    for (const CapacityChange& each : change.capacities) {
      add(std::uint64_t{each.resource});
      add(each.capacity.value);
    }
    for (const WireChange& each : change.wires) {
      add(std::uint64_t{each.channel} << 32U | each.connection);
      add(each.wire);
      add(std::uint64_t{each.moves});
      add(each.jitter.value);
    }
  }
  add(std::uint64_t{events.late.size()});
  for (const Seconds late : events.late) add(late.value);
  for (const double speed : events.speed) add(speed);
  add(events.seed);
}

}  // namespace

std::uint64_t hash_of(const Execution& execution) {
  ExecutionHash hash;
  hash.add(execution.plan);
  hash.add(execution.plan, execution.partition);
  hash.add(execution.wiring);
  hash.add(hash_of(execution.cost));
  hash.add(static_cast<std::uint64_t>(execution.protocol));
  hash.add(std::uint64_t{execution.warps} << 32U | execution.calls);
  hash.add(std::uint64_t{execution.steady} + 2 * std::uint64_t{execution.fold});
  if (execution.events != nullptr) hash.add(*execution.events);
  return hash.value();
}

}  // namespace collsim
