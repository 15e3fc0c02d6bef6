// NCCL's algorithms that reduce in switches, on machines: what they load, where they run, that the
// choice and the simulation agree.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "models/bounds/bounds.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "models/machine/plan_wiring.h"
#include "models/machine/switch_placement.h"
#include "sim/base/data_directory.h"
#include "sim/fabric/simgrid_fabric.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/topologies/loader.h"
#include "tests/support/error_of.h"
#include "tests/support/nccl_channels.h"
#include "tests/support/temporary_file.h"

namespace collsim {
namespace {

Topology shipped(std::string_view name) {
  return load_topology(find_data_file(name, "topologies"));
}

Topology load_text(const std::string& text) {
  const test::TemporaryFile file("machine.yaml", "collsim: topology/1\nname: test\n" + text);
  return load_topology(file.path());
}

/// Three nodes of 4 GPUs with a NIC each, on rails.
std::string three_nodes(std::string_view multicast, std::string_view sharp) {
  return fmt::format(
      "nodes:\n"
      "  count: 3\n"
      "  devices:\n"
      "    - {{ id: \"gpu[0..3]\", kind: gpu, model: H100 }}\n"
      "    - {{ id: nvswitch0, kind: nvswitch, multicast: {} }}\n"
      "    - {{ id: \"pcie[0..3]\", kind: pcie_switch }}\n"
      "    - {{ id: \"nic[0..3]\", kind: nic, model: ConnectX-7 }}\n"
      "    - {{ id: cpu0, kind: cpu }}\n"
      "  links:\n"
      "    - {{ from: \"gpu[0..3]\", to: nvswitch0, kind: nvlink, count: 18, bandwidth: 25 GB/s "
      "}}\n"
      "    - {{ from: \"gpu[0..3]\", to: \"pcie[0..3]\", kind: pcie, bandwidth: 48 GB/s }}\n"
      "    - {{ from: \"nic[0..3]\", to: \"pcie[0..3]\", kind: pcie, bandwidth: 48 GB/s }}\n"
      "    - {{ from: \"pcie[0..3]\", to: cpu0, kind: pcie, bandwidth: 48 GB/s }}\n"
      "fabric:\n"
      "  kind: rails\n"
      "  sharp: {}\n"
      "  link: {{ bandwidth: 50 GB/s, latency: 0.5 us }}\n",
      multicast, sharp);
}

/// Four GPUs on the network, two on each leaf, under one spine of one cable to each leaf.
constexpr std::string_view two_leaves =
    "nodes: { count: 4, devices: [{ id: gpu0, kind: gpu, model: H100 }] }\n"
    "fabric: { kind: fat_tree, attach: gpu, sharp: true, ports: 2, oversubscription: 2,\n"
    "          link: { bandwidth: 50 GB/s, latency: 0.5 us } }\n";

RunSpec nccl_run(std::string_view algorithm) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = algorithm;
  run.variables["NCCL_COLLNET_ENABLE"] = "1";
  return run;
}

std::vector<DeviceId> all_of(const Topology& topology) {
  return {topology.gpus().begin(), topology.gpus().end()};
}

/// Without costs but those of links.
Prediction predict(const Topology& topology, Collective collective, std::string_view algorithm,
                   std::int64_t size) {
  return simulate(
      CallCompiler({&topology, Calibration{}, collective, nccl_run(algorithm), all_of(topology)})
          .plan(Bytes{size}));
}

std::string refusal(const Topology& topology, Collective collective, std::string_view algorithm) {
  return test::error_of([&] { return predict(topology, collective, algorithm, 1 << 20); });
}

// Every GPU's NVLinks, 478.08 GB/s each way, carry S up into the sums and S/8 as head; down S/8 as
// head and S as copies: 1 GiB x 9/8 / 478.08 GB/s = 2526.68 us. A ring would carry 2 S 7/8.
TEST(SwitchAlgorithms, nvls_loads_a_port_with_its_buffer_and_one_stripe) {
  const Topology machine = shipped("dgx-h100");
  const Prediction nvls = predict(machine, Collective::all_reduce, "nvls", 1 << 30);
  EXPECT_NEAR(in_microseconds(nvls.floor.busiest_resource()), 2526.68, 0.01);
  EXPECT_LE(nvls.time.value, 1.1 * nvls.floor.busiest_resource().value);
  const Prediction ring = predict(machine, Collective::all_reduce, "ring", 1 << 30);
  EXPECT_NEAR(in_microseconds(ring.floor.busiest_resource()), 2526.68 / 9 * 14, 0.1);
}

// A port carries what it is said to carry where NVSwitches add up, and no ring notices: 2526.68 us
// / 0.5. A loop of 16 channels takes the step that is stated for them, not the other.
TEST(SwitchAlgorithms, nvls_has_costs_of_its_own) {
  const Topology machine = shipped("dgx-h100");
  Calibration cost;
  cost.nvls.efficiency = 0.5;
  const auto simulated = [&](std::string_view algorithm, std::int64_t size) {
    return simulate(
        CallCompiler({&machine, cost, Collective::all_reduce, nccl_run(algorithm), all_of(machine)})
            .plan(Bytes{size}));
  };
  EXPECT_NEAR(in_microseconds(simulated("nvls", 1 << 30).floor.busiest_resource()), 2526.689 / 0.5,
              0.01);
  EXPECT_NEAR(in_microseconds(simulated("ring", 1 << 30).floor.busiest_resource()),
              2526.68 / 9 * 14, 0.1);
  // One loop of 16 KiB chunks: handed in, passed on, taken out; a step each.
  const double without = in_microseconds(simulated("nvls", 2 << 20).time);
  cost.protocols[static_cast<std::size_t>(Protocol::simple)].step = microseconds(5);
  cost.nvls.step = microseconds(2);
  EXPECT_NEAR(in_microseconds(simulated("nvls", 2 << 20).time), without + 3 * 2, 1e-6);
}

// Between nodes every NIC carries a stripe, S/4 each way, over PCIe of 48 GB/s: 64 MiB / 4 / 48
// GB/s = 349.525 us. The network sums, so that it is not more with three nodes. Of CollNetChain's
// 12 channels three have the same head; 4,096 cells of 16 KiB make 342 a channel: 350.208 us.
TEST(SwitchAlgorithms, a_nic_carries_one_stripe) {
  const Topology machine = load_text(three_nodes("true", "true"));
  const auto busiest = [&](std::string_view algorithm) {
    const Prediction prediction = predict(machine, Collective::all_reduce, algorithm, 64 << 20);
    EXPECT_EQ(prediction.algorithm, algorithm);
    return in_microseconds(prediction.floor.busiest_resource());
  };
  EXPECT_NEAR(busiest("nvls"), 349.525, 0.01);
  EXPECT_NEAR(busiest("collnetdirect"), 349.525, 0.01);
  EXPECT_NEAR(busiest("collnetchain"), 350.208, 0.01);
}

// The four ways meet at the spine. The cable between it and a leaf carries the sum of the leaf's
// two, and one copy: 64 MiB / 50 GB/s = 1342.177 us, as any other link.
TEST(SwitchAlgorithms, leaves_sum_and_copy_too) {
  const Topology machine = load_text(std::string(two_leaves));
  const Plan plan = make_nccl_plan(Collective::all_reduce, NcclAlgorithm::collnet_chain,
                                   test::node_channels(4, 1, 1), 1);
  const DeviceId site = SwitchPlacement(machine, machine.gpus()).of(plan, 0).front();
  EXPECT_EQ(machine.device_name(site), "spine0");
  NcclCall call;
  call.size.count = 64 << 20;
  call.nodes = 4;
  call.algorithm = NcclAlgorithm::collnet_chain;
  const Calibration cost;
  const auto floor_of = [&](const Plan& of) {
    return model_floor(of, DataPartition::nccl(of, call), wire(of, machine, machine.gpus(), cost),
                       cost, Protocol::simple);
  };
  EXPECT_NEAR(in_microseconds(floor_of(plan).busiest_resource()), 1342.177, 1e-3);
  // The blocks of an all-gather go up one by one, and to everybody but their owner: a GPU gets
  // three quarters, and so does a leaf.
  call.algorithm = NcclAlgorithm::collnet_direct;
  const Plan gather = make_nccl_plan(Collective::all_gather, NcclAlgorithm::collnet_direct,
                                     test::node_channels(4, 1, 1), 1);
  EXPECT_NEAR(in_microseconds(floor_of(gather).busiest_resource()), 1342.177 * 3 / 4, 1e-3);
}

// The stripes' heads meet on their own rails.
TEST(SwitchAlgorithms, agents_sit_where_their_ranks_meet) {
  const Topology machine = load_text(three_nodes("true", "true"));
  NcclChannels channels = test::node_channels(3, 4, 1);
  channels.nvls.heads = {0, 1, 2, 3};
  const Plan plan = make_nccl_plan(Collective::all_reduce, NcclAlgorithm::nvls, channels, 1);
  std::vector<std::string> names;
  for (const DeviceId site : SwitchPlacement(machine, machine.gpus()).of(plan, 0)) {
    names.push_back(machine.device_name(site));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"node0/nvswitch0", "node1/nvswitch0", "node2/nvswitch0",
                                      "rail0", "rail1", "rail2", "rail3"}));
}

