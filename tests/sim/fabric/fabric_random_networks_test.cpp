// Random small networks with flows that start at random times, before run() and in callbacks: the
// engines have to agree with the brute-force reference on every completion time.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/sim/fabric/brute_force_max_min.h"
#include "tests/sim/fabric/fabric_test_support.h"
#include "tests/support/engines.h"

namespace collsim {
namespace {

struct Step {
  RouteId route;
  double bytes;
  double rate_cap;
  double weight;
  double delay;  ///< from the end of the step before to the start of the flow
};

/// Chains of flows: each starts a delay after the one before it has ended.
struct Workload {
  std::vector<double> capacities;
  std::vector<std::vector<ResourceId>> routes;
  std::vector<std::vector<Step>> chains;
};

/// Every 50th has some hundred flows at once, the others a dozen. In every other one all weigh the
/// same.
Workload random_workload(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&random](unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random() % (most - least + 1));
  };
  Workload workload;
  const unsigned scale = seed % 50 == 49 ? 10 : 1;
  const unsigned resources = draw(1, 8) * scale;
  for (unsigned r = 0; r < resources; ++r) {
    // A few different values only, so that equal shares and simultaneous ends do happen.
    workload.capacities.push_back(draw(0, 9) == 0 ? unlimited.value : 1e9 * draw(1, 12));
  }
  const unsigned routes = draw(1, 10) * scale;
  for (unsigned i = 0; i < routes; ++i) {
    std::vector<ResourceId> all(resources);
    for (unsigned r = 0; r < resources; ++r) all[r] = r;
    std::shuffle(all.begin(), all.end(), random);
    all.resize(draw(0, std::min(resources, 4U)));
    workload.routes.push_back(all);
  }
  workload.chains.resize(std::size_t{draw(1, 12)} * scale);
  for (auto& chain : workload.chains) {
    chain.resize(draw(1, 5));
    for (Step& step : chain) {
      step.route = draw(0, routes - 1);
      step.bytes = draw(0, 7) == 0 ? 0 : draw(1, 40) * (draw(0, 1) == 0 ? 1000.0 : 128.0 / 120);
      const auto& route = workload.routes[step.route];
      const bool limited = std::any_of(route.begin(), route.end(), [&](ResourceId r) {
        return workload.capacities[r] != unlimited.value;
      });
      step.rate_cap = !limited || draw(0, 2) == 0 ? 0.3e9 * draw(1, 20) : unlimited.value;
      step.weight = seed % 2 == 0 || draw(0, 3) == 0 ? 1 : 0.1 * draw(1, 60);
      step.delay = draw(0, 2) == 0 ? 0 : 1e-7 * draw(1, 30);
    }
  }
  return workload;
}

/// Runs a workload. Flow and timer `step` of `chain` have the tag chain * 100 + step.
class ChainRunner final : public FabricListener {
 public:
  ChainRunner(Fabric& fabric, const Workload& workload) : fabric_(&fabric), workload_(&workload) {
    for (const double capacity : workload.capacities) {
      fabric.add_resource(BytesPerSecond{capacity});
    }
    for (const auto& route : workload.routes) {
      fabric.add_route(route);
    }
    for (EventTag chain = 0; chain < workload.chains.size(); ++chain) {
      ends_.emplace_back(workload.chains[chain].size(), -1);
      begin_step(chain * 100);
    }
    fabric.run(*this);
  }

  void on_timer(EventTag tag) override {
    order_.push_back(tag);
    start(tag);
  }
  void on_flow_done(EventTag tag) override {
    order_.push_back(tag);
    ends_[tag / 100][tag % 100] = fabric_->now().value;
    if (tag % 100 + 1 < workload_->chains[tag / 100].size()) {
      begin_step(tag + 1);
    }
  }

  const std::vector<std::vector<double>>& ends() const { return ends_; }
  const std::vector<EventTag>& order() const { return order_; }

 private:
  void begin_step(EventTag tag) {
    const double delay = workload_->chains[tag / 100][tag % 100].delay;
    if (delay > 0) {
      fabric_->start_timer(Seconds{delay}, tag);
    } else {
      start(tag);
    }
  }
  void start(EventTag tag) {
    const Step& step = workload_->chains[tag / 100][tag % 100];
    fabric_->start_flow(step.route, step.bytes, {BytesPerSecond{step.rate_cap}, step.weight}, tag);
  }

  Fabric* fabric_;
  const Workload* workload_;
  std::vector<std::vector<double>> ends_;
  std::vector<EventTag> order_;
};

constexpr unsigned workloads = 400;

class FabricRandomNetworks : public testing::TestWithParam<Engine> {};

TEST_P(FabricRandomNetworks, agree_with_brute_force) {
  for (unsigned seed = 0; seed < workloads; ++seed) {
    const Workload workload = random_workload(seed);
    BruteForceFabric reference;
    const ChainRunner expected(reference, workload);
    const auto fabric = make_fabric(GetParam());
    const ChainRunner actual(*fabric, workload);
    for (std::size_t chain = 0; chain < workload.chains.size(); ++chain) {
      for (std::size_t step = 0; step < workload.chains[chain].size(); ++step) {
        const double end = expected.ends()[chain][step];
        ASSERT_GE(end, 0);
        ASSERT_NEAR(actual.ends()[chain][step], end, 1e-9 * end)
            << "seed " << seed << " chain " << chain << " step " << step;
      }
    }
  }
}

TEST_P(FabricRandomNetworks, report_events_in_the_same_order_again) {
  for (unsigned seed = 0; seed < workloads; seed += 4) {
    const Workload workload = random_workload(seed);
    auto fabric = make_fabric(GetParam());
    const auto first = ChainRunner(*fabric, workload);
    fabric.reset();
    fabric = make_fabric(GetParam());
    const auto second = ChainRunner(*fabric, workload);
    EXPECT_EQ(first.order(), second.order()) << "seed " << seed;
    EXPECT_EQ(first.ends(), second.ends()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, FabricRandomNetworks, testing::ValuesIn(test::fair_engines()),
                         engine_name);

TEST(FabricWorkloads, brute_force_loads_no_resource_beyond_its_capacity) {
  double highest = 0;
  for (unsigned seed = 0; seed < workloads; ++seed) {
    const Workload workload = random_workload(seed);
    BruteForceFabric fabric;
    const ChainRunner runner(fabric, workload);
    EXPECT_LE(fabric.highest_load(), 1 + 1e-12) << "seed " << seed;
    highest = std::max(highest, fabric.highest_load());
  }
  EXPECT_NEAR(highest, 1, 1e-12);  // and some are full
}

TEST(FabricWorkloads, uncontended_flows_never_end_later) {
  // Chains only: nothing that others do can make a chain faster than it is alone.
  for (unsigned seed = 0; seed < workloads; ++seed) {
    const Workload workload = random_workload(seed);
    const auto native = make_fabric(Engine::native);
    const auto uncontended = make_fabric(Engine::uncontended);
    const ChainRunner shared(*native, workload);
    const ChainRunner alone(*uncontended, workload);
    for (std::size_t chain = 0; chain < workload.chains.size(); ++chain) {
      for (std::size_t step = 0; step < workload.chains[chain].size(); ++step) {
        EXPECT_LE(alone.ends()[chain][step], shared.ends()[chain][step] * (1 + 1e-12));
      }
    }
  }
}

}  // namespace
}  // namespace collsim
