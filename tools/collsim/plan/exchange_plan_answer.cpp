#include "tools/collsim/plan/exchange_plan_answer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

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

constexpr std::uint32_t max_ranks_of_plan = 4096;
constexpr std::uint32_t max_tokens_of_rank = 1U << 20;
constexpr std::uint32_t max_hidden_size = 1U << 17;
constexpr std::uint32_t max_experts_of_plan = 1U << 14;
constexpr std::uint32_t max_top_k_of_plan = 256;
constexpr std::uint32_t max_sms_of_gpu = 1024;

/// As wide as the longest name of a machine needs.
std::vector<Column> exchange_plan_columns(const ExchangePlanRequest& request,
                                          const ExchangePlan& plan) {
  std::size_t width = 7;
  for (const ExchangePlanRow& row : plan.rows) {
    width = std::max(width, describe(request.alternatives[row.alternative]).size());
  }
  return {{"machine", "machine", "", width},
          {"ep", "ep", "", 4},
          {"tokens", "tokens", "", 6},
          {"kernels", "kernels", "", 18},
          {"dispatch_us", "disp.", "(us)", 7, 1},
          {"combine_us", "comb.", "(us)", 7, 1},
          {"layer_us", "layer", "(us)", 7, 1},
          {"off", "off", "(%)", 3, 0},
          {"tokens_per_s", "rate", "(tok/s)", 7, 0},
          {"mark", "", "", 4}};
}

Record exchange_plan_record(const ExchangePlanRequest& request, const ExchangePlanRow& row) {
  Record record;
  record["machine"] = describe(request.alternatives[row.alternative]);
  record["ep"] = row.ranks;
  record["nodes"] = row.nodes;
  record["tokens"] = row.tokens;
  record["kernels"] = to_string(row.family);
  record["dispatch_us"] = in_microseconds(row.dispatch);
  record["combine_us"] = in_microseconds(row.combine);
  record["ports_us"] = in_microseconds(row.ports);
  record["layer_us"] = in_microseconds(row.layer());
  record["tokens_per_s"] = row.rate();
  record["busiest_port"] = row.port;
  record["typical_error"] = row.error;
  record["taken_over"] = row.taken_over;
  record["off"] = 100 * row.error;
  record["mark"] = row.best ? "best" : row.ties ? "tie" : "";
  return record;
}

std::string exchange_plan_title(const ExchangePlanRequest& request) {
  return fmt::format("exchange of a layer: {} experts, top-k {}, hidden {}, skew {}",
                     request.experts, request.top_k, request.layer.hidden, request.skew.name);
}

/// What rows take over from other machines, a sentence for each machine and number of ranks.
std::vector<std::string> takings_over(const ExchangePlanRequest& request,
                                      const ExchangePlan& plan) {
  std::vector<std::string> notes;
  for (const ExchangePlanRow& row : plan.rows) {
    if (row.taken_over.empty()) continue;
    std::string note = fmt::format("{}: constants of other runs: {}",
                                   describe(request.alternatives[row.alternative]), row.taken_over);
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }
  return notes;
}

void print_exchange_plan(const ExchangePlanRequest& request, const ExchangePlan& plan,
                         std::ostream& out) {
  out << wrapped(exchange_plan_title(request), "# ", "# ");
  out << wrapped(
      "layer: dispatch and combine; rate: tokens of a rank that a layer exchanges in a "
      "second; off: the median error to expect, either way; best: of as many ranks and tokens; "
      "tie: cannot be told apart from the best",
      "# ", "# ");
  for (const std::string& note : takings_over(request, plan)) {
    out << wrapped(note, "# ", "#   ");
  }
  const std::vector<Column> columns = exchange_plan_columns(request, plan);
  out << titles_of(columns);
  for (const ExchangePlanRow& row : plan.rows) {
    fmt::print(out, "{}\n", line_of(columns, exchange_plan_record(request, row)));
  }
}

