#include "tools/collsim/expect/expectation_text.h"

#include <collsim/lookup.h>
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <ostream>
#include <type_traits>

#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"
#include "sim/plan/protocol.h"
#include "tools/collsim/report/call_rows.h"

namespace collsim::command {

namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(collsim_lookup_row) == 24 && sizeof(collsim_lookup_header) == 16);

constexpr std::array<const char*, 9> lookup_names COLLSIM_LOOKUP_COLLECTIVES;

const char* nccl_tests_name(Collective collective) {
  return lookup_names.at(static_cast<std::size_t>(collective));
}

Record time_or_null(const std::optional<Seconds>& time) {
  return time ? Record(in_microseconds(*time)) : Record();
}

void add_row(const Expectation& expectation, const ExpectedCall& call, Table& table) {
  const Prediction& prediction = call.prediction;
  NewRow add(table);
  add({"collective", "collective"}, to_string(call.collective));
  add({"size_bytes", "size", "(B)"}, prediction.size.count);
  add({"algorithm", "algo"}, prediction.algorithm);
  add({"protocol", "proto"}, to_string(prediction.protocol));
  add({"channels", "ch"}, prediction.channels);
  add({"time_us", "time", "(us)"}, in_microseconds(prediction.time));
  add({"time_p10_us", "p10", "(us)"}, time_or_null(call.low));
  add({"time_p90_us", "p90", "(us)"}, time_or_null(call.high));
  add({"busbw_GBps", "busbw", "(GB/s)"}, call.busbw(expectation.request.ranks) / 1e9);
  add({"trust", "trust"}, to_string(prediction.trust));
}

/// Empty of a textbook's schedule.
std::string release_of(const Expectation& expectation) {
  const RunSpec& run = expectation.request.scenario.runs.front();
  return run.schedule == ScheduleKind::nccl ? to_string(run.nccl_version) : std::string();
}

Record document_of(const Expectation& expectation, const Table& table) {
  const CallRequest& request = expectation.request;
  Record document;
  document["collsim"] = "expect/1";
  document["collsim_version"] = COLLSIM_VERSION;
  document["machine"] = request.topology.name();
  document["ranks"] = request.ranks;
  const std::string release = release_of(expectation);
  document["nccl_version"] = release.empty() ? Record() : Record(release);
  document["calibration"] = request.cost.name;
  document["method"] = expectation.method;
  document["calls"] = table.rows;
  return document;
}

std::uint8_t nccl_number(std::string_view algorithm) {
  constexpr std::uint8_t other = 255;
  const auto found = find_nccl_algorithm(algorithm);
  return found ? static_cast<std::uint8_t>(*found) : other;
}

collsim_lookup_row lookup_row(const ExpectedCall& call) {
  const Prediction& prediction = call.prediction;
  const auto time = [](Seconds seconds) { return static_cast<float>(in_microseconds(seconds)); };
  collsim_lookup_row row{};
  row.bytes = static_cast<std::uint64_t>(prediction.size.count);
  row.time_us = time(prediction.time);
  row.low_us = time(call.low.value_or(prediction.time));
  row.high_us = time(call.high.value_or(prediction.time));
  row.collective = static_cast<std::uint8_t>(call.collective);
  row.algorithm = nccl_number(prediction.algorithm);
  row.protocol = static_cast<std::uint8_t>(prediction.protocol);
  row.channels = static_cast<std::uint8_t>(std::min(prediction.channels, 255U));
  return row;
}

