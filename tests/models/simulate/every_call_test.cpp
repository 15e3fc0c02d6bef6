// Whatever can be asked is answered soundly: every collective, algorithm and protocol, the
// textbook's and NCCL's, on 1 to 17 ranks, for sizes from nothing to 64 MiB. The time is finite and
// not below its bounds, the plan is right, and the pieces of the call are together what it has to
// move. Algorithms join by being in the registry, or by having a plan of NCCL's.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/algorithms/registry.h"
#include "sim/nccl/nccl_chunking.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/plan/checker.h"

namespace collsim {
namespace {

constexpr Rank max_ranks = 17;
constexpr std::array<std::int64_t, 6> sizes{0, 1, 7, 4096, 1000003, 64 << 20};
/// The one at which plans are checked, and the ranks up to which that is cheap.
constexpr std::int64_t checked_size = 4096;
constexpr Rank max_checked_ranks = 9;

/// All on one NVSwitch.
Topology one_node(Rank ranks) {
  TopologyBuilder builder("one node");
  Graph node;
  node.devices = {{"nvswitch0", DeviceKind::nvswitch}};
  for (Rank rank = 0; rank < ranks; ++rank) {
    node.devices.push_back({"gpu" + std::to_string(rank), DeviceKind::gpu, "H100"});
    node.links.push_back({rank + 1, 0, LinkKind::nvlink, 18, gigabytes_per_second(478), {}});
  }
  builder.add_nodes(node, 1);
  return std::move(builder).build();
}

/// Every one on a network switch of its own way.
Topology one_gpu_per_node(Rank ranks) {
  TopologyBuilder builder("one GPU per node");
  Graph node;
  node.devices = {{"gpu0", DeviceKind::gpu, "H100"}};
  builder.add_nodes(node, ranks);
  const DeviceId network_switch = builder.add_device({"switch0", DeviceKind::network_switch});
  for (Rank rank = 0; rank < ranks; ++rank) {
    builder.add_link(builder.node(rank).first_device, network_switch, LinkKind::network,
                     gigabytes_per_second(50), microseconds(1));
  }
  return std::move(builder).build();
}

/// Everything costs something; no granules, which make many events of one.
Calibration some_cost() {
  Calibration cost;
  cost.launch = microseconds(5);
  for (ProtocolConstants& each : cost.protocols) {
    each.step = microseconds(0.5);
    each.alpha.fill(microseconds(1));
    each.read = gigabytes_per_second(200);
    each.write = gigabytes_per_second(40);
  }
  cost.protocols[0].wire_factor = 2;
  cost.protocols[1].wire_factor = 128.0 / 120;
  return cost;
}

/// What all chunks of a call must have together. Of messages, what is sent.
std::int64_t bytes_to_move(const Plan& plan, Bytes size, bool under_nccl) {
  const Rank ranks = plan.ranks();
  if (plan.channels_divide_chunks) {
    const std::int64_t messages = plan.collective == Collective::all_to_all  ? ranks * (ranks - 1)
                                  : plan.collective == Collective::send_recv ? ranks
                                                                             : ranks - 1;
    return messages * bytes_per_rank(plan.collective, ranks, size, float_size).count;
  }
  if (!under_nccl) return size.count * sizes_held(plan.collective, ranks);
  const std::int64_t per_block = bytes_per_rank(plan.collective, ranks, size, float_size).count;
  return per_block * blocks(plan.collective, ranks);
}

std::int64_t bytes_bound(const Plan& plan, const DataPartition& partition) {
  std::int64_t bytes = 0;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    for (std::uint32_t loop = 0; loop < partition.loops(channel); ++loop) {
      if (!plan.channels_divide_chunks) {
        bytes += partition.chunk_bytes(channel, loop, {0, schedule.chunks()}).count;
        continue;
      }
      for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
        for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
          for (const Primitive& primitive : schedule.program(rank, lane)) {
            if (!sends(primitive.kind)) continue;
            bytes += partition.chunk_bytes(channel, loop, primitive.chunks()).count;
          }
        }
      }
    }
  }
  return bytes;
}

