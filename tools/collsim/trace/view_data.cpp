#include "tools/collsim/trace/view_data.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "models/machine/resource_table.h"
#include "sim/base/division.h"
#include "sim/base/json_text.h"
#include "sim/plan/plan.h"
#include "sim/plan/steps.h"
#include "tools/collsim/trace/stored_sums.h"
#include "tools/collsim/trace/trace_counters.h"

namespace collsim {

namespace {

using nlohmann::ordered_json;

/// Transfers of all schedules that a page holds at most: beyond, it would grow by more than 1 MB.
constexpr std::size_t max_transfers = 30'000;

ordered_json transfer_row(const StepTransfer& transfer) {
  constexpr unsigned half = 32;
  ordered_json row{transfer.from,         transfer.to,           transfer.lane,
                   transfer.chunks.first, transfer.chunks.count, transfer.reduce ? 1 : 0};
  for (const Contributions& whose : transfer.whose) {
    row.push_back(static_cast<std::uint32_t>(whose.bits));
    row.push_back(static_cast<std::uint32_t>(whose.bits >> half));
  }
  return row;
}

ordered_json step_rows(const std::vector<Step>& steps) {
  ordered_json rows = ordered_json::array();
  for (const Step& step : steps) {
    ordered_json transfers = ordered_json::array();
    for (const StepTransfer& transfer : step.transfers) transfers.push_back(transfer_row(transfer));
    rows.push_back({{"phase", step.phase}, {"transfers", std::move(transfers)}});
  }
  return rows;
}

/// The steps of every schedule of a plan, as a textbook shows them (replay_steps()), for the page
/// that draws an algorithm: [{"steps": [{"phase", "transfers": [[from, to, lane, first
/// chunk, chunks, whether it is added, low and high half of the contributions in each chunk]]}]}].
/// A schedule has null instead where the plan has more than max_replayed_ranks ranks, or where
/// those before it have filled what a page may hold.
ordered_json steps_of_schedules(const Plan& plan) {
  ordered_json schedules = ordered_json::array();
  std::size_t transfers = 0;
  for (std::uint32_t s = 0; s < plan.schedules.size(); ++s) {
    schedules.push_back(nullptr);
    const auto& of_channel = plan.schedule_of_channel;
    const auto channel = std::find(of_channel.begin(), of_channel.end(), s);
    if (plan.ranks() > max_replayed_ranks || channel == of_channel.end()) continue;
    if (transfers > max_transfers) continue;
    const auto steps = replay_steps(plan, static_cast<std::uint32_t>(channel - of_channel.begin()));
    for (const Step& step : steps) transfers += step.transfers.size();
    if (transfers <= max_transfers) schedules.back() = {{"steps", step_rows(steps)}};
  }
  return schedules;
}

using nlohmann::ordered_json;

/// Links whose utilisation a page shows at most.
constexpr std::size_t max_links = 256;
constexpr std::size_t alignment = 8;

/// The arrays of a page, one behind the other.
class ArrayStore {
 public:
  /// Adds an array, and says in JSON where it is.
  template <typename Number>
  ordered_json add(const char* type, const std::vector<Number>& numbers) {
    ordered_json where{{"type", type}, {"at", bytes_.size()}, {"length", numbers.size()}};
    const auto* const begin = reinterpret_cast<const char*>(numbers.data());
    bytes_.append(begin, numbers.size() * sizeof(Number));
    pad(bytes_);
    return where;
  }
  ordered_json add(const std::vector<double>& numbers) { return add("f64", numbers); }
  ordered_json add(const std::vector<std::uint32_t>& numbers) { return add("u32", numbers); }

