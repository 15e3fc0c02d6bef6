#include "tools/collsim/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/call/memory_need.h"
#include "models/machine/resource_load.h"
#include "models/machine/resource_table.h"
#include "models/predict/predictor.h"
#include "sim/execution/effort.h"
#include "sim/execution/executor.h"
#include "sim/nccl/nccl_plan.h"

namespace collsim {

namespace {

constexpr std::size_t max_resources = 8;
constexpr double max_seconds_of_timeline = 2;
/// What NCCL does not choose is there to be compared with.
constexpr SimulationBudget of_others{.max_seconds = 0.2, .stop_seconds = 0.4};
constexpr std::uint32_t threads_per_warp = 32;

/// `known`: its time, where it is.
CandidateTime candidate_time(const CompiledCall& call, Predictor& others, const Candidate& pair,
                             bool considered, std::optional<Seconds> known) {
  const Nccl& nccl = *call.compiler->nccl();
  CandidateTime candidate;
  candidate.algorithm = pair.algorithm;
  candidate.protocol = pair.protocol;
  if (!considered) {
    candidate.why_not = nccl.why_not(*call.compiler->nccl_function(), pair.algorithm, pair.protocol)
                            .value_or("not considered");
    return candidate;
  }
  candidate.nccl_estimate = microseconds(pair.time);
  candidate.launch = nccl.launch(pair.algorithm, pair.protocol, call.size);
  if (const auto reason = why_no_nccl_plan(call.plan().collective, pair.algorithm)) {
    candidate.why_not = "not simulated";
  } else {
    candidate.simulated = known ? *known : others.predict(call.size, pair).time;
  }
  return candidate;
}

/// `others` predicts what is not chosen.
std::vector<CandidateTime> candidates_of(const CompiledCall& call, Seconds time_of_chosen,
                                         Predictor others) {
  std::vector<CandidateTime> candidates;
  if (!call.nccl_choice) return candidates;
  const CallCompiler& compiler = *call.compiler;
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    for (const Protocol protocol : all_nccl_protocols) {
      const auto time =
          compiler.nccl()->estimate(*compiler.nccl_function(), algorithm, protocol, call.size);
      const bool is_chosen = call.nccl_choice->algorithm == algorithm && call.protocol == protocol;
      CandidateTime candidate =
          candidate_time(call, others, {algorithm, protocol, time.value_or(0)}, time.has_value(),
                         is_chosen ? std::optional(time_of_chosen) : std::nullopt);
      candidate.chosen = is_chosen;
      candidates.push_back(std::move(candidate));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const CandidateTime& a, const CandidateTime& b) {
                     if (!a.nccl_estimate || !b.nccl_estimate)
                       return a.nccl_estimate.has_value() > b.nccl_estimate.has_value();
                     return *a.nccl_estimate < *b.nccl_estimate;
                   });
  return candidates;
}

CallShape shape_of(const CompiledCall& call, std::uint32_t channels) {
  CallShape shape;
  shape.channels = channels;
  shape.threads = call.warps * threads_per_warp;
  const DataPartition& partition = call.partition;
  shape.slices = partition.chunking().slices;
  shape.credits = partition.chunking().credits;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    shape.loops = std::max(shape.loops, partition.loops(channel));
    if (partition.loops(channel) == 0) continue;
    shape.chunk = std::max(shape.chunk, partition.chunk_bytes(channel, 0, {0, 1}));
  }
  shape.slice = partition.slice_bytes(shape.chunk, 0);
  return shape;
}

/// The connection by which the primitive of a record hears from a rank.
const Wire* wire_from(const CompiledCall& call, const TimelineRecord& record, Rank from) {
  const Schedule& schedule = call.plan().schedule(record.channel);
  const Primitive& primitive = schedule.program(record.rank, record.lane)[record.primitive];
  for (const ConnectionId id : schedule.peers(primitive.receive_group)) {
    if (schedule.connections()[id].src == from) return &call.wiring().wires[record.channel][id];
  }
  return nullptr;
}

/// The time between a record and what it waited for that is latency. Where a proxy carries the
/// message, its bytes are on the network for the rest of that time.
Seconds latency_before(const CompiledCall& call, const Timeline& timeline,
                       const TimelineRecord& record) {
  const TimelineRecord& before = timeline.records[record.caused_by];
  const Seconds gap = record.begin - before.end;
  if (record.cause != Cause::message) return {};
  const Wire* wire = wire_from(call, record, before.rank);
  if (wire == nullptr || wire->network.empty()) return gap;
  const ProtocolConstants& cost = call.cost().of(call.protocol);
  const Seconds alpha = wire->latency + message_alpha(cost, wire->kind, false);
  return std::min(gap, alpha + Seconds{proxy_time(call.cost().proxy, 0, INFINITY, {})});
}