/// `candidate`: what NCCL is to run; null for what the compiler runs by itself.
void expect_sound_answers(const CallCompiler& compiler, Collective collective,
                          const Candidate* candidate = nullptr) {
  for (const std::int64_t asked : sizes) {
    const Bytes size{asked / float_size.count * float_size.count};
    const Prediction prediction = candidate == nullptr ? simulate(compiler.plan(size))
                                                       : simulate(compiler.plan(size, *candidate));
    EXPECT_TRUE(std::isfinite(prediction.time.value)) << asked;
    EXPECT_GE(prediction.time.value, prediction.bounds.largest().value * (1 - 1e-9)) << asked;
    EXPECT_GE(prediction.time.value, prediction.floor.busiest_link.value * (1 - 1e-9)) << asked;
    EXPECT_GE(prediction.time.value, compiler.cost().launch.value) << asked;
    const CompiledCall call =
        candidate == nullptr ? compiler.plan(size) : compiler.plan(size, *candidate);
    const bool under_nccl = compiler.nccl() != nullptr;
    const bool nccl_barrier = under_nccl && collective == Collective::barrier;
    const Bytes moved = nccl_barrier ? float_size : size;
    EXPECT_EQ(bytes_bound(call.plan(), call.partition),
              bytes_to_move(call.plan(), moved, under_nccl))
        << asked;
    if (asked != checked_size || compiler.ranks() > max_checked_ranks) continue;
    const std::uint32_t credits = std::max(2U, call.plan().min_credits);
    const CheckReport report = check(call.plan(), {.credits = {credits}, .orders = 1, .loops = 1});
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.violations.front().text);
  }
}

constexpr std::array protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

class EveryCall : public testing::TestWithParam<Collective> {};

TEST_P(EveryCall, of_the_textbook_is_sound) {
  const Collective collective = GetParam();
  const Calibration cost = some_cost();
  int answered = 0;
  for (Rank ranks = 1; ranks <= max_ranks; ++ranks) {
    const Topology topology = one_node(ranks);
    for (const std::string& algorithm : algorithm_names(collective)) {
      if (why_unsupported(collective, algorithm, uniform_placement(ranks, ranks))) continue;
      if (needs_adding_switch(collective, algorithm)) continue;  // this node has none
      for (const Protocol protocol : protocols) {
        SCOPED_TRACE(algorithm + " " + std::string(to_string(protocol)) + " on " +
                     std::to_string(ranks));
        RunSpec run;
        run.schedule = ScheduleKind::textbook;
        run.algorithm = algorithm;
        run.protocol = protocol;
        run.channels = 2;
        run.chunking.emplace().largest_chunk = {8 << 20};
        expect_sound_answers(
            CallCompiler({&topology, cost, collective, run, first_gpus(topology, ranks),
                          has_root(collective) ? ranks / 2 : 0}),
            collective);
        ++answered;
      }
    }
  }
  EXPECT_GE(answered, 3 * static_cast<int>(max_ranks));
}

/// All that NCCL considers on a machine and that has a plan; returns how many pairs that are.
int expect_sound_candidates(const CallCompiler& compiler, Collective collective,
                            const std::string& place) {
  const Collective planned = under_nccl(collective);
  int candidates = 0;
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    if (why_no_nccl_plan(planned, algorithm)) continue;
    for (const Protocol protocol : protocols) {
      const NcclFunction function = *function_of(collective);
      if (!compiler.nccl()->estimate(function, algorithm, protocol, float_size)) continue;
      SCOPED_TRACE(std::string(to_string(algorithm)) + " " + std::string(to_string(protocol)) +
                   place);
      const Candidate candidate{algorithm, protocol, 0};
      expect_sound_answers(compiler, collective, &candidate);
      ++candidates;
    }
  }
  return candidates;
}

TEST_P(EveryCall, of_nccl_is_sound) {
  const Collective collective = GetParam();
  const Calibration cost = some_cost();
  RunSpec run;  // of few and large pieces
  run.schedule = ScheduleKind::nccl;
  run.variables = {{"NCCL_MAX_NCHANNELS", "2"}, {"NCCL_LL_BUFFSIZE", "8388608"}};
  for (Rank ranks = 1; ranks <= max_ranks; ++ranks) {
    const Rank root = has_root(collective) ? ranks / 2 : 0;
    for (const Topology& topology : {one_node(ranks), one_gpu_per_node(ranks)}) {
      const std::string place = " on " + std::to_string(ranks) + ", " + topology.name();
      SCOPED_TRACE(place);
      const CallCompiler compiler(
          {&topology, cost, collective, run, first_gpus(topology, ranks), root});
      if (compiler.nccl() == nullptr || !function_of(collective)) {
        expect_sound_answers(compiler, collective);
      } else {
        // Ring with LL and Simple runs everywhere.
        EXPECT_GE(expect_sound_candidates(compiler, collective, place), 2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryCall, testing::ValuesIn(all_collectives()),
                         [](const testing::TestParamInfo<Collective>& each) {
                           return std::string(to_string(each.param));
                         });

}  // namespace
}  // namespace collsim
