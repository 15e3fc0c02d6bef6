#include "tools/collsim/explain/explanation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>

#include "sim/base/words.h"

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
  return word_for(cause, {{Cause::begin, "the call"},
                          {Cause::program_order, "itself"},
                          {Cause::message, "a message"},
                          {Cause::credit, "a credit"}});
}

/// Of what NCCL considers, and of what it does not.
Table candidate_table(const Explanation& explanation) {
  Table table;
  for (const CandidateTime& each : explanation.candidates) {
    const auto known = [&](std::uint32_t value) {
      return each.nccl_estimate ? Record(value) : Record();
    };
    NewRow add(table);
    add({"algorithm", "algorithm"}, to_string(each.algorithm));
    add({"protocol", "protocol"}, to_string(each.protocol));
    add({"chosen", "chosen"}, each.chosen);
    add({"nccl_estimate_us", "NCCL's own", "(us)"}, microseconds_or_null(each.nccl_estimate));
    add({"simulated_us", "simulated", "(us)"}, microseconds_or_null(each.simulated));
    add({"channels", "channels"}, known(each.launch.channels));
    add({"threads", "threads"}, known(each.launch.threads));
    add({"why_not", ""}, each.why_not.empty() ? Record() : Record(each.why_not));
  }
  return table;
}

bool same_answer(const CandidateTime& a, const CandidateTime& b) {
  return a.algorithm == b.algorithm && a.why_not == b.why_not && !a.nccl_estimate &&
         !b.nccl_estimate;
}

AnswerSection candidate_section(const Explanation& explanation) {
  AnswerSection section{"candidates", {}, {}, {candidate_table(explanation)}};
  std::erase_if(section.tables.front().rows,
                [](const Record& row) { return row["nccl_estimate_us"].is_null(); });
  const auto& candidates = explanation.candidates;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const CandidateTime& each = candidates[i];
    if (each.nccl_estimate) continue;
    // Protocols excluded for the same reason share a line.
    std::string name = fmt::format("{} {}", to_string(each.algorithm), to_string(each.protocol));
    while (i + 1 < candidates.size() && same_answer(each, candidates[i + 1])) {
      name += fmt::format(", {}", to_string(candidates[++i].protocol));
    }
    section.after.emplace_back(fmt::format("{}: {}", name, each.why_not), "  ", "    ");
  }
  return section;
}

Note shape_note(const Explanation& explanation) {
  const CallShape& shape = explanation.shape;
  const Prediction& prediction = explanation.prediction;
  const auto plural = [](std::uint32_t count) { return count == 1 ? "" : "s"; };
  const std::string threads =
      shape.threads > 0 ? fmt::format(" of {} threads", shape.threads) : std::string();
  return {fmt::format("{} {}: {} channel{}{}; {} loop{} of chunks up to {} B in {} slice{} up to "
                      "{} B; {} credits",
                      prediction.algorithm, to_string(prediction.protocol), shape.channels,
                      plural(shape.channels), threads, shape.loops, plural(shape.loops),
                      shape.chunk.count, shape.slices, plural(shape.slices), shape.slice.count,
                      shape.credits),
          "", "  "};
}

Table share_table(const Explanation& explanation) {
  Table table;
  const double whole = explanation.prediction.time.value;
  for (const Share& share : named_shares(explanation.shares)) {
    NewRow add(table);
    add({"name", "share"}, share.name);
    add({"time_us", "time", "(us)"}, in_microseconds(share.time));
    add({"percent", "", "(%)", 1}, whole > 0 ? 100 * share.time.value / whole : 0.0);
    add({"meaning", ""}, share.meaning);
  }
  return table;
}

/// Where the timeline is of another call.
void say_extent(const Explanation& explanation, const CallCompiler& compiler, Answer& answer) {
  const double part = explanation.timeline_part;
  if (explanation.timeline_ranks == compiler.ranks() && part == 1) return;
  const std::string bytes = part < 1 ? fmt::format(" and {:.3g} % of the bytes", 100 * part) : "";
  answer.say({fmt::format("a call of {} of the {} ranks{} stands for the whole; the critical path "
                          "is its, of {:.2f} us, and so are the shares above, scaled",
                          explanation.timeline_ranks, compiler.ranks(), bytes,
                          in_microseconds(explanation.timeline_time)),
              "", "  "});
}

Table station_table(const Explanation& explanation) {
  Table table;
  table.max_rows = max_stations;
  for (const Station& station : explanation.stations) {
    NewRow add(table);
    add.data("rank", station.is_switch ? Record() : Record(station.participant));
    add({"participant", "who"}, station.name);
    add({"channel", "ch"}, station.channel);
    add({"phase", "phase"}, station.phase);
    add({"slices", "slices"}, station.slices);
    add({"bytes", "bytes"}, station.bytes.count);
    add({"from_us", "from", "(us)"}, in_microseconds(station.begin));
    add({"to_us", "to", "(us)"}, in_microseconds(station.end));
    add({"after", "after"}, words(station.cause));
  }
  return table;
}

Table busiest_table(const Explanation& explanation) {
  Table table;
  for (const ResourceUse& use : explanation.busiest) {
    NewRow add(table);
    add({"name", "resource"}, use.name);
    add({"alike", "equal"}, use.alike);
    add({"bytes", "bytes", "", 0}, use.bytes);
    add({"capacity_GBps", "capacity", "(GB/s)"}, in_gigabytes_per_second(use.capacity));
    add({"utilisation", "used", "(%)", 1, 100}, use.utilisation);
  }
  return table;
}

