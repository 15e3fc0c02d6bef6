#include "tools/collsim/plan/exchange_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/call/rank_gpus.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"
#include "tools/collsim/moe/exchange_trust.h"

namespace collsim {

namespace {

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

/// Predicts exchanges machine by machine.
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
    const ExchangeKernel kernel = exchange_kernel(family, operation);
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

}  // namespace

ExchangePlan plan_exchange(const ExchangePlanRequest& request) {
  return ExchangePlanner(request).plan();
}

}  // namespace collsim