  static void pad(std::string& text) { text.resize(divide_up(text.size(), alignment) * alignment); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

ordered_json records_of(const CallTrace& trace, ArrayStore& arrays) {
  std::vector<double> begin;
  std::vector<double> moving;
  std::vector<double> end;
  std::vector<double> over;
  std::vector<double> bytes;
  // thread, primitive's kind, cause, record that caused it, loop, step, slice, first chunk, chunks
  constexpr std::size_t columns = 9;
  std::vector<std::vector<std::uint32_t>> numbers(columns);
  for (RecordId id = 0; id < trace.timeline.records.size(); ++id) {
    const TimelineRecord& record = trace.timeline.records[id];
    const Primitive primitive = primitive_of(trace, record);
    begin.push_back(in_microseconds(record.begin));
    moving.push_back(in_microseconds(record.moving));
    end.push_back(in_microseconds(record.end));
    over.push_back(in_microseconds(record.over));
    bytes.push_back(static_cast<double>(record.bytes.count));
    const std::array<std::uint32_t, columns> row{trace.thread_of[id],
                                                 static_cast<std::uint32_t>(primitive.kind),
                                                 static_cast<std::uint32_t>(record.cause),
                                                 record.caused_by,
                                                 record.loop,
                                                 record.primitive,
                                                 record.slice,
                                                 primitive.first_chunk,
                                                 primitive.chunk_count};
    for (std::size_t i = 0; i < columns; ++i) numbers[i].push_back(row[i]);
  }
  return {{"begin", arrays.add(begin)},
          {"moving", arrays.add(moving)},
          {"end", arrays.add(end)},
          {"over", arrays.add(over)},
          {"bytes", arrays.add(bytes)},
          {"thread", arrays.add(numbers[0])},
          {"kind", arrays.add(numbers[1])},
          {"cause", arrays.add(numbers[2])},
          {"causedBy", arrays.add(numbers[3])},
          {"loop", arrays.add(numbers[4])},
          {"step", arrays.add(numbers[5])},
          {"slice", arrays.add(numbers[6])},
          {"chunk", arrays.add(numbers[7])},
          {"chunks", arrays.add(numbers[8])}};
}

/// Numbers the ways that messages take: lists of links.
class Routes {
 public:
  explicit Routes(const CallTrace& trace) : trace_(trace) {}

  std::uint32_t number_of(const TracedMessage& message) {
    const Wire& wire = trace_.call.wiring().wires[message.channel][message.connection];
    std::vector<LinkId> links;
    for (const auto* const part : {&wire.resources, &wire.network}) {
      for (const ResourceId id : *part) {
        const ResourceOrigin& origin = trace_.call.wiring().origins[id];
        if (!origin.shared) links.push_back(origin.id);
      }
    }
    return numbers_.emplace(links, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

  ordered_json describe() const {
    std::vector<std::vector<LinkId>> routes(numbers_.size());
    for (const auto& [links, number] : numbers_) routes[number] = links;
    return routes;
  }
  std::set<LinkId> links() const {
    std::set<LinkId> all;
    for (const auto& [links, number] : numbers_) all.insert(links.begin(), links.end());
    return all;
  }

 private:
  const CallTrace& trace_;
  std::map<std::vector<LinkId>, std::uint32_t> numbers_;
};

ordered_json messages_of(const CallTrace& trace, Routes& routes, ArrayStore& arrays) {
  // channel, from, to, records begun, sent, received, taken, route
  constexpr std::size_t columns = 8;
  std::vector<std::vector<std::uint32_t>> numbers(columns);
  for (const TracedMessage& message : trace.messages) {
    const Connection& connection =
        trace.call.plan().schedule(message.channel).connections()[message.connection];
    const std::array<std::uint32_t, columns> row{
        message.channel, connection.src,   connection.dst, message.begun,
        message.sent,    message.received, message.taken,  routes.number_of(message)};
    for (std::size_t i = 0; i < columns; ++i) numbers[i].push_back(row[i]);
  }
  return {{"channel", arrays.add(numbers[0])}, {"from", arrays.add(numbers[1])},
          {"to", arrays.add(numbers[2])},      {"begun", arrays.add(numbers[3])},
          {"sent", arrays.add(numbers[4])},    {"received", arrays.add(numbers[5])},
          {"taken", arrays.add(numbers[6])},   {"route", arrays.add(numbers[7])}};
}

ordered_json sums_of(const CallTrace& trace, ArrayStore& arrays) {
  constexpr unsigned half = 32;
  std::vector<std::uint32_t> record;
  std::vector<std::uint32_t> chunk;
  std::vector<std::uint32_t> low;
  std::vector<std::uint32_t> high;
  for (const StoredSum& stored : stored_sums(trace)) {
    record.push_back(stored.record);
    chunk.push_back(stored.chunk);
    low.push_back(static_cast<std::uint32_t>(stored.sum.bits));
    high.push_back(static_cast<std::uint32_t>(stored.sum.bits >> half));
  }
  return {{"record", arrays.add(record)},
          {"chunk", arrays.add(chunk)},
          {"low", arrays.add(low)},
          {"high", arrays.add(high)}};
}

/// Whose contributions each rank has of each chunk before the call and must have after it, as
/// numbers of bits: [rank][chunk] of channel 0.
ordered_json promises_of(const Plan& plan, bool after) {
  const Schedule& schedule = plan.schedule(0);
  ordered_json ranks = ordered_json::array();
  if (plan.ranks() > max_replayed_ranks) return ranks;
  for (Rank rank = 0; rank < plan.ranks(); ++rank) {
    ordered_json chunks = ordered_json::array();
    for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
      const Contributions sum =
          after ? sum_after(plan, schedule, rank, chunk) : sum_before(plan, schedule, rank, chunk);
      chunks.push_back(std::popcount(sum.bits));
    }
    ranks.push_back(std::move(chunks));
  }
  return ranks;
}

ordered_json utilisation_of(const CallTrace& trace, ArrayStore& arrays) {
  ordered_json links = ordered_json::array();
  for (const TraceCounter& counter : link_utilisation(trace, max_links)) {
    std::vector<double> at;
    std::vector<double> value;
    for (const auto& [time, share] : counter.values) {
      constexpr double thousand = 1e3;
      at.push_back(static_cast<double>(time) / thousand);
      value.push_back(share);
    }
    links.push_back({{"name", counter.name}, {"at", arrays.add(at)}, {"value", arrays.add(value)}});
  }
  return links;
}

/// The devices and links that messages of any call cross or faults change, and the GPUs of the
/// ranks.
ordered_json machine_of(const Topology& topology, const std::set<LinkId>& links,
                        const std::vector<DeviceId>& gpus) {
  std::set<DeviceId> devices;
  ordered_json shown = ordered_json::array();
  for (const LinkId id : links) {
    const Link link = topology.link(id);
    devices.insert({link.from, link.to});
    constexpr double giga = 1e9;
    shown.push_back({{"id", id},
                     {"name", resource_name(topology, {false, id})},
                     {"from", link.from},
                     {"to", link.to},
                     {"kind", to_string(link.kind)},
                     {"rate", link.bandwidth.value / giga}});
  }
  devices.insert(gpus.begin(), gpus.end());
  ordered_json all = ordered_json::array();
  for (const DeviceId id : devices) {
    const Device device = topology.device(id);
    all.push_back({{"id", id},
                   {"name", topology.device_name(id)},
                   {"kind", to_string(device.kind)},
                   {"node", device.node}});
  }
  return {{"name", topology.name()}, {"gpus", gpus}, {"devices", all}, {"links", shown}};
}

ordered_json threads_of(const CallTrace& trace) {
  ordered_json threads = ordered_json::array();
  for (const TraceThread& thread : trace.threads) {
    threads.push_back({thread.participant, thread.channel, thread.lane});
  }
  return threads;
}

/// The links that faults change, in order.
std::set<LinkId> faulty_links(const MachineFaults& faults) {
  std::set<LinkId> links;
  for (const LinkFault& fault : faults.links) links.insert(fault.links.begin(), fault.links.end());
  return links;
}

/// The ranks that faults make late or slow, in order.
std::set<Rank> faulty_ranks(const CallCompiler& compiler) {
  const MachineFaults& faults = compiler.spec().faults;
  std::set<Rank> ranks;
  for (const RankFault& fault : faults.ranks) ranks.insert(fault.rank);
  for (const HostFault& fault : faults.hosts) {
    for (Rank rank = 0; rank < compiler.ranks(); ++rank) {
      if (compiler.topology().node_of(compiler.spec().gpus[rank]) == fault.node) ranks.insert(rank);
    }
  }
  return ranks;
}

std::vector<std::int32_t> nodes_of_ranks(const CallCompiler& compiler) {
  std::vector<std::int32_t> nodes;
  for (const DeviceId gpu : compiler.spec().gpus) nodes.push_back(compiler.topology().node_of(gpu));
  return nodes;
}

ordered_json call_of(const ViewedCall& viewed, Routes& routes, ArrayStore& arrays) {
  const CallTrace& trace = viewed.trace;
  const Plan& plan = trace.call.plan();
  const Schedule& schedule = plan.schedules.front();
  ordered_json participants = ordered_json::array();
  for (Rank participant = 0; participant < schedule.participants(); ++participant) {
    participants.push_back(participant_name(schedule, participant));
  }
  return {{"name", viewed.name},
          {"faults", viewed.faults},
          {"wrong", viewed.wrong},
          {"faultyLinks", faulty_links(trace.call.compiler->spec().faults)},
          {"faultyRanks", faulty_ranks(*trace.call.compiler)},
          {"collective", to_string(plan.collective)},
          {"algorithm", trace.call.algorithm},
          {"protocol", to_string(trace.call.protocol)},
          {"size", trace.call.size.count},
          {"time", in_microseconds(trace.time)},
          {"launch", in_microseconds(trace.launch)},
          {"ranks", plan.ranks()},
          {"participants", participants},
          {"channels", trace.call.partition.channels()},
          {"chunks", schedule.chunks()},
          {"divided", plan.channels_divide_chunks},
          {"threads", threads_of(trace)},
          {"records", records_of(trace, arrays)},
          {"messages", messages_of(trace, routes, arrays)},
          {"routes", routes.describe()},
          {"sums", sums_of(trace, arrays)},
          {"nodes", nodes_of_ranks(*trace.call.compiler)},
          {"root", plan.root},
          {"plans", steps_of_schedules(plan)},
          {"planOfChannel", plan.schedule_of_channel},
          {"before", promises_of(plan, false)},
          {"after", promises_of(plan, true)},
          {"utilisation", utilisation_of(trace, arrays)}};
}

std::string base64(const std::string& bytes) {
  using namespace boost::archive::iterators;
  using Encoder = base64_from_binary<transform_width<std::string::const_iterator, 6, 8>>;
  constexpr std::size_t group = 3;
  std::string text(Encoder(bytes.begin()), Encoder(bytes.end()));
  text.append((group - bytes.size() % group) % group, '=');
  return text;
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int status = compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                              reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  assert(status == Z_OK);
  static_cast<void>(status);
  packed.resize(size);
  return packed;
}

}  // namespace

std::string view_data(const std::string& title, const std::string& command,
                      const std::vector<ViewedCall>& calls, bool embedded) {
  ArrayStore arrays;
  ordered_json shown = ordered_json::array();
  std::set<LinkId> links;
  for (const ViewedCall& viewed : calls) {
    Routes routes(viewed.trace);
    shown.push_back(call_of(viewed, routes, arrays));
    links.merge(routes.links());
    links.merge(faulty_links(viewed.trace.call.compiler->spec().faults));
  }
  const CallCompiler& compiler = *calls.front().trace.call.compiler;
  const ordered_json header{
      {"title", title},
      {"command", command},
      {"embedded", embedded},
      {"machine", machine_of(compiler.topology(), links, compiler.spec().gpus)},
      {"calls", shown}};
  std::string text = json_text(header);
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += text;
  ArrayStore::pad(bytes);
  return base64(deflated(bytes + arrays.bytes()));
}

}  // namespace collsim
