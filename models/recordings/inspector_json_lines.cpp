// What NCCL's Inspector, a profiler plug-in of its sources (2.27 and later), writes: a line of JSON
// for each call of each rank. Of the ranks of a call, the one that came last waited for nobody: its
// time is the call's own.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "models/recordings/inspector_line.h"
#include "models/recordings/readers.h"
#include "sim/base/clean_text.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

using nlohmann::json;

constexpr std::int64_t max_bytes = std::int64_t{1} << 50;
constexpr std::int64_t max_calls = 1'000'000'000'000;
constexpr std::int64_t max_ranks_said = 1 << 24;
constexpr double max_microseconds = 1e12;
constexpr std::uint64_t max_written_us = 253'402'300'800'000'000;  // the end of the year 9999

/// A line with its values, all of which are checked.
class InspectorLine {
 public:
  InspectorLine(const SourcePosition& place, std::string_view text)
      : place_(place), root_(json::parse(text, nullptr, false)) {
    if (root_.is_discarded() || !root_.is_object()) {
      throw InputError(place_, "no JSON object", "a line of NCCL's Inspector");
    }
  }

  RankCall read() const {
    const json& header = object("header");
    const json& call = object("coll_perf");
    RankCall result;
    result.communicator = word(header, "id");
    result.name = word(call, "coll");
    result.host = host();
    result.number = whole(call, "coll_sn", 0, max_calls);
    result.bytes = whole(call, "coll_msg_size_bytes", 0, max_bytes);
    result.ranks = whole(header, "n_ranks", 1, max_ranks_said);
    result.rank = header.contains("rank") ? whole(header, "rank", 0, max_ranks_said) : 0;
    result.nodes = header.contains("nnodes") ? whole(header, "nnodes", 1, result.ranks) : 1;
    result.microseconds = number(call, "coll_exec_time_us");
    const json* const written = metadata("dump_timestamp_us");
    if (written != nullptr && written->is_number_unsigned()) {
      result.written_us = static_cast<std::int64_t>(written->get<std::uint64_t>() % max_written_us);
    }
    return result;
  }

 private:
  std::string host() const {
    const json* const host = metadata("hostname");
    return host != nullptr && host->is_string() ? clean_text(host->get<std::string>())
                                                : std::string();
  }
  /// Null where the line has none.
  const json* metadata(const char* key) const {
    const auto all = root_.find("metadata");
    if (all == root_.end() || !all->is_object()) return nullptr;
    const auto found = all->find(key);
    return found != all->end() ? &*found : nullptr;
  }
  const json& object(const char* key) const {
    const auto found = root_.find(key);
    if (found == root_.end() || !found->is_object()) {
      throw InputError(place_, fmt::format("no object '{}'", key), "a line of NCCL's Inspector");
    }
    return *found;
  }
  const json& value(const json& in, const char* key) const {
    const auto found = in.find(key);
    if (found == in.end()) {
      throw InputError(place_, fmt::format("no '{}'", key), "a line of NCCL's Inspector");
    }
    return *found;
  }
  std::string word(const json& in, const char* key) const {
    const json& found = value(in, key);
    if (!found.is_string()) throw InputError(place_, fmt::format("'{}' is no text", key), "a text");
    return clean_text(found.get<std::string>());
  }
  double number(const json& in, const char* key) const {
    const json& found = value(in, key);
    const double number = found.is_number() ? found.get<double>() : NAN;
    if (!(number >= 0 && number <= max_microseconds)) {
      throw InputError(place_, fmt::format("'{}' is no time", key), "microseconds, 0 or more");
    }
    return number;
  }
  std::int64_t whole(const json& in, const char* key, std::int64_t least, std::int64_t most) const {
    const json& found = value(in, key);
    const bool fits = found.is_number_integer() &&
                      (!found.is_number_unsigned() ||
                       found.get<std::uint64_t>() <= static_cast<std::uint64_t>(most));
    const std::int64_t number = fits ? found.get<std::int64_t>() : least - 1;
    if (number < least || number > most) {
      throw InputError(place_, fmt::format("'{}' is out of range", key),
                       fmt::format("a whole number from {} to {}", least, most));
    }
    return number;
  }

  SourcePosition place_;
  json root_;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls that are alike become one row.
using Kind = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;
Kind kind_of(const RankCall& call) {
  return {call.communicator, call.name, call.bytes, call.ranks, call.nodes};
}

RecordedRow row_of(const RankCall& call, const std::vector<double>& times) {
  RecordedRow row;
  row.id = call.communicator;
  row.collective_name = call.name;
  row.collective = call.collective();
  row.ranks = rank_of(call.ranks);
  row.nodes = rank_of(call.nodes);
  row.size.count = call.size();
  row.time = microseconds(median(times));
  return row;
}

/// Calls of whole jobs: a row for all that are alike in communicator, collective and size.
Recording read_inspector_json_lines(const TextFile& text, std::size_t*) {
  std::map<Kind, std::map<std::int64_t, double>> times;  // by number, of the rank that waited least
  std::map<Kind, RankCall> first;
  Recording recording;
  int number = 0;
  for (const std::string_view line : split_lines(text.content)) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const RankCall call = read_inspector_line({text.name, number, 0}, line);
    const Kind kind = kind_of(call);
    const auto [entry, is_new] = times[kind].try_emplace(call.number, call.microseconds);
    if (!is_new) entry->second = std::min(entry->second, call.microseconds);
    first.try_emplace(kind, call);
    if (!call.host.empty()) recording.hosts.insert(call.host);
  }
  for (const auto& [kind, by_number] : times) {
    std::vector<double> all;
    for (const auto& [each, time] : by_number) all.push_back(time);
    recording.rows.push_back(row_of(first.at(kind), all));
  }
  recording.notes.emplace_back(
      "of each call the rank that took least counts, since the others waited for it; of calls "
      "alike "
      "the median");
  return recording;
}

const RecordingFormat inspector_format(
    "lines of NCCL's Inspector",
    [](std::string_view text) {
      return is_inspector_line(text.substr(0, text.find('\n'))) ? FormatSign::mark : FormatSign::no;
    },
    read_inspector_json_lines);

}  // namespace

std::optional<Collective> RankCall::collective() const {
  for (const Collective each : all_collectives()) {
    std::string ours(to_string(each));
    std::erase(ours, '_');
    if (ours == lower_case(name)) return each;
  }
  return std::nullopt;
}

std::int64_t RankCall::size() const {
  const auto called = collective();
  const bool is_part = called == Collective::all_gather || called == Collective::reduce_scatter;
  return is_part ? std::min(bytes, max_bytes / ranks) * ranks : bytes;
}

RankCall read_inspector_line(const SourcePosition& place, std::string_view text) {
  return InspectorLine(place, text).read();
}

bool is_inspector_line(std::string_view text) {
  return begins_with_object(text) && text.find("\"coll_perf\"") != std::string_view::npos;
}

}  // namespace collsim
