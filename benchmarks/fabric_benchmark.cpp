// How fast the engines move a ring's transfers: a flow over two private resources, then a timer of
// alpha, then the next rank's next step. One item is one flow with its timer.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/fabric/engine.h"
#include "sim/fabric/simgrid_fabric.h"

namespace collsim {
namespace {

constexpr double bytes = 1 << 20;
constexpr Seconds alpha = microseconds(1.3);

/// `stagger`: by which share rank i's transfers are larger than rank i - 1's. At 0 all ranks are in
/// step; otherwise every event has a time of its own.
class Ring final : public FabricListener {
 public:
  Ring(Fabric& fabric, std::uint32_t ranks, std::uint32_t steps, double stagger)
      : fabric_(&fabric), stagger_(stagger), steps_left_(ranks, steps) {
    std::vector<ResourceId> resources;
    for (std::uint32_t i = 0; i < 2 * ranks; ++i) {
      resources.push_back(fabric.add_resource(gigabytes_per_second(50)));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t next = (rank + 1) % ranks;
      const std::array route{resources[std::size_t{2} * rank],
                             resources[std::size_t{2} * next + 1]};
      routes_.push_back(fabric.add_route(route));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      send(rank);
    }
  }

  void on_flow_done(EventTag rank) override { fabric_->start_timer(alpha, rank); }
  void on_timer(EventTag rank) override {
    send((rank + 1) % static_cast<std::uint32_t>(routes_.size()));
  }

 private:
  void send(EventTag rank) {
    if (steps_left_[rank]-- > 0) {
      fabric_->start_flow(routes_[rank], bytes * (1 + stagger_ * rank), unlimited, rank);
    }
  }

  Fabric* fabric_;
  double stagger_;
  std::vector<std::int64_t> steps_left_;
  std::vector<RouteId> routes_;
};

void run_ring(benchmark::State& state, Engine engine, std::uint32_t transfers, double stagger) {
  if (engine == Engine::simgrid && !has_simgrid()) state.SkipWithError("built without SimGrid");
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const std::uint32_t steps = transfers / ranks;
  for ([[maybe_unused]] auto iteration : state) {
    const std::unique_ptr<Fabric> fabric = make_fabric(engine);
    Ring ring(*fabric, ranks, steps, stagger);
    fabric->run(ring);
    benchmark::DoNotOptimize(fabric->now());
  }
  state.SetItemsProcessed(state.iterations() * ranks * steps);
}

void ring_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("ranks")->Arg(8)->Arg(64)->Arg(256)->Arg(1024);
  benchmark->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(run_ring, native, Engine::native, 1U << 20U, 0.0)->Apply(ring_sizes);
BENCHMARK_CAPTURE(run_ring, native_staggered, Engine::native, 1U << 20U, 1e-3)->Apply(ring_sizes);
BENCHMARK_CAPTURE(run_ring, simgrid, Engine::simgrid, 1U << 16U, 0.0)->Apply(ring_sizes);

}  // namespace
}  // namespace collsim
