// Executions share a hash if they are the same, and do not if anything that counts differs.

#include "sim/execution/execution_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/cost/constants.h"
#include "sim/cost/cost_hash.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// What an Execution is made of, each of which may be changed.
struct Parts {
  const char* algorithm = "ring";
  Rank ranks = 4;
  std::int64_t bytes = 1 << 20;
  std::int64_t chunk = 1 << 14;
  Calibration cost{};
  MachineEvents events{};
  Protocol protocol = Protocol::simple;
  std::uint32_t warps = 0;
  std::uint32_t calls = 1;
  std::function<void(Wiring&)> rewire = [](Wiring&) {};
};

std::uint64_t hash_of_parts(const Parts& parts) {
  const Plan plan =
      make_plan(Collective::all_reduce, parts.algorithm, uniform_placement(parts.ranks));
  const DataPartition partition(plan, Bytes{parts.bytes}, Bytes{4},
                                {.largest_chunk = Bytes{parts.chunk}});
  Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(10), microseconds(1));
  parts.rewire(wiring);
  return hash_of({plan, partition, wiring, parts.cost, parts.protocol, parts.warps, parts.calls,
                  &parts.events});
}

TEST(ExecutionHash, is_the_same_for_the_same) {
  EXPECT_EQ(hash_of_parts({}), hash_of_parts({}));
}

TEST(ExecutionHash, differs_where_anything_does) {
  std::vector<Parts> all(14);
  all[1].algorithm = "tree";
  all[2].ranks = 5;
  all[3].bytes += 4;
  all[4].chunk *= 2;
  all[5].cost.launch = microseconds(1);
  all[6].events.late = {Seconds{}, microseconds(1)};
  all[7].protocol = Protocol::ll;
  all[8].warps = 16;
  all[9].calls = 2;
  all[10].rewire = [](Wiring& wiring) { wiring.capacities[3] = gigabytes_per_second(9); };
  all[11].rewire = [](Wiring& wiring) { wiring.wires[0][2].latency = microseconds(2); };
  all[12].rewire = [](Wiring& wiring) { wiring.wires[0][2].resources.pop_back(); };
  all[13].events.changes = {{microseconds(5), {{2, gigabytes_per_second(1)}}}};
  std::set<std::uint64_t> hashes;
  for (const Parts& parts : all) hashes.insert(hash_of_parts(parts));
  EXPECT_EQ(hashes.size(), all.size());
}

// 0.375 is the default of none: they are 0, 1 or unlimited.
TEST(CostHash, differs_by_every_constant) {
  std::set<std::uint64_t> hashes{hash_of(Calibration())};
  std::size_t constants = 1;
  const auto change = [&](const auto& table) {
    for (const MachineConstant& each : table) {
      Calibration cost;
      each.in(cost) = 0.375;
      hashes.insert(hash_of(cost));
      ++constants;
    }
  };
  change(machine_constants);
  change(nvls_constants);
  change(correction_constants);
  change(host_constants);
  for (const ProtocolConstant& each : thread_block_constants) {
    Calibration cost;
    each.in(cost.protocols[0]) = 0.375;
    hashes.insert(hash_of(cost));
    cost = {};
    cost.over[1][2].emplace();
    each.in(*cost.over[1][2]) = 0.375;
    hashes.insert(hash_of(cost));
    constants += 2;
  }
  EXPECT_EQ(hashes.size(), constants);
}

TEST(CostHash, is_not_of_names) {
  Calibration named;
  named.name = "other";
  EXPECT_EQ(hash_of(named), hash_of(Calibration()));
}

}  // namespace
}  // namespace collsim
