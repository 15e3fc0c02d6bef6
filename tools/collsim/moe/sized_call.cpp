#include "tools/collsim/moe/sized_call.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "models/predict/predictor.h"
#include "models/simulate/unlike_messages.h"

namespace collsim {

namespace {

constexpr std::int64_t element = 4;  // bytes of a float

/// In whole elements; a sum of shares may be a little more than the whole.
Bytes in_elements(double bytes) {
  constexpr double rounding = 1e-6;
  return {element * static_cast<std::int64_t>(std::ceil(bytes / element - rounding))};
}

/// NCCL's all_to_all of equal sizes, in whole elements for each rank.
Bytes equal_size(double bytes_of_pair, Rank ranks) {
  return ranks * std::max(in_elements(bytes_of_pair), Bytes{element});
}

CallSpec spec_of(const SizedQuestion& question, const Calibration& cost, Collective collective) {
  CallSpec spec;
  spec.topology = question.topology;
  spec.cost = cost;
  spec.collective = collective;
  spec.run = question.run;
  spec.run.schedule = ScheduleKind::nccl;
  spec.gpus.assign(question.gpus.begin(), question.gpus.end());
  return spec;
}

MessageSizes sizes_of(const TrafficMatrix& bytes) {
  MessageSizes sizes{bytes.ranks()};
  for (Rank i = 0; i < sizes.ranks * sizes.ranks; ++i) {
    sizes.sizes.push_back(in_elements(bytes.amount(i / sizes.ranks, i % sizes.ranks)));
  }
  return sizes;
}

/// Of the matrix of an all_gather_v, whose ranks send all others the same.
Seconds gathered(const SizedQuestion& question, const Calibration& cost,
                 const TrafficMatrix& bytes) {
  std::vector<CallCompiler> broadcasts;
  broadcasts.reserve(bytes.ranks());  // they refer to the first
  std::vector<Bytes> sizes;
  for (Rank root = 0; root < bytes.ranks(); ++root) {
    CallSpec spec = spec_of(question, cost, Collective::broadcast);
    spec.root = root;
    if (root > 0) spec.like = broadcasts.front().nccl();
    broadcasts.emplace_back(std::move(spec));
    sizes.push_back(in_elements(bytes.amount(root, root)));
  }
  return time_of_broadcasts(broadcasts, sizes);
}

}  // namespace

SizedCall sized_call(const SizedQuestion& question, const TrafficMatrix& bytes,
                     const Calibration& cost) {
  Predictor predictor(spec_of(question, cost, Collective::all_to_all),
                      question.estimate ? by_formulas() : by_simulation());
  const auto predict = [&](double bytes_of_pair) {
    return predictor.predict(equal_size(bytes_of_pair, bytes.ranks()));
  };
  SizedCall call;
  call.ports = exchange_over_ports(*question.topology, question.gpus, bytes);
  const TrafficMatrix even = evened(bytes);
  const Seconds even_ports = exchange_over_ports(*question.topology, question.gpus, even).time;
  const double mean = even.amount(0, 0);
  const double factor = even_ports.value > 0 ? call.ports.time.value / even_ports.value : 0;
  call.even = predict(mean).time;
  Prediction skewed = predict(mean * factor);
  call.time = skewed.time;
  call.trust = skewed.trust;
  call.medium = std::move(skewed.medium);
  const MessageSizes sizes = sizes_of(bytes);
  const bool differ = std::set<Bytes>(sizes.sizes.begin(), sizes.sizes.end()).size() > 1;
  if (question.estimate || !are_few(sizes)) return call;
  if (question.gathers) {
    call.time = gathered(question, cost, bytes);
    call.even = gathered(question, cost, even);
  } else if (differ) {
    call.time = time_of_messages(predictor.compiler(), sizes);
  }
  return call;
}

}  // namespace collsim