/// What of the time of a floor's busiest resource is the launch: that of one channel, and of calls
/// in a row this call's part of it (predict() in models/call/prediction.cpp).
Seconds floor_launch_of(const CompiledCall& call) {
  const CallCompiler& compiler = *call.compiler;
  const Seconds launch = compiler.cost().startup(call.protocol, compiler.spec().collective, 1, 0);
  return (1.0 / compiler.calls()) * launch;
}

TimeShares shares_of(const CompiledCall& call, const Timeline& timeline, const CriticalPath& path,
                     const Prediction& prediction) {
  TimeShares shares;
  shares.launch = path.launch;
  shares.floor_launch = floor_launch_of(call);
  shares.serial = path.serial;
  for (const RecordId id : path.records) {
    const TimelineRecord& record = timeline.records[id];
    if (record.caused_by == no_record) continue;
    shares.latency += latency_before(call, timeline, record);
  }
  const Seconds transfer = prediction.time - shares.launch - shares.serial - shares.latency;
  const Seconds needed = prediction.floor.busiest_resource() - shares.floor_launch;
  shares.bandwidth = std::max(Seconds{}, std::min(transfer, needed));
  shares.rest = std::max(Seconds{}, transfer - shares.bandwidth);
  return shares;
}

std::vector<Station> stations_of(const Plan& plan, const Timeline& timeline,
                                 const CriticalPath& path) {
  std::vector<Station> stations;
  std::uint32_t lane = 0;
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> last_slice;
  for (const RecordId id : path.records) {
    const TimelineRecord& record = timeline.records[id];
    const Schedule& schedule = plan.schedule(record.channel);
    const Primitive& primitive = schedule.program(record.rank, record.lane)[record.primitive];
    const std::string phase(schedule.phase_name(static_cast<PhaseId>(primitive.phase)));
    const bool goes_on = !stations.empty() && record.cause == Cause::program_order &&
                         stations.back().participant == record.rank &&
                         stations.back().channel == record.channel && lane == record.lane &&
                         stations.back().phase == phase;
    if (!goes_on) {
      stations.push_back({record.rank, schedule.is_agent(record.rank),
                          participant_name(schedule, record.rank), record.channel, phase, 0,
                          Bytes{}, record.begin, record.end, record.cause});
    }
    lane = record.lane;
    Station& station = stations.back();
    station.end = record.end;
    station.bytes += record.bytes;
    // Pieces of one slice have a record each.
    const auto slice = std::tuple(record.loop, record.primitive, record.slice);
    if (goes_on && slice == last_slice) continue;
    last_slice = slice;
    ++station.slices;
  }
  return stations;
}

/// Adds a resource, or counts it where one with the same load and capacity is there.
void add_use(std::vector<ResourceUse>& uses, ResourceUse use) {
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(a); };
  const auto same = std::find_if(uses.begin(), uses.end(), [&](const ResourceUse& each) {
    return near(each.bytes, use.bytes) && near(each.capacity.value, use.capacity.value);
  });
  if (same != uses.end()) {
    ++same->alike;
  } else {
    uses.push_back(std::move(use));
  }
}

std::vector<ResourceUse> busiest_resources(const CompiledCall& call, Seconds time) {
  const Wiring& wiring = call.wiring();
  const ProtocolConstants& cost = call.cost().of(call.protocol);
  const ResourceLoad load = resource_load(call.plan(), call.partition, wiring, cost);
  std::vector<ResourceUse> links;
  for (std::size_t i = 0; i < load.resources.size(); ++i) {
    if (load.resources[i] == 0) continue;
    add_use(links, {resource_name(call.compiler->topology(), wiring.origins[i]), 1,
                    load.resources[i], wiring.capacities[i]});
  }
  std::vector<ResourceUse> thread_blocks;
  for (std::size_t channel = 0; channel < load.thread_blocks.size(); ++channel) {
    for (std::size_t rank = 0; rank < load.thread_blocks[channel].size(); ++rank) {
      const auto& [sent, busy] = load.thread_blocks[channel][rank];
      if (sent == 0 || busy.value == 0) continue;
      const Schedule& schedule = call.plan().schedule(static_cast<std::uint32_t>(channel));
      add_use(thread_blocks,
              {fmt::format("thread block of {}, channel {}",
                           participant_name(schedule, static_cast<Rank>(rank)), channel),
               1,
               sent,
               {sent / busy.value}});
    }
  }
  links.insert(links.end(), thread_blocks.begin(), thread_blocks.end());
  for (ResourceUse& use : links) use.utilisation = use.bytes / use.capacity.value / time.value;
  std::stable_sort(links.begin(), links.end(), [](const ResourceUse& a, const ResourceUse& b) {
    return a.utilisation > b.utilisation;
  });
  links.resize(std::min(links.size(), max_resources));
  return links;
}

/// Of the record that is kept of every slice, at the sender and at the receiver.
void require_memory_of(const Execution& execution) {
  const double records = 2 * effort_of(execution).whole;
  require_memory(records * sizeof(TimelineRecord),
                 fmt::format("explaining a call of about {:.3g} slices", records / 2),
                 "a smaller size (-b), fewer ranks (-n), or `collsim run`");
}