std::vector<Record> exchange_plan_records(const ExchangePlanRequest& request,
                                          const ExchangePlan& plan) {
  std::vector<Record> records;
  records.reserve(plan.rows.size());
  for (const ExchangePlanRow& row : plan.rows) {
    records.push_back(exchange_plan_record(request, row));
  }
  return records;
}

/// A line for each machine and number of tokens, over the ranks.
ReportChart exchange_plan_chart(const std::vector<Record>& records) {
  ReportChart chart{"Rate of a rank",
                    {},
                    {"ranks", AxisScale::counts},
                    {"tokens a second", AxisScale::logarithmic}};
  for (const Record& record : records) {
    const std::string name = fmt::format("{}, {} tokens", record["machine"].get<std::string>(),
                                         json_text(record["tokens"]));
    ReportSeries& line = line_called(name, chart);
    line.points.push_back({record["ep"], record["tokens_per_s"]});
  }
  return chart;
}

Report exchange_plan_report(const ExchangePlanRequest& request, const ExchangePlan& plan,
                            const std::string& command) {
  const std::vector<Record> records = exchange_plan_records(request, plan);
  Report report{exchange_plan_title(request), command, {}, {}};
  add_trust_and_version(report, {}, {});
  ReportTable table{"",
                    {{"machine", "machine"},
                     {"ep", "ranks"},
                     {"nodes", "nodes"},
                     {"tokens", "tokens"},
                     {"kernels", "kernels"},
                     {"dispatch_us", "dispatch (us)", 1},
                     {"combine_us", "combine (us)", 1},
                     {"ports_us", "ports (us)", 1},
                     {"off", "off (%)", 0},
                     {"tokens_per_s", "tokens a second", 0},
                     {"busiest_port", "busiest port"},
                     {"mark", ""}},
                    records};
  report.sections.push_back({"", {exchange_plan_chart(records)}, {}, {std::move(table)}});
  return report;
}

ExchangePlanRequest read_exchange_plan(const po::variables_map& values) {
  ExchangePlanRequest request;
  request.ranks = parse_numbers("ep", values["ep"].as<std::string>(), 2, max_ranks_of_plan);
  request.tokens =
      parse_numbers("tokens", values["tokens"].as<std::string>(), 1, max_tokens_of_rank);
  request.layer.hidden = bounded_option(values, "hidden", 1, max_hidden_size);
  request.layer.sms = bounded_option(values, "sms", 1, max_sms_of_gpu);
  request.layer.type = read_token_type(values["type"].as<std::string>());
  request.experts = bounded_option(values, "experts", 1, max_experts_of_plan);
  request.top_k = bounded_option(values, "top-k", 1, std::min(max_top_k_of_plan, request.experts));
  request.hosts_per_token = bounded_option(values, "hosts-per-token", 1, max_ranks_of_plan);
  request.skew = read_skew(values["skew"].as<std::string>());
  if (values.contains("kernels")) {
    request.family = read_kernel_family(values["kernels"].as<std::string>());
  }
  return request;
}

}  // namespace

int answer_exchange_plan(std::vector<Alternative> alternatives, const po::variables_map& values,
                         const std::string& command, std::ostream& out, std::ostream& err) {
  ExchangePlanRequest request = read_exchange_plan(values);
  request.alternatives = std::move(alternatives);
  const ExchangePlan plan = [&] {
    const Waiting waiting(err, "predicting exchanges");
    return plan_exchange(request);
  }();
  print_warnings(plan.warnings, err);
  Answer answer;
  answer.print = [&](std::ostream& to) { print_exchange_plan(request, plan, to); };
  answer.rows = [&] { return exchange_plan_records(request, plan); };
  answer.report = [&] { return exchange_plan_report(request, plan, command); };
  write_answer(format_option(values), answer, out);
  return exit_ok;
}

}  // namespace collsim::command