TEST(SwitchAlgorithms, are_refused_where_the_switches_cannot) {
  const std::string multicast = "on an NVSwitch with 'multicast: true'";
  const std::string sharp = "a fabric with 'sharp: true', and NCCL_COLLNET_ENABLE=1";
  const auto refused = [](const std::string& text, const std::string& needed) {
    return text.find("needs") != std::string::npos && text.find(needed) != std::string::npos;
  };
  const auto all_reduce = Collective::all_reduce;
  EXPECT_TRUE(refused(refusal(shipped("dgx-a100"), all_reduce, "nvls"), multicast));
  EXPECT_TRUE(refused(refusal(shipped("dgx-h100"), all_reduce, "nvlstree"), "2 nodes"));
  EXPECT_TRUE(refused(refusal(shipped("dgx-h100-x4"), all_reduce, "nvls"), sharp));
  EXPECT_TRUE(refused(refusal(shipped("dgx-h100-x4"), all_reduce, "collnetdirect"), sharp));
  EXPECT_TRUE(refused(refusal(shipped("dgx-h100-x4"), all_reduce, "collnetchain"), sharp));
  EXPECT_TRUE(refused(refusal(shipped("dgx-h100"), Collective::all_gather, "pat"), "one GPU"));
  EXPECT_TRUE(refused(refusal(shipped("one-gpu-ethernet-100g"), all_reduce, "pat"),
                      "a function and a release"));
  const Topology plain = load_text(three_nodes("false", "false"));
  EXPECT_TRUE(refused(refusal(plain, all_reduce, "nvlstree"), multicast));
}

