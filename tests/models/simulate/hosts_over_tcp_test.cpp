// What hosts cost that talk TCP: the transport `tcp`, whatever GPUs they have.

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/imports/machine.h"

namespace collsim {
namespace {

class HostsOverTcp : public testing::Test {
 protected:
  CallCompiler on(const std::string& machine, const std::string& variable = {},
                  const std::string& value = {}) {
    topology_ = load_machine(machine).topology;
    RunSpec run;
    run.schedule = ScheduleKind::nccl;
    if (!variable.empty()) run.variables[variable] = value;
    return CallCompiler({&topology_,
                         calibration_for(topology_),
                         Collective::all_reduce,
                         run,
                         {topology_.gpus().begin(), topology_.gpus().end()}});
  }

  Topology topology_;
};

TEST_F(HostsOverTcp, PayForProxies) {
  for (const auto& [variable, value] :
       {std::pair("NCCL_NET", "Socket"), std::pair("NCCL_IB_DISABLE", "1")}) {
    const CallCompiler compiler = on("dgx-h100-x4", variable, value);
    EXPECT_EQ(compiler.cost().name, "h100+tcp");
    // Each GPU's proxy copies 8.756 GB/s: eight of them at most 70.05 GB/s in and out of a node,
    // where its cables carry 400. Of every byte 2 x 31 / 32 cross a node's edge.
    const Bytes size{std::int64_t{1} << 30};
    const double seconds = simulate(compiler.plan(size)).time.value;
    EXPECT_GT(seconds, static_cast<double>(size.count) * 2 * 31 / 32 / 70.05e9);
  }
}

TEST_F(HostsOverTcp, HaveThreadsOfTheVendors) {
  EXPECT_EQ(on("dgx-h100-x4", "NCCL_NET", "Socket").cost().proxy.helpers, 0U);
  EXPECT_EQ(on("aws-p4d-x4", "NCCL_NET", "Socket").cost().proxy.helpers, 2U);
  EXPECT_EQ(on("aws-p4d-x4", "NCCL_NET", "Socket").cost().proxy.streams, 16U);
}

TEST_F(HostsOverTcp, AreThoseWithoutRdma) {
  // The boards of a host talk through host memory, an EPYC's.
  const CallCompiler compiler = on("rtx4090-8-x4");
  EXPECT_EQ(compiler.cost().name, "pcie+tcp+shm");
}

TEST_F(HostsOverTcp, AreSeveral) {
  const CallCompiler alone = on("dgx-h100", "NCCL_NET", "Socket");
  EXPECT_EQ(alone.cost().name, "h100");
  const CallCompiler with_rdma = on("dgx-h100-x4");
  EXPECT_EQ(with_rdma.cost().name, "h100+ib");
}

}  // namespace
}  // namespace collsim
