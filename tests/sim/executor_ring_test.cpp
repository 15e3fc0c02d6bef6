#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/executor.h"
#include "sim/native_fabric.h"

namespace collsim {
namespace {

TEST(Try, Ring) {
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(1024), 1);
  Wiring w;
  w.wires.resize(1);
  for (const Connection& c : plan.schedule(0).connections()) {
    auto& wire = w.wires[0].emplace_back();
    (void)c;
    w.capacities.push_back(gigabytes_per_second(50));
    w.capacities.push_back(gigabytes_per_second(50));
    wire.resources = {ResourceId(w.capacities.size() - 2), ResourceId(w.capacities.size() - 1)};
    wire.latency = microseconds(1);
  }
  Binding b(plan, Bytes{1 << 30}, Bytes{4}, Chunking{});
  TransferCost cost;
  NativeFabric fabric;
  auto r = execute({plan, b, w, cost, Protocol::simple}, fabric);
  printf("%.9f us %lu transfers\n", in_microseconds(r.time), (unsigned long)r.transfers);
}
}  // namespace
}  // namespace collsim