// What is simulated is what NCCL would choose, on every kind of machine; with switches that cannot
// reduce, it is Ring or Tree.
TEST(SwitchAlgorithms, choice_and_simulation_agree) {
  const auto algorithms_on = [](const Topology& topology, Collective collective) {
    const CallCompiler compiler(
        {&topology, Calibration{}, collective, nccl_run("auto"), all_of(topology)});
    const Nccl nccl(topology, nccl_run("auto").variables);
    const auto function =
        collective == Collective::all_reduce ? NcclFunction::all_reduce : NcclFunction::all_gather;
    std::set<std::string> seen;
    for (std::int64_t size = 8; size <= 1 << 28; size *= 8) {
      const Prediction prediction = simulate(compiler.plan(Bytes{size}));
      const Choice choice = nccl.choose(function, Bytes{size});
      const std::string name = nccl_report_name(choice.algorithm);
      EXPECT_EQ(prediction.algorithm, name) << topology.name() << ", " << size;
      EXPECT_EQ(prediction.protocol, choice.protocol) << topology.name() << ", " << size;
      seen.insert(name);
    }
    return seen;
  };
  using Names = std::set<std::string>;
  const auto all_reduce = Collective::all_reduce;
  EXPECT_EQ(algorithms_on(shipped("dgx-h100"), all_reduce), (Names{"ring", "nvls"}));
  EXPECT_EQ(algorithms_on(shipped("dgx-h100-x4"), all_reduce), (Names{"tree", "nvlstree"}));
  EXPECT_EQ(algorithms_on(shipped("dgx-a100"), all_reduce), Names{"ring"});
  const Topology plain = load_text(three_nodes("false", "false"));
  EXPECT_EQ(algorithms_on(plain, all_reduce), (Names{"ring", "tree"}));
  EXPECT_EQ(algorithms_on(shipped("one-gpu-ethernet-100g"), Collective::all_gather),
            (Names{"ring", "pat"}));
}

