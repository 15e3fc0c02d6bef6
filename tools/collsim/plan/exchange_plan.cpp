#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/call/rank_gpus.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/moe/exchange_trust.h"
#include "tools/collsim/moe/expert_exchange.h"
#include "tools/collsim/moe/skew.h"
#include "tools/collsim/plan/subjects.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// What is asked of machines that exchange the tokens of a mixture of experts.
struct ExchangePlanRequest {
  std::vector<Alternative> alternatives{};  ///< as many nodes of each as the ranks need
  std::vector<std::uint32_t> ranks{};       ///< that the experts are spread over
  std::vector<std::uint32_t> tokens{};      ///< of a rank
  std::optional<KernelFamily> family{};     ///< nothing: the quickest that such machines have
  ExpertLayer layer{};
  std::uint32_t experts = 256;
  std::uint32_t top_k = 8;
  std::uint32_t hosts_per_token = 4;
  Skew skew{};
};

/// One machine, one number of ranks, one number of tokens, by the quickest kernels.
struct ExchangePlanRow {
  std::size_t alternative = 0;
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::uint32_t tokens = 1;
  KernelFamily family = KernelFamily::deepep;
  Seconds dispatch{};  ///< with what comes before it (nvlink-two-sided's prepare)
  Seconds combine{};
  Seconds ports{};           ///< in which ports are full, of both
  std::string port{};        ///< the busiest of the dispatch
  double error = 0;          ///< of layer(): the median to expect, as a share
  std::string taken_over{};  ///< what is another machine's of the constants; empty: nothing
  bool best = false;         ///< the highest rate of as many ranks and tokens
  bool ties = false;         ///< within the error it might be the best
  Seconds layer() const { return dispatch + combine; }
  /// Tokens of a rank that a layer exchanges in a second.
  double rate() const { return tokens / layer().value; }
};

/// The answer, by alternative, ranks and tokens.
struct ExchangePlan {
  std::vector<ExchangePlanRow> rows{};
  std::set<std::string> warnings{};  ///< of machines that are left out
};

/// DeepEP's kernels were recorded on hosts of 8, TensorRT-LLM's on racks.
constexpr std::uint32_t gpus_of_host = 8;

std::vector<KernelFamily> families_of(const ExchangePlanRequest& request, std::uint32_t ranks,
                                      bool one_node) {
  if (request.family) return {*request.family};
  if (one_node && ranks > gpus_of_host) {
    return {KernelFamily::nvlink_one_sided, KernelFamily::nvlink_two_sided};
  }
  return {KernelFamily::deepep, KernelFamily::deepep_low_latency};
}

/// Predicts the exchange of a layer on every machine. Machines that no kernel runs on are left out
/// with a warning. Throws InputError where nothing is left, and for experts that do not fit.
class ExchangePlanner {
 public:
  explicit ExchangePlanner(const ExchangePlanRequest& request) : request_(request) {}

  ExchangePlan plan();

 private:
  void add_machine(std::size_t number);
  void add_rows(std::size_t number, std::uint32_t ranks, std::uint32_t per_node);
  ExchangePlanRow row_by(KernelFamily family, const Topology& topology, const ExpertPlaces& places,
                         std::span<const DeviceId> gpus, std::uint32_t tokens) const;
  void find_best();

  const ExchangePlanRequest& request_;
  const ExchangeErrors errors_;
  ExchangePlan plan_;
};

