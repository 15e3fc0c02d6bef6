#include "tools/collsim/plan/decode_plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double bytes_of_gigabyte = 1e9;
constexpr std::uint32_t max_tensor = 1024;
constexpr std::uint32_t max_batch = 1U << 16;
constexpr std::uint32_t max_context = 1U << 24;

Table decode_table(const DecodePlanRequest& request, const DecodePlan& plan) {
  Table table;
  for (const DecodePlanRow& row : plan.rows) {
    const auto of_calls = [&](Seconds time) {
      return row.tensor > 1 ? Record(in_microseconds(time)) : Record();
    };
    const double token = in_microseconds(row.token());
    NewRow add(table);
    add({"machine", "machine"}, describe(request.alternatives[row.alternative]));
    add({"tp", "tp"}, row.tensor);
    add({"batch", "batch"}, row.batch);
    add({"size_bytes", "all-reduce", "(B)", 0, 1, wide_only}, row.size.count);
    add({"kernel", "kernel"}, row.tensor > 1 ? Record(row.kernel) : Record());
    add({"call_us", "call", "(us)"}, of_calls(row.call));
    add({"communication_us", "comm.", "(us)", 1}, in_microseconds(row.communication));
    add({"by_nccl_us", "by NCCL", "(us)", 1}, of_calls(row.by_nccl));
    add({"kernels_us", "kernels", "(us)", 0, 1, wide_only}, in_microseconds(row.kernels));
    add({"token_us", "token", "(us)", 0}, token);
    add({"token_low_us", "low", "(us)", 0, 1, wide_only}, decoding_range.low * token);
    add({"token_high_us", "high", "(us)", 0, 1, wide_only}, decoding_range.high * token);
    add({"memory_GB", "memory", "(GB)", 1, 1, wide_only}, row.memory / bytes_of_gigabyte);
    add.data("fits", row.fits);
    add({"mark", ""}, row.best ? "best" : row.fits ? "" : "too big");
  }
  return table;
}

std::string decode_title(const DecodePlanRequest& request) {
  return fmt::format("{} decodes in bf16, {} tokens of context, all-reduces of {} in CUDA graphs",
                     request.model.name, request.context, to_string(request.engine));
}

/// A line for each machine and batch, over the ranks.
Chart decode_chart(const std::vector<Record>& records, std::string title, const std::string& key) {
  Chart chart{std::move(title), {}, {"ranks", AxisScale::counts}, {"us", AxisScale::logarithmic}};
  for (const Record& record : records) {
    const std::string name = fmt::format("{}, batch {}", record["machine"].get<std::string>(),
                                         json_text(record["batch"]));
    ChartSeries& line = line_called(name, chart);
    if (record[key].get<double>() > 0) line.points.push_back({record["tp"], record[key]});
  }
  return chart;
}

Answer decode_answer(const DecodePlanRequest& request, const DecodePlan& plan,
                     const std::string& command) {
  Answer answer{decode_title(request), command};
  add_trust_and_version(answer, {}, {});
  answer.head({comment(answer.title)});
  const auto all_reduces = 2 * request.model.layers + 1;
  Table table = decode_table(request, plan);
  answer.sections.push_back(
      {"",
       {decode_chart(table.rows, "A token's communication", "communication_us"),
        decode_chart(table.rows, "A token", "token_us")},
       {comment(fmt::format(
           "comm.: {} all-reduces and an all-gather of the logits for a token; token: with the "
           "kernels beside them, of which 8 of 10 took {:g} to {:g} times as long; best: the "
           "quickest token of a batch",
           all_reduces, decoding_range.low, decoding_range.high))},
       {std::move(table)}});
  return answer;
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
  write_answer(format_option(values), decode_answer(request, plan, command), out);
  return exit_ok;
}

}  // namespace collsim::command
