// What must hold of calls at once inside any node, whatever its constants: no call is faster beside
// others, together they take no longer than one after the other, whoever is named first.

#include "models/program/calls_in_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/imports/machine.h"
#include "sim/execution/calls_at_once.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"

namespace collsim {
namespace {

struct Node {
  std::string machine;
  bool peers = true;  ///< else GPUs talk through host memory
};

class Calls {
 public:
  explicit Calls(const Node& node) : node_(node), topology_(load_machine(node.machine).topology) {}

  CallsInNode::Call of(Collective collective, std::int64_t bytes,
                       const std::vector<std::vector<Rank>>& ranks) const {
    CallsInNode::Call call{collective, Bytes{bytes}, {}};
    for (const std::vector<Rank>& each : ranks) {
      std::vector<DeviceId>& gpus = call.gpus.emplace_back();
      for (const Rank rank : each) gpus.push_back(topology_.gpus()[rank]);
    }
    return call;
  }
  CallSpec spec_of(Collective collective, const std::vector<DeviceId>& gpus) const {
    RunSpec run;
    run.variables["NCCL_NVLS_ENABLE"] = "0";
    if (!node_.peers) run.variables["NCCL_P2P_DISABLE"] = "1";
    return {&topology_, calibration_for(topology_), collective,
            with_defaults(run, collective, topology_), gpus};
  }
  std::vector<double> rates(const std::vector<CallsInNode::Call>& calls) const {
    CallsInNode in_node(
        [this](Collective collective, const std::vector<DeviceId>& gpus, Rank root) {
          CallSpec spec = spec_of(collective, gpus);
          spec.root = root;
          return spec;
        });
    std::vector<std::uint32_t> numbers;
    numbers.reserve(calls.size());
    for (const CallsInNode::Call& call : calls) numbers.push_back(in_node.number_of(call));
    return in_node.rates(numbers);
  }

 private:
  Node node_;
  Topology topology_;
};

const std::vector<std::vector<Rank>> all_four{{0, 1, 2, 3}};
const std::vector<std::vector<Rank>> neighbours{{0, 1}, {2, 3}};
const std::vector<std::vector<Rank>> crossed{{0, 2}, {1, 3}};

/// Machines of every kind of link, and the sizes of latency, of both and of bandwidth.
const std::vector<Node>& nodes() {
  static const std::vector<Node> all{{"hgx-h200-4"}, {"hgx-h200-4", false}, {"dgx-a100"},
                                     {"dgx-b200"},   {"a100-mesh-4"},       {"l40s-4"},
                                     {"dgx-1-v100"}, {"gb200-nvl4"},        {"rtx4090-4"}};
  return all;
}
constexpr std::array<std::int64_t, 3> sizes{4096, 1 << 20, 16 << 20};

// On two H200 broadcasts of 512 MiB of both roots at once take 1577 us, of one root twice 2924 us,
// and alone 1467 us (recordings/steps/roots-h200x2.tsv): bytes of both roots go opposite ways.
TEST(CallsInNode, of_two_roots_go_opposite_ways) {
  const Calls calls({"hgx-h200-2"});
  const CallsInNode::Call first = calls.of(Collective::broadcast, 512 << 20, {{0, 1}});
  CallsInNode::Call second = first;
  second.root = 1;
  for (const double rate : calls.rates({first, second})) EXPECT_GT(rate, 0.9);
  for (const double rate : calls.rates({first, first})) EXPECT_NEAR(rate, 0.5, 0.05);
}

TEST(CallsInNode, are_not_faster_beside_others_nor_slower_than_in_turn) {
  for (const Node& node : nodes()) {
    const Calls calls(node);
    for (const std::int64_t bytes : sizes) {
      for (const Collective other : {Collective::all_reduce, Collective::all_to_all}) {
        const auto one = calls.of(Collective::all_gather, bytes, neighbours);
        const auto two = calls.of(other, bytes, crossed);
        const std::vector<double> rates = calls.rates({one, two});
        // One after the other each has half of the time or less of it to itself, give or take what
        // waits for the same links in another order.
        EXPECT_LE(std::max(rates[0], rates[1]), 1) << node.machine << ", " << bytes;
        // Buffers of two calls in host memory outgrow its cache, where those of each fit.
        EXPECT_GE(rates[0] + rates[1], node.peers ? 0.9 : 0.8) << node.machine << ", " << bytes;
        const std::vector<double> reversed = calls.rates({two, one});
        EXPECT_EQ(reversed[0], rates[1]) << node.machine << ", " << bytes;
        EXPECT_EQ(reversed[1], rates[0]) << node.machine << ", " << bytes;
      }
    }
  }
}

TEST(CallsInNode, of_other_gpus_behind_nvswitch_do_not_feel_each_other) {
  for (const Node& node : {Node{"hgx-h200-4"}, Node{"dgx-a100"}, Node{"dgx-b200"}}) {
    const Calls calls(node);
    for (const std::int64_t bytes : sizes) {
      const auto one = calls.of(Collective::all_reduce, bytes, {{0, 1}});
      const auto two = calls.of(Collective::all_reduce, 2 * bytes, {{2, 3}});
      EXPECT_EQ(calls.rates({one, two}), (std::vector<double>{1, 1})) << node.machine;
    }
  }
}

/// Through host memory they do: it is one of the node.
TEST(CallsInNode, of_other_gpus_share_host_memory) {
  const Calls calls({"hgx-h200-4", false});
  const auto one = calls.of(Collective::all_reduce, 64 << 20, {{0, 1}});
  const auto two = calls.of(Collective::all_reduce, 64 << 20, {{2, 3}});
  EXPECT_LT(calls.rates({one, two}).front(), 1);
}

TEST(CallsInNode, alone_move_at_their_rate) {
  for (const Node& node : nodes()) {
    const Calls calls(node);
    EXPECT_EQ(calls.rates({calls.of(Collective::all_reduce, 1 << 20, all_four)}).front(), 1);
  }
}

/// Message by message, with nothing folded, one call at once is the call.
TEST(CallsInNode, are_the_same_execution_where_there_is_one) {
  for (const Node& node : nodes()) {
    const Calls calls(node);
    for (const std::int64_t bytes : sizes) {
      const auto gpus = calls.of(Collective::all_reduce, bytes, all_four).gpus.front();
      const CallCompiler compiler(calls.spec_of(Collective::all_reduce, gpus));
      const CompiledCall call = compiler.plan(Bytes{bytes});
      const std::vector<Execution> one{execution_of(call)};
      const Prediction exact = simulate(call, {.exact = true});
      EXPECT_EQ(execute_at_once(one, *make_fabric(Engine::native)).front(), exact.time)
          << node.machine << ", " << bytes;
    }
  }
}

}  // namespace
}  // namespace collsim
