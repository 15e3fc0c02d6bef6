// Transfers per second of a whole ring all-reduce: executor and fabric together, the plan and its
// wiring made beforehand. items_per_second is transfers (one message, one hop) per second.

#include <benchmark/benchmark.h>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/execution/wiring.h"
#include "sim/fabric/engine.h"
#include "sim/fabric/simgrid_fabric.h"

namespace collsim {
namespace {

/// One port in and one out per rank, 50 GB/s, 1 us.
Wiring switch_wiring(const Plan& plan) {
  Wiring wiring;
  wiring.capacities.assign(std::size_t{2} * plan.ranks(), gigabytes_per_second(50));
  auto& wires = wiring.wires.emplace_back();
  for (const Connection& connection : plan.schedule(0).connections()) {
    wires.push_back(
        {{connection.src, plan.ranks() + connection.dst}, microseconds(1), LinkKind::network});
  }
  return wiring;
}

void run_ring(benchmark::State& state, Engine engine, bool fold) {
  if (engine == Engine::simgrid && !has_simgrid()) state.SkipWithError("built without SimGrid");
  const auto ranks = static_cast<Rank>(state.range(0));
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(ranks));
  const Wiring wiring = switch_wiring(plan);
  const DataPartition partition(plan, Bytes{std::int64_t{1} << 30}, Bytes{4}, {});
  const Calibration ideal;
  std::uint64_t transfers = 0;
  while (state.KeepRunning()) {
    const auto fabric = make_fabric(engine);
    Execution execution{plan, partition, wiring, ideal, Protocol::simple};
    execution.fold = fold;
    transfers += execute(execution, *fabric).transfers;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(transfers));
}

BENCHMARK_CAPTURE(run_ring, native, Engine::native, false)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);
// All ranks are equal: one is simulated.
BENCHMARK_CAPTURE(run_ring, native_folded, Engine::native, true)
    ->Arg(1024)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);
// 1,024 ranks are two million transfers: once is enough.
BENCHMARK_CAPTURE(run_ring, simgrid, Engine::simgrid, false)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run_ring, simgrid, Engine::simgrid, false)
    ->Arg(1024)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace collsim
