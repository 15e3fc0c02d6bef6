#include "models/exchange/sized_call.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/call/call_compiler.h"
#include "models/estimate/estimator.h"
#include "models/simulate/simulator.h"

namespace collsim {

namespace {

/// NCCL's all_to_all of equal sizes, in whole elements for each rank.
Bytes equal_size(double bytes_of_pair, Rank ranks) {
  constexpr double element = 4;  // bytes of a float
  const auto elements = static_cast<std::int64_t>(std::ceil(bytes_of_pair / element));
  constexpr std::int64_t bytes_of_element = 4;
  return Bytes{std::max<std::int64_t>(elements, 1) * bytes_of_element * ranks};
}

}  // namespace

SizedCall sized_call(const Topology& topology, std::span<const DeviceId> gpus,
                     const Calibration& cost, const TrafficMatrix& bytes, bool estimate) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = cost;
  spec.collective = Collective::all_to_all;
  spec.run.schedule = ScheduleKind::nccl;
  spec.gpus.assign(gpus.begin(), gpus.end());
  const CallCompiler compiler(spec);
  const auto time_of = [&](double bytes_of_pair) {
    const Bytes size = equal_size(bytes_of_pair, bytes.ranks());
    return estimate ? Estimator(compiler).estimate(size).time
                    : Simulator(compiler).simulate(size).time;
  };
  SizedCall call;
  call.ports = exchange_over_ports(topology, gpus, bytes);
  const TrafficMatrix even = evened(bytes);
  const Seconds even_ports = exchange_over_ports(topology, gpus, even).time;
  const double mean = even.amount(0, 0);
  const double factor = even_ports.value > 0 ? call.ports.time.value / even_ports.value : 0;
  call.even = time_of(mean);
  call.time = time_of(mean * factor);
  return call;
}

}  // namespace collsim
