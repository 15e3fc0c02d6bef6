#include "tools/collsim/explain/explanation_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "sim/base/json_text.h"
#include "tools/collsim/core/wrap.h"

namespace collsim::command {

namespace {

constexpr std::size_t max_stations = 40;

struct Share {
  std::string_view name;
  Seconds time;
  std::string_view meaning;
};

std::array<Share, 5> named_shares(const TimeShares& shares) {
  return {Share{"launch", shares.launch, "once per call"},
          Share{"latency", shares.latency, "from a send until its receiver sees it"},
          Share{"thread blocks", shares.serial, "work per slice"},
          Share{"bandwidth", shares.bandwidth, "time of the busiest resource"},
          Share{"rest", shares.rest, "filling the pipeline, contention"}};
}

std::string_view words(Cause cause) {
  switch (cause) {
    case Cause::begin:
      return "the call";
    case Cause::program_order:
      return "itself";
    case Cause::message:
      return "a message";
    case Cause::credit:
      return "a credit";
  }
  return "";
}

std::string microseconds_or_dash(const std::optional<Seconds>& time) {
  return time ? fmt::format("{:.2f}", in_microseconds(*time)) : "-";
}

bool same_answer(const CandidateTime& a, const CandidateTime& b) {
  return a.algorithm == b.algorithm && a.why_not == b.why_not && !a.nccl_estimate &&
         !b.nccl_estimate;
}

void print_candidates(const Explanation& explanation, std::ostream& out) {
  if (explanation.candidates.empty()) return;
  fmt::print(out, "{:<26} {:>3} {:>7} {:>12} {:>12}\n", "candidates", "ch", "threads", "nccl's own",
             "simulated");
  fmt::print(out, "{:<26} {:>3} {:>7} {:>12} {:>12}\n", "", "", "", "(us)", "(us)");
  const auto& candidates = explanation.candidates;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const CandidateTime& each = candidates[i];
    if (each.nccl_estimate) {
      const std::string_view note = each.chosen ? "chosen" : std::string_view(each.why_not);
      fmt::print(out, "  {:<14} {:<9} {:>3} {:>7} {:>12} {:>12}{}{}\n", to_string(each.algorithm),
                 to_string(each.protocol), each.launch.channels, each.launch.threads,
                 microseconds_or_dash(each.nccl_estimate), microseconds_or_dash(each.simulated),
                 note.empty() ? "" : "  ", note);
      continue;
    }
    // Protocols excluded for the same reason share a line.
    std::string protocols(to_string(each.protocol));
    while (i + 1 < candidates.size() && same_answer(each, candidates[i + 1])) {
      protocols += fmt::format(", {}", to_string(candidates[++i].protocol));
    }
    out << wrapped(protocols + ": " + each.why_not,
                   fmt::format("  {:<14} ", to_string(each.algorithm)), "      ");
  }
  fmt::print(out, "\n");
}

void print_shape(const Explanation& explanation, std::ostream& out) {
  const CallShape& shape = explanation.shape;
  const Prediction& prediction = explanation.prediction;
  const auto plural = [](std::uint32_t count) { return count == 1 ? "" : "s"; };
  const std::string threads =
      shape.threads > 0 ? fmt::format(" of {} threads", shape.threads) : std::string();
  out << wrapped(
             fmt::format("{} {}: {} channel{}{}; {} loop{} of chunks up to {} B in {} slice{} up "
                         "to {} B; {} credits",
                         prediction.algorithm, to_string(prediction.protocol), shape.channels,
                         plural(shape.channels), threads, shape.loops, plural(shape.loops),
                         shape.chunk.count, shape.slices, plural(shape.slices), shape.slice.count,
                         shape.credits),
             "", "  ")
      << "\n";
}

void print_shares(const Explanation& explanation, std::ostream& out) {
  fmt::print(out, "{:<20} {:>7} {:>6}\n", "where the time goes", "(us)", "(%)");
  for (const Share& share : named_shares(explanation.shares)) {
    const double whole = explanation.prediction.time.value;
    fmt::print(out, "  {:<13} {:>12.2f} {:>6.1f}  {}\n", share.name, in_microseconds(share.time),
               whole > 0 ? 100 * share.time.value / whole : 0, share.meaning);
  }
  fmt::print(out, "\n");
}

/// Where the timeline is of a small cluster.
void print_extent(const Explanation& explanation, const CallCompiler& compiler, std::ostream& out) {
  if (explanation.timeline_ranks == compiler.ranks()) return;
  out << wrapped(
             fmt::format("extent scaled: {} of the {} ranks stand for all; the critical path is "
                         "theirs, of {:.2f} us, and the shares above are theirs, scaled",
                         explanation.timeline_ranks, compiler.ranks(),
                         in_microseconds(explanation.timeline_time)),
             "", "  ")
      << "\n";
}

void print_path(const Explanation& explanation, std::ostream& out) {
  fmt::print(out, "critical path: {} hops, {} slices; times without the launch\n",
             explanation.path.hops, explanation.path.records.size());
  fmt::print(out, "  {:<8} {:>2} {:<20} {:>6} {:>9} {:>8} {:>8}  {}\n", "who", "ch", "phase",
             "slices", "bytes", "from (us)", "to (us)", "after");
  const auto& stations = explanation.stations;
  for (std::size_t i = 0; i < std::min(stations.size(), max_stations); ++i) {
    const Station& station = stations[i];
    fmt::print(out, "  {:<8} {:>2} {:<20} {:>6} {:>9} {:>8.2f} {:>8.2f}  {}\n", station.name,
               station.channel, station.phase, station.slices, station.bytes.count,
               in_microseconds(station.begin), in_microseconds(station.end), words(station.cause));
  }
  if (stations.size() > max_stations) {
    fmt::print(out, "  and {} more\n", stations.size() - max_stations);
  }
  fmt::print(out, "\n");
}

void print_busiest(const Explanation& explanation, std::ostream& out) {
  fmt::print(out, "{:<46} {:>5} {:>11} {:>7} {:>7}\n", "busiest", "equal", "bytes", "(GB/s)",
             "used");
  for (const ResourceUse& use : explanation.busiest) {
    fmt::print(out, "  {:<44} {:>5} {:>11.0f} {:>7.2f} {:>5.1f} %\n", use.name, use.alike,
               use.bytes, in_gigabytes_per_second(use.capacity), 100 * use.utilisation);
  }
  fmt::print(out, "\n");
}

void print_memory(const BufferMemory& memory, std::ostream& out) {
  fmt::print(out,
             "buffers of the communicator: {} per GPU, {} connections on {} channels x\n"
             "  (LL {}, LL128 {}, Simple {}): receive buffers\n"
             "  of Ring and Tree, without NVLS, sends and receives, and sends into the\n"
             "  network\n\n",
             to_string(memory.total), memory.connections, memory.channels,
             to_string(memory.buffers[index_of(Protocol::ll)]),
             to_string(memory.buffers[index_of(Protocol::ll128)]),
             to_string(memory.buffers[index_of(Protocol::simple)]));
}

nlohmann::ordered_json memory_json(const std::optional<BufferMemory>& memory) {
  if (!memory) return nullptr;
  return {{"channels", memory->channels},
          {"connections", memory->connections},
          {"ll_buffer_bytes", memory->buffers[index_of(Protocol::ll)].count},
          {"ll128_buffer_bytes", memory->buffers[index_of(Protocol::ll128)].count},
          {"simple_buffer_bytes", memory->buffers[index_of(Protocol::simple)].count},
          {"bytes_per_gpu", memory->total.count}};
}

nlohmann::ordered_json candidate_json(const CandidateTime& candidate) {
  nlohmann::ordered_json json{{"algorithm", to_string(candidate.algorithm)},
                              {"protocol", to_string(candidate.protocol)},
                              {"chosen", candidate.chosen},
                              {"nccl_estimate_us", microseconds_or_null(candidate.nccl_estimate)},
                              {"simulated_us", microseconds_or_null(candidate.simulated)}};
  if (candidate.nccl_estimate) {
    json["channels"] = candidate.launch.channels;
    json["threads"] = candidate.launch.threads;
  }
  if (!candidate.why_not.empty()) json["why_not"] = candidate.why_not;
  return json;
}

nlohmann::ordered_json shape_json(const CallShape& shape) {
  return {{"channels", shape.channels}, {"threads", shape.threads},
          {"loops", shape.loops},       {"chunk_bytes", shape.chunk.count},
          {"slices", shape.slices},     {"slice_bytes", shape.slice.count},
          {"credits", shape.credits}};
}

nlohmann::ordered_json station_json(const Station& station) {
  using nlohmann::ordered_json;
  return {{"rank", station.is_switch ? ordered_json() : ordered_json(station.participant)},
          {"participant", station.name},
          {"channel", station.channel},
          {"phase", station.phase},
          {"slices", station.slices},
          {"bytes", station.bytes.count},
          {"from_us", in_microseconds(station.begin)},
          {"to_us", in_microseconds(station.end)},
          {"after", words(station.cause)}};
}

}  // namespace

