#include "tools/collsim/watch/expected_calls.h"

#include <utility>

#include "models/calibration/error_table.h"
#include "sim/base/input_error.h"

namespace collsim::command {

namespace {

constexpr Bytes smallest{8};
constexpr std::size_t max_shapes = 256;
constexpr std::size_t max_sizes = 4096;  // of a shape

const std::optional<ExpectedTime> unknown;

}  // namespace

ExpectedCalls::ExpectedCalls(CallRequest question) : question_(std::move(question)) {}

const std::optional<ExpectedTime>& ExpectedCalls::of(const StreamedCall& call) {
  if (!call.collective || *call.collective == Collective::barrier) return unknown;
  const Shape shape{*call.collective, call.ranks, call.nodes};
  const auto known = asked_.find(shape);
  if (known == asked_.end() && asked_.size() >= max_shapes) asked_.clear();
  Asked* const asked =
      (known != asked_.end() ? known : asked_.emplace(shape, ask(shape)).first)->second.get();
  if (asked == nullptr) return unknown;
  if (asked->by_size.size() >= max_sizes) asked->by_size.clear();
  const auto [entry, is_new] = asked->by_size.try_emplace(call.bytes);
  if (is_new) entry->second = expect(*asked, call.bytes);
  return entry->second;
}

std::unique_ptr<ExpectedCalls::Asked> ExpectedCalls::ask(const Shape& shape) const {
  const auto [collective, ranks, nodes] = shape;
  if (ranks < 2 || ranks % nodes != 0) return nullptr;
  Scenario scenario = question_.scenario;
  scenario.collective = collective;
  scenario.ranks = static_cast<Rank>(ranks);
  scenario.ranks_per_node = static_cast<Rank>(ranks / nodes);
  try {
    auto asked = std::make_unique<Asked>(
        Asked{question_about(scenario, question_.topology, question_.errors), {}});
    asked->predictor = std::make_unique<Predictor>(
        spec_of(asked->request, asked->request.scenario.runs.front()), by_formulas());
    asked->empty = in_microseconds(asked->predictor->predict(smallest).time);
    return asked;
  } catch (const InputError&) {  // more ranks than the machine has
    return nullptr;
  }
}

ExpectedTime ExpectedCalls::expect(Asked& asked, std::int64_t bytes) {
  const Prediction made = asked.predictor->predict(Bytes{bytes});
  const double time = in_microseconds(made.time);
  const auto range = error_range(asked.request.errors, made.trust, made.medium, made.size);
  const ErrorRange shares = range.value_or(ErrorRange{});
  return {time, time * shares.low, time * shares.high, time < 2 * asked.empty};
}

}  // namespace collsim::command
