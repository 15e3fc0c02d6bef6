#include "tools/collsim/plan/decode_plan_answer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "models/workload/step_range.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/plan/plan_report.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/report/row_table.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double bytes_of_gigabyte = 1e9;
constexpr std::uint32_t max_tensor = 1024;
constexpr std::uint32_t max_batch = 1U << 16;
constexpr std::uint32_t max_context = 1U << 24;

/// As wide as the longest name of a machine needs.
std::vector<Column> decode_columns(const DecodePlanRequest& request, const DecodePlan& plan) {
  std::size_t width = 7;
  for (const DecodePlanRow& row : plan.rows) {
    width = std::max(width, describe(request.alternatives[row.alternative]).size());
  }
  return {{"machine", "machine", "", width},
          {"tp", "tp", "", 2},
          {"batch", "batch", "", 5},
          {"kernel", "kernel", "", 17},
          {"call_us", "call", "(us)", 6},
          {"communication_us", "comm.", "(us)", 7, 1},
          {"by_nccl_us", "by NCCL", "(us)", 7, 1},
          {"token_us", "token", "(us)", 7, 0},
          {"mark", "", "", 7}};
}

Record decode_record(const DecodePlanRequest& request, const DecodePlanRow& row) {
  const auto of_calls = [&](Seconds time) {
    return row.tensor > 1 ? Record(in_microseconds(time)) : Record();
  };
  Record record;
  record["machine"] = describe(request.alternatives[row.alternative]);
  record["tp"] = row.tensor;
  record["batch"] = row.batch;
  record["size_bytes"] = row.size.count;
  record["kernel"] = row.tensor > 1 ? Record(row.kernel) : Record();
  record["call_us"] = of_calls(row.call);
  record["communication_us"] = in_microseconds(row.communication);
  record["by_nccl_us"] = of_calls(row.by_nccl);
  record["kernels_us"] = in_microseconds(row.kernels);
  record["token_us"] = in_microseconds(row.token());
  record["token_low_us"] = decoding_range.low * in_microseconds(row.token());
  record["token_high_us"] = decoding_range.high * in_microseconds(row.token());
  record["memory_GB"] = row.memory / bytes_of_gigabyte;
  record["fits"] = row.fits;
  record["mark"] = row.best ? "best" : row.fits ? "" : "too big";
  return record;
}

std::string decode_title(const DecodePlanRequest& request) {
  return fmt::format("{} decodes in bf16, {} tokens of context, all-reduces of {} in CUDA graphs",
                     request.model.name, request.context, to_string(request.engine));
}

void print_decode_plan(const DecodePlanRequest& request, const DecodePlan& plan,
                       std::ostream& out) {
  out << wrapped(decode_title(request), "# ", "# ");
  const auto all_reduces = 2 * request.model.layers + 1;
  out << wrapped(
      fmt::format(
          "comm.: {} all-reduces and an all-gather of the logits for a token; "
          "token: with the kernels beside them, of which 8 of 10 took {:g} to {:g} times as "
          "long; best: the quickest token of a batch",
          all_reduces, decoding_range.low, decoding_range.high),
      "# ", "# ");
  const std::vector<Column> columns = decode_columns(request, plan);
  out << titles_of(columns);
  for (const DecodePlanRow& row : plan.rows) {
    fmt::print(out, "{}\n", line_of(columns, decode_record(request, row)));
  }
}

std::vector<Record> decode_records(const DecodePlanRequest& request, const DecodePlan& plan) {
  std::vector<Record> records;
  records.reserve(plan.rows.size());
  for (const DecodePlanRow& row : plan.rows) records.push_back(decode_record(request, row));
  return records;
}

/// A line for each machine and batch, over the ranks.
ReportChart decode_chart(const std::vector<Record>& records, std::string title,
                         const std::string& key) {
  ReportChart chart{
      std::move(title), {}, {"ranks", AxisScale::counts}, {"us", AxisScale::logarithmic}};
  for (const Record& record : records) {
    const std::string name = fmt::format("{}, batch {}", record["machine"].get<std::string>(),
                                         json_text(record["batch"]));
    ReportSeries& line = line_called(name, chart);
    if (record[key].get<double>() > 0) line.points.push_back({record["tp"], record[key]});
  }
  return chart;
}

Report decode_report(const DecodePlanRequest& request, const DecodePlan& plan,
                     const std::string& command) {
  const std::vector<Record> records = decode_records(request, plan);
  Report report{decode_title(request), command, {}, {}};
  add_trust_and_version(report, {}, {});
  ReportTable table{"",
                    {{"machine", "machine"},
                     {"tp", "ranks"},
                     {"batch", "batch"},
                     {"size_bytes", "all-reduce (B)", 0},
                     {"kernel", "kernel"},
                     {"call_us", "call (us)", 1},
                     {"communication_us", "communication (us)", 0},
                     {"by_nccl_us", "by NCCL (us)", 0},
                     {"kernels_us", "kernels (us)", 0},
                     {"token_us", "token (us)", 0},
                     {"token_low_us", "low", 0},
                     {"token_high_us", "high", 0},
                     {"memory_GB", "memory (GB)", 1},
                     {"mark", ""}},
                    records};
  report.sections.push_back({"",
                             {decode_chart(records, "A token's communication", "communication_us"),
                              decode_chart(records, "A token", "token_us")},
                             {},
                             {std::move(table)}});
  return report;
}

DecodePlanRequest read_decode_plan(const po::variables_map& values) {
  DecodePlanRequest request;
  if (!values.contains("model")) throw InputError("plan serve: no model", "--model NAME");
  request.model = find_transformer(values["model"].as<std::string>());
  request.tensor = parse_numbers("tp", values["tp"].as<std::string>(), 1, max_tensor);
  request.batches = parse_numbers("batch", values["batch"].as<std::string>(), 1, max_batch);
  request.context = bounded_option(values, "context", 1, max_context);
  request.engine = parse_engine_release(values["kernels"].as<std::string>());
  return request;
}

}  // namespace

int answer_decode_plan(std::vector<Alternative> alternatives, RunSpec run,
                       const po::variables_map& values, const std::string& command,
                       std::ostream& out, std::ostream& err) {
  DecodePlanRequest request = read_decode_plan(values);
  request.alternatives = std::move(alternatives);
  request.run = std::move(run);
  const DecodePlan plan = [&] {
    const Waiting waiting(err, "predicting tokens");
    return plan_decode(request);
  }();
  print_warnings(plan.warnings, err);
  Answer answer;
  answer.print = [&](std::ostream& to) { print_decode_plan(request, plan, to); };
  answer.rows = [&] { return decode_records(request, plan); };
  answer.report = [&] { return decode_report(request, plan, command); };
  write_answer(format_option(values), answer, out);
  return exit_ok;
}

}  // namespace collsim::command