/// Shares of another call, which takes `own_time`, as those of the whole, which takes `time`. Ranks
/// add to all but the launch; bytes add neither to latency nor to the filling of pipelines.
TimeShares scaled_to(TimeShares shares, Seconds own_time, Seconds time, bool has_all_bytes) {
  Seconds fixed = shares.launch;
  std::vector<Seconds*> growing{&shares.serial, &shares.bandwidth};
  for (Seconds* const share : {&shares.latency, &shares.rest}) {
    if (has_all_bytes) {
      growing.push_back(share);
    } else {
      fixed += *share;
    }
  }
  const double scale = (time - fixed).value / (own_time - fixed).value;
  for (Seconds* const share : growing) *share = scale * *share;
  return shares;
}

/// Calls the ranks of a small cluster as the whole does.
void name_as_in(const CallSpec& whole, const CallSpec& small, std::vector<Station>& stations) {
  for (Station& station : stations) {
    if (station.is_switch) continue;
    const auto gpu =
        std::find(whole.gpus.begin(), whole.gpus.end(), small.gpus[station.participant]);
    station.participant = static_cast<Rank>(gpu - whole.gpus.begin());
    station.name = fmt::format("rank {}", station.participant);
  }
}

/// The path, the stations and the shares, of one call that stands for the whole.
void explain_by_timeline(const RepresentativeCall& representative, const CompiledCall& whole,
                         Engine engine, Explanation& explanation) {
  const CompiledCall& call = representative.call;
  const double part = representative.part;
  const bool is_small = &representative.compiler != whole.compiler || part < 1;
  const auto fabric = make_fabric(engine);
  Timeline timeline;
  Execution execution = execution_of(call);
  execution.calls = 1;
  require_memory_of(execution);
  Prediction own = is_small ? outline(call) : explanation.prediction;
  const Seconds time = execute(execution, *fabric, &timeline).time;
  if (is_small) own.time = time;
  explanation.timeline_ranks = representative.compiler.ranks();
  explanation.timeline_part = part;
  explanation.timeline_time = own.time;
  explanation.path = critical_path(timeline, execution.startup());
  explanation.shares = shares_of(call, timeline, explanation.path, own);
  explanation.stations = stations_of(call.plan(), timeline, explanation.path);
  if (!is_small) return;
  explanation.shares =
      scaled_to(explanation.shares, own.time, explanation.prediction.time, part == 1);
  name_as_in(whole.compiler->spec(), representative.compiler.spec(), explanation.stations);
}

/// The ranks that each rank hears from in a channel's ring or tree.
std::vector<std::set<Rank>> neighbours(const NcclChannel& channel) {
  std::vector<std::set<Rank>> peers(channel.ring.size());
  Rank before = channel.ring.back();
  for (const Rank rank : channel.ring) {
    peers[rank].insert(before);
    before = rank;
  }
  for (Rank rank = 0; rank < channel.tree.size(); ++rank) {
    const auto& parent = channel.tree.parent[rank];
    if (!parent) continue;
    peers[*parent].insert(rank);
    peers[rank].insert(*parent);
  }
  return peers;
}

}  // namespace

std::optional<BufferMemory> buffer_memory(const CallCompiler& compiler) {
  if (compiler.nccl() == nullptr) return std::nullopt;
  const auto& channels = compiler.nccl()->channels().channels;
  BufferMemory memory;
  memory.channels = static_cast<std::uint32_t>(channels.size());
  memory.buffers = compiler.nccl()->environment().buffer_size;
  std::vector<std::uint32_t> connections(compiler.ranks());
  for (const NcclChannel& channel : channels) {
    const auto peers = neighbours(channel);
    for (Rank rank = 0; rank < compiler.ranks(); ++rank) {
      connections[rank] += static_cast<std::uint32_t>(peers[rank].size());
    }
  }
  memory.connections = *std::max_element(connections.begin(), connections.end());
  for (const Bytes buffer : memory.buffers) memory.total += memory.connections * buffer;
  return memory;
}

Explanation explain(const CallCompiler& compiler, Bytes size, Engine engine) {
  Method method = by_simulation();
  method.simulation.engine = engine;
  Predictor predictor(compiler, method);
  const CompiledCall call = predictor.compiler().plan(size);
  Explanation explanation;
  explanation.prediction = predictor.predict(size);
  method.budget = of_others;
  explanation.candidates =
      candidates_of(call, explanation.prediction.time, predictor.by(std::move(method)));
  explanation.shape = shape_of(call, explanation.prediction.channels);
  explain_by_timeline(predictor.representative(size, max_seconds_of_timeline), call, engine,
                      explanation);
  explanation.busiest = busiest_resources(call, explanation.prediction.time);
  explanation.memory = buffer_memory(compiler);
  return explanation;
}

}  // namespace collsim