void print_explanation(const Section& section, const CallCompiler& compiler,
                       const Explanation& explanation, std::ostream& out) {
  const Prediction& prediction = explanation.prediction;
  print_head(section, out);
  out << "\n"
      << wrapped(
             fmt::format("{} B in {:.2f} us by simulation{}; no algorithm on this machine can beat "
                         "{:.2f} us; "
                         "the model's floor is {:.2f} us for the busiest resource, {:.2f} us of "
                         "them for the launch, and {:.2f} us for the hops",
                         prediction.size.count, in_microseconds(prediction.time),
                         range_text(*section.request, prediction),
                         in_microseconds(prediction.bounds.largest()),
                         in_microseconds(prediction.floor.busiest_resource()),
                         in_microseconds(explanation.shares.floor_launch),
                         in_microseconds(prediction.floor.latency)),
             "", "  ");
  print_trust_errors(*section.request, {prediction.trust}, out);
  out << "\n";
  print_candidates(explanation, out);
  if (compiler.nccl() != nullptr && !compiler.nccl_function()) {
    const PointToPoint& resources = compiler.nccl()->point_to_point();
    out << wrapped(
        fmt::format("sends and receives: one algorithm; {} channels, at most {} per message; LL up "
                    "to 16 KiB per channel inside a node",
                    resources.channels, resources.per_peer),
        "", "  ");
  }
  print_shape(explanation, out);
  print_shares(explanation, out);
  print_extent(explanation, compiler, out);
  print_path(explanation, out);
  print_busiest(explanation, out);
  if (explanation.memory) print_memory(*explanation.memory, out);
}