ExchangePlanRow ExchangePlanner::row_by(KernelFamily family, const Topology& topology,
                                        const ExpertPlaces& places, std::span<const DeviceId> gpus,
                                        std::uint32_t tokens) const {
  require_machine_for(family, topology, gpus);
  const TokenTraffic traffic = token_traffic(places, request_.skew);
  ExchangePlanRow row;
  row.tokens = tokens;
  row.family = family;
  const auto exchange = [&](ExpertOperation operation) {
    ExpertLayer layer = request_.layer;
    layer.tokens = tokens;
    if (operation == ExpertOperation::combine) layer.type = TokenType::bf16;
    const ExchangeKernel kernel =
        exchange_kernel(family, operation, gpu_name(topology, gpus.front()));
    ExpertExchange done = expert_exchange(topology, gpus, kernel, places, traffic, layer);
    ExchangeTrust trust = errors_.of(kernel, topology, gpus, done.sent);
    row.error = std::max(row.error, trust.error);
    row.taken_over = std::move(trust.note);
    return done;
  };
  const ExpertExchange out = exchange(ExpertOperation::dispatch);
  const ExpertExchange back = exchange(ExpertOperation::combine);
  row.dispatch = out.time;
  row.combine = back.time;
  row.ports = out.ports.time + back.ports.time;
  if (!out.ports.ports.empty()) row.port = out.ports.ports.front().name;
  if (family == KernelFamily::nvlink_two_sided) {
    row.dispatch += exchange(ExpertOperation::prepare).time;
  }
  return row;
}

void ExchangePlanner::add_rows(std::size_t number, std::uint32_t ranks, std::uint32_t per_node) {
  const std::uint32_t nodes = divide_up(ranks, per_node);
  const Topology topology = compose(request_.alternatives[number].parts, nodes);
  const std::vector<DeviceId> gpus = first_gpus(topology, ranks);
  ExpertPlaces places;
  places.experts = request_.experts;
  places.top_k = request_.top_k;
  places.hosts_per_token = request_.hosts_per_token;
  places.host_of_rank = hosts_of(topology, gpus);
  for (const std::uint32_t tokens : request_.tokens) {
    std::optional<ExchangePlanRow> quickest;
    for (const KernelFamily family : families_of(request_, ranks, nodes == 1)) {
      ExchangePlanRow row = row_by(family, topology, places, gpus, tokens);
      if (!quickest || row.layer() < quickest->layer()) quickest = std::move(row);
    }
    quickest->alternative = number;
    quickest->ranks = ranks;
    quickest->nodes = nodes;
    plan_.rows.push_back(std::move(*quickest));
  }
}

void ExchangePlanner::add_machine(std::size_t number) {
  const Topology node = compose(request_.alternatives[number].parts, 1);
  const auto per_node = static_cast<std::uint32_t>(node.gpus().size());
  for (const std::uint32_t ranks : request_.ranks) add_rows(number, ranks, per_node);
}

void ExchangePlanner::find_best() {
  for (const std::uint32_t ranks : request_.ranks) {
    for (const std::uint32_t tokens : request_.tokens) {
      ExchangePlanRow* best = nullptr;
      for (ExchangePlanRow& row : plan_.rows) {
        if (row.ranks != ranks || row.tokens != tokens) continue;
        const auto order = [](const ExchangePlanRow& each) {
          return std::pair(each.layer(), each.error);
        };
        if (best == nullptr || order(row) < order(*best)) best = &row;
      }
      if (best == nullptr) continue;
      best->best = true;
      for (ExchangePlanRow& row : plan_.rows) {
        if (row.ranks != ranks || row.tokens != tokens || &row == best) continue;
        row.ties = row.layer() <= (1 + std::max(row.error, best->error)) * best->layer();
      }
    }
  }
}

ExchangePlan ExchangePlanner::plan() {
  for (std::size_t i = 0; i < request_.alternatives.size(); ++i) {
    try {
      add_machine(i);
    } catch (const InputError& error) {
      if (request_.alternatives.size() == 1) throw;
      plan_.warnings.insert(
          fmt::format("{} is left out: {}", describe(request_.alternatives[i]), error.what()));
    }
  }
  if (plan_.rows.empty()) {
    throw InputError("no machine can exchange tokens so", "other --ep, --kernels or machines");
  }
  find_best();
  return std::move(plan_);
}

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
  add_ranges_and_version(answer);
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

PlannedAnswer plan_expert_exchange(std::vector<Alternative> alternatives,
                                   const po::variables_map& values, const std::string& command) {
  ExchangePlanRequest request = read_exchange_plan(values);
  request.alternatives = std::move(alternatives);
  ExchangePlan plan = ExchangePlanner(request).plan();
  return {exchange_plan_answer(request, plan, command), std::move(plan.warnings)};
}

}  // namespace collsim::command
