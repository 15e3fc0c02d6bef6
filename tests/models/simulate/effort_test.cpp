// Messages counted before a call runs against those that it sends, over the shipped machines: what
// budgets and limits go by.

#include "sim/execution/effort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

struct Count {
  int all = 0;
  int off = 0;  // by more than a quarter
};

/// Of two nodes or 16 GPUs.
void count_on(const fs::path& file, Count& count) {
  const Topology topology = load_topology(file);
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.gpus = first_gpus(topology, std::min<Rank>(16, static_cast<Rank>(topology.gpus().size())));
  const CallCompiler compiler(std::move(spec));
  if (compiler.nccl() == nullptr || compiler.ranks() < 2) return;
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree}) {
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const Bytes size{1 << 20};
      if (!compiler.nccl()->estimate(*compiler.nccl_function(), algorithm, protocol, size))
        continue;
      const CompiledCall call = compiler.plan(size, Candidate{algorithm, protocol, 0});
      const double counted = effort_of(execution_of(call)).whole;
      const auto sent = static_cast<double>(simulate(call, {.exact = true}).transfers);
      ++count.all;
      const bool is_off = counted > 1.25 * sent || sent > 1.25 * counted;
      count.off += is_off ? 1 : 0;
      EXPECT_FALSE(is_off) << file.stem() << ": " << call.algorithm << " " << to_string(protocol)
                           << ": " << counted << ", not " << sent;
    }
  }
}

TEST(Effort, is_what_calls_of_the_shipped_machines_send) {
  Count count;
  for (const auto& entry : fs::directory_iterator(fs::path(COLLSIM_SOURCE_DIR) / "topologies")) {
    if (entry.path().extension() == ".yaml") count_on(entry.path(), count);
  }
  std::cout << count.off << " of " << count.all << " calls send other numbers\n";
  EXPECT_GE(count.all, 100);
}

}  // namespace
}  // namespace collsim