// H100 are derived from H200, but nothing was measured of NVLS, which runs from 2 MiB on.
TEST(SwitchAlgorithms, are_guessed_since_nothing_was_measured_of_them) {
  const Topology machine = shipped("dgx-h100");
  const CallCompiler compiler({&machine, calibration_for(machine), Collective::all_reduce,
                               nccl_run("auto"), first_gpus(machine, 8)});
  EXPECT_EQ(Estimator(compiler).estimate(Bytes{1 << 20}).trust, Trust::derived);
  const Prediction large = Estimator(compiler).estimate(Bytes{1 << 30});
  EXPECT_EQ(large.algorithm, "nvls");
  EXPECT_EQ(large.trust, Trust::guessed);
  EXPECT_TRUE(compiler.warnings().empty());
}

// Whatever the size: no time below a bound (the compiler throws there), both engines agree, and an
// empty call moves nothing.
TEST(SwitchAlgorithms, answer_every_size) {
  const Topology nodes = load_text(three_nodes("true", "true"));
  const Topology hosts = load_text(std::string(two_leaves));
  struct Case {
    const Topology* machine;
    Collective collective;
    std::string_view algorithm;
  };
  for (const Case& each :
       {Case{&nodes, Collective::all_reduce, "nvls"}, Case{&nodes, Collective::all_gather, "nvls"},
        Case{&nodes, Collective::reduce_scatter, "nvls"},
        Case{&nodes, Collective::all_reduce, "nvlstree"},
        Case{&nodes, Collective::all_reduce, "collnetdirect"},
        Case{&nodes, Collective::all_gather, "collnetdirect"},
        Case{&nodes, Collective::reduce_scatter, "collnetdirect"},
        Case{&nodes, Collective::all_reduce, "collnetchain"},
        Case{&hosts, Collective::all_gather, "pat"},
        Case{&hosts, Collective::reduce_scatter, "pat"}}) {
    const CallCompiler compiler({each.machine, Calibration{}, each.collective,
                                 nccl_run(each.algorithm), all_of(*each.machine)});
    for (const std::int64_t size : {0LL, 1LL, 7LL, 4096LL, 1000003LL, 64LL << 20}) {
      const Prediction native = simulate(compiler.plan(Bytes{size}));
      EXPECT_EQ(native.time.value > 0, native.transfers > 0);
      EXPECT_GE(native.time.value, native.bounds.largest().value * (1 - 1e-9));
      const Prediction estimated = Estimator(compiler).estimate(Bytes{size});
      EXPECT_GE(estimated.time.value, estimated.bounds.largest().value * (1 - 1e-9));
      if (size > 1 << 20 || !has_simgrid()) continue;
      const Prediction simgrid = simulate(compiler.plan(Bytes{size}), {.engine = Engine::simgrid});
      EXPECT_NEAR(simgrid.time.value, native.time.value, 1e-9 * native.time.value)
          << each.algorithm << " of " << size;
    }
  }
}

}  // namespace
}  // namespace collsim
