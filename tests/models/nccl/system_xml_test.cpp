#include "models/nccl/system/system_xml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/nccl/system/paths.h"
#include "sim/base/input_error.h"
#include "tests/models/nccl/nccl_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"

namespace collsim::test {
namespace {

/// What reading this text complains about.
std::string complaint(const std::string& text) {
  const TemporaryFile file("machine.xml", text);
  const std::string error =
      test::error_of([&] { return read_nccl_topology(file.path(), default_nccl_version); });
  return error.empty() ? error : error.substr(error.find("machine.xml"));
}

const std::string cpu = R"(<cpu numaid="0" arch="x86_64" vendor="GenuineIntel">)";

TEST(NcclTopologyFile, ComplainsAtTheElement) {
  EXPECT_TRUE(complaint("<system>\n<cpu").starts_with("machine.xml:2:"));
  EXPECT_TRUE(complaint("<graphs/>").starts_with("machine.xml:1:2: the root is <graphs>"));
  EXPECT_NE(complaint("<system version=\"1\"/>").find("no GPU"), std::string::npos);
  EXPECT_TRUE(complaint("<system>\n<cpu arch=\"x86_64\"/></system>")
                  .starts_with("machine.xml:2:2: <cpu> has no 'numaid'"));
  EXPECT_TRUE(complaint("<system>\n" + cpu + "\n<pci class=\"0x03\"/></cpu></system>")
                  .starts_with("machine.xml:3:2: <pci> has no 'busid'"));
  EXPECT_TRUE(complaint("<system>\n" + cpu +
                        "\n<pci busid=\"0:1\" class=\"0x03\">\n<gpu dev=\"zero\" sm=\"80\"/>"
                        "</pci></cpu></system>")
                  .starts_with("machine.xml:4:2: dev=\"zero\" in <gpu>"));
}

TEST(NcclTopologyFile, AMissingFileIsBadInput) {
  EXPECT_THROW(read_nccl_topology("/nowhere/machine.xml", default_nccl_version), InputError);
}

TEST(NcclTopologyFile, OnlyRankedGpusTakePart) {
  const TemporaryFile file("machine.xml", "<system>" + cpu +
                                              R"(<pci busid="0:1" class="0x03" link_width="16">
                                                 <gpu dev="0" sm="80" gdr="1"/></pci>
                                                 <pci busid="0:2" class="0x03" link_width="16">
                                                 <gpu dev="1" sm="80" rank="4" gdr="1"/></pci>
                                                 </cpu></system>)");
  const NcclSystem system = read_nccl_topology(file.path(), default_nccl_version);
  ASSERT_EQ(system.gpu_count(), 1U);
  EXPECT_EQ(system.gpu(0).gpu.device, 1);
  EXPECT_EQ(system.gpu(0).gpu.rank, 0);  // counted from 0 in the node
}

/// Two GPUs below the two halves of a Broadcom gen5 switch.
std::string halved_switch(const std::string& device) {
  std::string halves;
  for (int i = 0; i < 2; ++i) {
    halves += fmt::format(
        R"(<pci busid="0:1{0}" class="0x060400" vendor="0x1000" device="{1}"
           subsystem_vendor="0x1000" subsystem_device="0x1001">
           <pci busid="0:2{0}" class="0x03"><gpu dev="{0}" sm="80" rank="{0}" gdr="1"/></pci></pci>)",
        i, device);
  }
  return fmt::format(
      R"(<system>{}<pci busid="0:01" class="0x060400" vendor="0x1000" device="{}"
         subsystem_vendor="0x1000" subsystem_device="0x0001">{}</pci></cpu></system>)",
      cpu, device, halves);
}

PathType type_between_gpus(const std::string& text) {
  const TemporaryFile file("machine.xml", text);
  const NcclSystem system = read_nccl_topology(file.path(), default_nccl_version);
  const NcclPaths paths(system, parse_nccl_environment({}, default_nccl_version),
                        default_nccl_version);
  return paths.worst_type(NcclNodeKind::gpu);
}

TEST(NcclTopologyFile, HalvesOfABroadcomSwitchAreOne) {
  EXPECT_EQ(type_between_gpus(halved_switch("0xc030")), PathType::pix);
  EXPECT_EQ(type_between_gpus(halved_switch("0x9999")), PathType::pxb);  // two real levels
}

TEST(NcclTopologyFile, CubeMeshRelaysOverAThirdGpu) {
  const NcclSystem system =
      read_nccl_topology(golden_folder + "topologies/dgx1v.xml", default_nccl_version);
  const auto gpus = system.of_kind(NcclNodeKind::gpu);
  const auto type = [&](const Nccl::Variables& variables) {
    const NcclPaths paths(system, parse_nccl_environment(variables, default_nccl_version),
                          default_nccl_version);
    return paths.between(gpus[0], gpus[5]).type;
  };
  // GPUs 0 and 5 have no NVLink in common, but both have one to 1 and to 4.
  EXPECT_EQ(type({}), PathType::nvb);
  EXPECT_EQ(type({{"NCCL_NVB_DISABLE", "1"}}), PathType::sys);
}

// Two hosts of two CPUs: each CPU has a link to the other one of its host, and none elsewhere. What
// is written of them is read as the same hosts.
TEST(NcclTopologyFile, HostsKeepTheirCpus) {
  const std::string file =
      std::string(COLLSIM_SOURCE_DIR) + "/tests/data/nccl-dumps/gb200-2-hosts.xml";
  const NcclSystem read = read_nccl_topology(file, default_nccl_version);
  const TextFile written{"written.xml", nccl_topology_text(read)};
  for (const NcclSystem& system : {read, read_nccl_topology(written, default_nccl_version)}) {
    std::vector<std::uint32_t> hosts;
    for (const std::uint32_t node : system.of_kind(NcclNodeKind::cpu)) {
      hosts.push_back(system.node(node).host);
    }
    EXPECT_EQ(hosts, (std::vector<std::uint32_t>{0, 0, 1, 1}));
    const auto between_cpus =
        std::count_if(system.links().begin(), system.links().end(),
                      [](const NcclLink& link) { return link.kind == NcclLinkKind::sys; });
    EXPECT_EQ(between_cpus, 4);  // two pairs, both ways
  }
}

}  // namespace
}  // namespace collsim::test