Note memory_note(const BufferMemory& memory) {
  return {fmt::format("buffers of the communicator: {} per GPU, {} connections on {} channels x "
                      "(LL {}, LL128 {}, Simple {}): receive buffers of Ring and Tree, without "
                      "NVLS, sends and receives, and sends into the network",
                      to_string(memory.total), memory.connections, memory.channels,
                      to_string(memory.buffers[index_of(Protocol::ll)]),
                      to_string(memory.buffers[index_of(Protocol::ll128)]),
                      to_string(memory.buffers[index_of(Protocol::simple)])),
          "", "  "};
}

Record memory_json(const std::optional<BufferMemory>& memory) {
  if (!memory) return nullptr;
  return {{"channels", memory->channels},
          {"connections", memory->connections},
          {"ll_buffer_bytes", memory->buffers[index_of(Protocol::ll)].count},
          {"ll128_buffer_bytes", memory->buffers[index_of(Protocol::ll128)].count},
          {"simple_buffer_bytes", memory->buffers[index_of(Protocol::simple)].count},
          {"bytes_per_gpu", memory->total.count}};
}

Record shape_json(const CallShape& shape) {
  return {{"channels", shape.channels}, {"threads", shape.threads},
          {"loops", shape.loops},       {"chunk_bytes", shape.chunk.count},
          {"slices", shape.slices},     {"slice_bytes", shape.slice.count},
          {"credits", shape.credits}};
}

/// As JSON has it.
Record record_of(const CallRequest& request, const RunSpec& run, const Explanation& explanation) {
  const Prediction& prediction = explanation.prediction;
  Record json = context_of(request, &run);
  json.update(Record{{"schedule", to_string(*run.schedule)},
                     {"engine", "native"},
                     {"calibration", request.cost.name},
                     {"size_bytes", prediction.size.count},
                     {"time_us", in_microseconds(prediction.time)},
                     {"bound_us", in_microseconds(prediction.bounds.largest())},
                     {"trust", to_string(prediction.trust)},
                     {"extent", extent_of(prediction)},
                     {"timeline_ranks", explanation.timeline_ranks},
                     {"timeline_part", explanation.timeline_part},
                     {"algorithm", prediction.algorithm},
                     {"protocol", to_string(prediction.protocol)},
                     {"shape", shape_json(explanation.shape)}});
  add_range(request, prediction, json);
  json["candidates"] = candidate_table(explanation).rows;
  for (Record& row : json["candidates"]) {
    for (const char* key : {"channels", "threads", "why_not"}) {
      if (row[key].is_null()) row.erase(key);
    }
  }
  for (const Share& share : named_shares(explanation.shares)) {
    json["time_shares_us"][std::string(share.name)] = in_microseconds(share.time);
  }
  json["hops"] = explanation.path.hops;
  json["critical_path"] = station_table(explanation).rows;
  json["busiest"] = busiest_table(explanation).rows;
  json["buffer_memory"] = memory_json(explanation.memory);
  return json;
}

}  // namespace

Record add_explanation(const Section& section, const CallCompiler& compiler,
                       const Explanation& explanation, Answer& answer) {
  const Prediction& prediction = explanation.prediction;
  answer.draw([section](std::ostream& out) { print_head(section, out); });
  answer.sections.back().apart = true;
  ErrorClasses classes;
  add_class(section.request->errors, prediction.trust, prediction.medium, classes);
  answer.say(
      {fmt::format("{} B in {:.2f} us by simulation{}; no algorithm on this machine can beat "
                   "{:.2f} us; the model's floor is {:.2f} us for the busiest resource, "
                   "{:.2f} us of them for the launch, and {:.2f} us for the hops",
                   prediction.size.count, in_microseconds(prediction.time),
                   range_text(*section.request, prediction),
                   in_microseconds(prediction.bounds.largest()),
                   in_microseconds(prediction.floor.busiest_resource()),
                   in_microseconds(explanation.shares.floor_launch),
                   in_microseconds(prediction.floor.latency)),
       "", "  "});
  answer.head(comments(range_texts(classes)));
  if (!explanation.candidates.empty()) answer.sections.push_back(candidate_section(explanation));
  if (compiler.nccl() != nullptr && !compiler.nccl_function()) {
    const PointToPoint& resources = compiler.nccl()->point_to_point();
    answer.say({fmt::format("sends and receives: one algorithm; {} channels, at most {} per "
                            "message; LL up to 16 KiB per channel inside a node",
                            resources.channels, resources.per_peer),
                "", "  "});
  }
  answer.say(shape_note(explanation));
  answer.sections.push_back({"where the time goes", {}, {}, {share_table(explanation)}});
  say_extent(explanation, compiler, answer);
  answer.sections.push_back({fmt::format("critical path: {} hops, {} slices; times without the "
                                         "launch",
                                         explanation.path.hops, explanation.path.records.size()),
                             {},
                             {},
                             {station_table(explanation)}});
  answer.sections.push_back({"busiest", {}, {}, {busiest_table(explanation)}});
  if (explanation.memory) answer.say(memory_note(*explanation.memory));
  return record_of(*section.request, *section.run, explanation);
}

}  // namespace collsim::command
