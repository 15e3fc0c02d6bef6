#include "tools/collsim/plan/exchange_plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "sim/base/json_text.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::uint32_t max_ranks_of_plan = 4096;
constexpr std::uint32_t max_tokens_of_rank = 1U << 20;
constexpr std::uint32_t max_hidden_size = 1U << 17;
constexpr std::uint32_t max_experts_of_plan = 1U << 14;
constexpr std::uint32_t max_top_k_of_plan = 256;
constexpr std::uint32_t max_sms_of_gpu = 1024;

Table exchange_plan_table(const ExchangePlanRequest& request, const ExchangePlan& plan) {
  Table table;
  for (const ExchangePlanRow& row : plan.rows) {
    NewRow add(table);
    add({"machine", "machine"}, describe(request.alternatives[row.alternative]));
    add({"ep", "ep"}, row.ranks);
    add({"nodes", "nodes", "", 0, 1, wide_only}, row.nodes);
    add({"tokens", "tokens"}, row.tokens);
    add({"kernels", "kernels"}, to_string(row.family));
    add({"dispatch_us", "dispatch", "(us)", 1}, in_microseconds(row.dispatch));
    add({"combine_us", "combine", "(us)", 1}, in_microseconds(row.combine));
    add({"ports_us", "ports", "(us)", 1, 1, wide_only}, in_microseconds(row.ports));
    add({"layer_us", "layer", "(us)", 1}, in_microseconds(row.layer()));
    add({"tokens_per_s", "rate", "(tok/s)", 0}, row.rate());
    add({"busiest_port", "busiest port", "", 0, 1, wide_only}, row.port);
    add.data("typical_error", row.error);
    add.data("taken_over", row.taken_over);
    add({"off", "off", "(%)", 0}, 100 * row.error);
    add({"mark", ""}, row.best ? "best" : row.ties ? "tie" : "");
  }
  return table;
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

/// A line for each machine and number of tokens, over the ranks.
Chart exchange_plan_chart(const std::vector<Record>& records) {
  Chart chart{"Rate of a rank",
              {},
              {"ranks", AxisScale::counts},
              {"tokens a second", AxisScale::logarithmic}};
  for (const Record& record : records) {
    const std::string name = fmt::format("{}, {} tokens", record["machine"].get<std::string>(),
                                         json_text(record["tokens"]));
    ChartSeries& line = line_called(name, chart);
    line.points.push_back({record["ep"], record["tokens_per_s"]});
  }
  return chart;
}

Answer exchange_plan_answer(const ExchangePlanRequest& request, const ExchangePlan& plan,
                            const std::string& command) {
  Answer answer{exchange_plan_title(request), command};
  add_trust_and_version(answer, {}, {});
  answer.head({comment(answer.title)});
  Table table = exchange_plan_table(request, plan);
  AnswerSection section{"", {exchange_plan_chart(table.rows)}};
  section.notes.push_back(comment(
      "layer: dispatch and combine; rate: tokens of a rank that a layer exchanges in a second; "
      "off: the median error to expect, either way; best: of as many ranks and tokens; tie: cannot "
      "be told apart from the best"));
  for (const std::string& note : takings_over(request, plan)) {
    section.notes.push_back(comment(note));
  }
  section.tables.push_back(std::move(table));
  answer.sections.push_back(std::move(section));
  return answer;
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
  write_answer(format_option(values), exchange_plan_answer(request, plan, command), out);
  return exit_ok;
}

}  // namespace collsim::command