Record explanation_record(const CallRequest& request, const RunSpec& run,
                          const Explanation& explanation) {
  const Prediction& prediction = explanation.prediction;
  nlohmann::ordered_json json = context_of(request, &run);
  json.update(nlohmann::ordered_json{{"schedule", to_string(*run.schedule)},
                                     {"engine", "native"},
                                     {"calibration", request.cost.name},
                                     {"size_bytes", prediction.size.count},
                                     {"time_us", in_microseconds(prediction.time)},
                                     {"bound_us", in_microseconds(prediction.bounds.largest())},
                                     {"trust", to_string(prediction.trust)},
                                     {"extent", to_string(prediction.extent)},
                                     {"timeline_ranks", explanation.timeline_ranks},
                                     {"algorithm", prediction.algorithm},
                                     {"protocol", to_string(prediction.protocol)},
                                     {"shape", shape_json(explanation.shape)}});
  add_range(request, prediction, json);
  json["candidates"] = nlohmann::ordered_json::array();
  for (const CandidateTime& each : explanation.candidates) {
    json["candidates"].push_back(candidate_json(each));
  }
  for (const Share& share : named_shares(explanation.shares)) {
    json["time_shares_us"][std::string(share.name)] = in_microseconds(share.time);
  }
  json["hops"] = explanation.path.hops;
  json["critical_path"] = nlohmann::ordered_json::array();
  for (const Station& each : explanation.stations) {
    json["critical_path"].push_back(station_json(each));
  }
  json["busiest"] = nlohmann::ordered_json::array();
  for (const ResourceUse& use : explanation.busiest) {
    json["busiest"].push_back({{"name", use.name},
                               {"alike", use.alike},
                               {"bytes", use.bytes},
                               {"capacity_GBps", in_gigabytes_per_second(use.capacity)},
                               {"utilisation", use.utilisation}});
  }
  json["buffer_memory"] = memory_json(explanation.memory);
  return json;
}

}  // namespace collsim::command
