#include "tools/collsim/moe/sized_call.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "models/predict/predictor.h"

namespace collsim {

namespace {

/// NCCL's all_to_all of equal sizes, in whole elements for each rank.
Bytes equal_size(double bytes_of_pair, Rank ranks) {
  constexpr double element = 4;      // bytes of a float
  constexpr double rounding = 1e-6;  // a sum of shares may be a little more than the whole
  const auto elements = static_cast<std::int64_t>(std::ceil(bytes_of_pair / element - rounding));
  constexpr std::int64_t bytes_of_element = 4;
  return Bytes{std::max<std::int64_t>(elements, 1) * bytes_of_element * ranks};
}

}  // namespace

SizedCall sized_call(const Topology& topology, std::span<const DeviceId> gpus,
                     const Calibration& cost, const TrafficMatrix& bytes, const RunSpec& run,
                     bool estimate) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = cost;
  spec.collective = Collective::all_to_all;
  spec.run = run;
  spec.run.schedule = ScheduleKind::nccl;
  spec.gpus.assign(gpus.begin(), gpus.end());
  Predictor predictor(std::move(spec), estimate ? by_formulas() : by_simulation());
  const auto predict = [&](double bytes_of_pair) {
    return predictor.predict(equal_size(bytes_of_pair, bytes.ranks()));
  };
  SizedCall call;
  call.ports = exchange_over_ports(topology, gpus, bytes);
  const TrafficMatrix even = evened(bytes);
  const Seconds even_ports = exchange_over_ports(topology, gpus, even).time;
  const double mean = even.amount(0, 0);
  const double factor = even_ports.value > 0 ? call.ports.time.value / even_ports.value : 0;
  call.even = predict(mean).time;
  Prediction skewed = predict(mean * factor);
  call.time = skewed.time;
  call.trust = skewed.trust;
  call.medium = std::move(skewed.medium);
  return call;
}

}  // namespace collsim