template <typename Value>
void append(std::string& bytes, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A time as nccl-tests prints it: the larger it is, the fewer digits follow the point.
std::string time_text(double microseconds) {
  return fmt::format("{:.{}f}", microseconds,
                     microseconds < 100      ? 2
                     : microseconds < 10'000 ? 1
                                             : 0);
}

std::string times_text(const ExpectedCall& call, Rank ranks) {
  const double algbw = call.prediction.size.count > 0
                           ? (call.prediction.size / call.prediction.time).value / 1e9
                           : 0;
  return fmt::format("{:>8} {:>7.2f} {:>7.2f} {:>6}",
                     time_text(in_microseconds(call.prediction.time)), algbw,
                     call.busbw(ranks) / 1e9, 0);
}

std::string step_text(const Sizes& sizes) {
  return sizes.step.count > 0 ? fmt::format("{}(bytes)", sizes.step.count)
                              : fmt::format("{}(factor)", sizes.factor);
}

void print_table_head(const Expectation& expectation, Collective collective, std::ostream& out) {
  const CallRequest& request = expectation.request;
  fmt::print(out,
             "# Collective test starting: {}_perf\n"
             "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: 1 "
             "iters: 20 agg iters: 1 validation: 1 graph: {}\n#\n# Using devices\n",
             nccl_tests_name(collective), request.scenario.sizes.from.count,
             request.scenario.sizes.to.count, step_text(request.scenario.sizes),
             request.scenario.runs.front().graph ? 1 : 0);
  std::map<std::int32_t, int> of_node;
  for (Rank rank = 0; rank < request.ranks; ++rank) {
    const Device gpu = request.topology.device(request.gpus[rank]);
    fmt::print(out, "#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [0x00] NVIDIA {}\n", rank,
               rank + 1, fmt::format("node{}", gpu.node), of_node[gpu.node]++, gpu.model);
  }
  fmt::print(out,
             "#\n#{:>66}{:>33}\n"
             "#{:>11} {:>13} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>6} {:>8} {:>7} {:>7} {:>6}\n"
             "#{:>11} {:>13} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>6} {:>8} {:>7} {:>7} {:>6}\n",
             "out-of-place", "in-place", "size", "count", "type", "redop", "root", "time", "algbw",
             "busbw", "#wrong", "time", "algbw", "busbw", "#wrong", "(B)", "(elements)", "", "", "",
             "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

}  // namespace

Answer answer_of(const Expectation& expectation, const std::string& command) {
  const CallRequest& request = expectation.request;
  Table table;
  ErrorClasses classes;
  for (const ExpectedCall& call : expectation.calls) {
    add_row(expectation, call, table);
    add_class(request.errors, call.prediction.trust, call.prediction.medium, classes);
  }
  Answer answer;
  answer.title = fmt::format("What calls should take on {}", request.topology.name());
  answer.command = command;
  const std::string release = release_of(expectation);
  const std::string rules =
      release.empty() ? std::string("a textbook's schedules") : "NCCL " + release;
  answer.head({comment(fmt::format("collsim {}: {}, {} ranks, {}; {}; calibration {}",
                                   COLLSIM_VERSION, request.topology.name(), request.ranks, rules,
                                   expectation.method, request.cost.name)),
               comment("p10 and p90 hold 8 of 10 times of healthy machines")});
  add_ranges_and_version(answer, classes);
  answer.document = document_of(expectation, table);
  answer.sections.push_back({.tables = {std::move(table)}});
  return answer;
}

void print_prometheus(const Expectation& expectation, std::ostream& out) {
  fmt::print(out,
             "# HELP collsim_expected_seconds What a call should take; quantile 0.1 and 0.9 hold 8 "
             "of 10 healthy ones.\n# TYPE collsim_expected_seconds gauge\n");
  for (const ExpectedCall& call : expectation.calls) {
    const Seconds time = call.prediction.time;
    const std::array<std::pair<const char*, Seconds>, 3> quantiles{
        {{"0.1", call.low.value_or(time)}, {"0.5", time}, {"0.9", call.high.value_or(time)}}};
    for (const auto& [quantile, value] : quantiles) {
      fmt::print(out,
                 "collsim_expected_seconds{{collective=\"{}\",ranks=\"{}\",size_bytes=\"{}\","
                 "quantile=\"{}\"}} {:.6g}\n",
                 to_string(call.collective), expectation.request.ranks, call.prediction.size.count,
                 quantile, value.value);
    }
  }
}

void print_nccl_tests(const Expectation& out_of_place, const Expectation& in_place,
                      std::ostream& out) {
  const CallRequest& request = out_of_place.request;
  const Reduction& reduction = request.scenario.runs.front().reduction;
  const Bytes element = size_of(reduction.type);
  double busbw = 0;
  for (std::size_t i = 0; i < out_of_place.calls.size(); ++i) {
    const ExpectedCall& call = out_of_place.calls[i];
    const bool is_first = i == 0 || out_of_place.calls[i - 1].collective != call.collective;
    if (is_first) print_table_head(out_of_place, call.collective, out);
    const std::int64_t count = call.prediction.size.count / element.count;
    fmt::print(out, "{:>12} {:>13} {:>9} {:>7} {:>7} {} {}\n", call.prediction.size.count, count,
               to_string(reduction.type), sums(call.collective) ? to_string(reduction.op) : "none",
               has_root(call.collective) ? std::to_string(request.scenario.root) : "-1",
               times_text(call, request.ranks), times_text(in_place.calls.at(i), request.ranks));
    busbw += call.busbw(request.ranks) / 1e9;
    const bool is_last = i + 1 == out_of_place.calls.size() ||
                         out_of_place.calls[i + 1].collective != call.collective;
    if (!is_last) continue;
    const auto rows =
        std::count_if(out_of_place.calls.begin(), out_of_place.calls.end(),
                      [&](const ExpectedCall& each) { return each.collective == call.collective; });
    fmt::print(out, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:.5g}\n#\n",
               busbw / static_cast<double>(rows));
    busbw = 0;
  }
}

std::string lookup_file(const Expectation& expectation) {
  collsim_lookup_header header{};
  const std::string_view magic = COLLSIM_LOOKUP_MAGIC;
  std::copy(magic.begin(), magic.end(), header.magic);
  header.rows = static_cast<std::uint32_t>(expectation.calls.size());
  header.ranks = expectation.request.ranks;
  std::string bytes;
  append(bytes, header);
  std::vector<collsim_lookup_row> rows;
  rows.reserve(expectation.calls.size());
  for (const ExpectedCall& call : expectation.calls) rows.push_back(lookup_row(call));
  std::stable_sort(rows.begin(), rows.end(), [](const auto& left, const auto& right) {
    return std::pair(left.collective, left.bytes) < std::pair(right.collective, right.bytes);
  });
  for (const collsim_lookup_row& row : rows) append(bytes, row);
  return bytes;
}

}  // namespace collsim::command
