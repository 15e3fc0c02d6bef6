// CPUs by name and by what NCCL's files say of them.

#include "models/nccl/system/cpu_generation.h"

#include <gtest/gtest.h>

#include <string>

#include "models/nccl/system/link_bandwidth.h"

namespace collsim {
namespace {

std::string generation(std::string_view model) {
  const CpuGeneration* found = find_cpu_generation(model);
  return found == nullptr ? "" : std::string(found->name);
}

TEST(CpuGeneration, IsToldByItsNameOrItsNumber) {
  EXPECT_EQ(generation("Xeon Sapphire Rapids"), "Xeon Sapphire Rapids");
  EXPECT_EQ(generation("Intel(R) Xeon(R) Platinum 8480C"), "Xeon Sapphire Rapids");
  EXPECT_EQ(generation("Xeon Gold 6148"), "Xeon Skylake");
  EXPECT_EQ(generation("Xeon Platinum 8275CL"), "Xeon Cascade Lake");
  EXPECT_EQ(generation("Xeon Platinum 8360Y"), "Xeon Ice Lake");
  EXPECT_EQ(generation("Xeon Platinum 8570"), "Xeon Emerald Rapids");
  EXPECT_EQ(generation("Xeon E5-2698 v4"), "Xeon Broadwell");
  EXPECT_EQ(generation("AMD EPYC 7352"), "AMD EPYC Rome");
  EXPECT_EQ(generation("AMD EPYC 7R13"), "AMD EPYC Milan");
  EXPECT_EQ(generation("AMD EPYC 9374F"), "AMD EPYC Genoa");
  EXPECT_EQ(generation("AMD EPYC 9575F"), "AMD EPYC Turin");
  EXPECT_EQ(generation("AMD EPYC"), "");
  EXPECT_EQ(generation("Xeon"), "");
  EXPECT_EQ(generation("AMD EPYC 7551"), "") << "Naples, of which nothing is known here";
  EXPECT_EQ(generation(""), "");
}

// Models that no server of two sockets has are of none: 25/24 and 26/8 are Threadripper, 25/97 a
// desktop's. Nor are those of families to come.
TEST(CpuGeneration, OfNcclsFilesIsToldByFamilyAndModel) {
  const auto of = [](CpuVendor vendor, int family, int model) -> std::string {
    const CpuGeneration* found = generation_of({CpuArchitecture::x86, vendor, family, model});
    return found == nullptr ? "" : std::string(found->name);
  };
  EXPECT_EQ(of(CpuVendor::intel, 6, 0x4F), "Xeon Broadwell");
  EXPECT_EQ(of(CpuVendor::intel, 6, 0x6C), "Xeon Ice Lake");
  EXPECT_EQ(of(CpuVendor::intel, 6, 0x8F), "Xeon Sapphire Rapids");
  EXPECT_EQ(of(CpuVendor::intel, 6, 0xAD), "Xeon Granite Rapids");
  EXPECT_EQ(of(CpuVendor::intel, 6, 0xDD), "");
  EXPECT_EQ(of(CpuVendor::intel, 6, 0x2D), "");
  EXPECT_EQ(of(CpuVendor::amd, 23, 49), "AMD EPYC Rome");
  EXPECT_EQ(of(CpuVendor::amd, 25, 1), "AMD EPYC Milan");
  EXPECT_EQ(of(CpuVendor::amd, 25, 17), "AMD EPYC Genoa");
  EXPECT_EQ(of(CpuVendor::amd, 25, 160), "AMD EPYC Bergamo");
  EXPECT_EQ(of(CpuVendor::amd, 26, 2), "AMD EPYC Turin");
  EXPECT_EQ(of(CpuVendor::amd, 26, 17), "AMD EPYC Turin");
  EXPECT_EQ(of(CpuVendor::amd, 23, 1), "");
  EXPECT_EQ(of(CpuVendor::amd, 25, 24), "");
  EXPECT_EQ(of(CpuVendor::amd, 25, 97), "");
  EXPECT_EQ(of(CpuVendor::amd, 26, 8), "");
  EXPECT_EQ(of(CpuVendor::amd, 27, 1), "");
  EXPECT_EQ(of(CpuVendor::zhaoxin, 7, 91), "");
}

// 15 + 16 * extended family: 15 + 8 * 16 = 143 of family 15 + 8 = 23. CPUID's own numbers and
// Intel's stay.
TEST(CpuGeneration, OldFilesHaveAmdsFamiliesUndecoded) {
  EXPECT_EQ(decoded_amd_family(143), 23);
  EXPECT_EQ(decoded_amd_family(159), 24);
  EXPECT_EQ(decoded_amd_family(175), 25);
  EXPECT_EQ(decoded_amd_family(191), 26);
  for (const int decoded : {0, 15, 16, 23, 25, 26, 31, 33}) {
    EXPECT_EQ(decoded_amd_family(decoded), decoded);
  }
}

// NCCL plans with a sixth to a quarter of what two sockets have between them.
TEST(CpuGeneration, HasMoreBetweenSocketsThanNcclPlansWith) {
  for (const CpuGeneration& each : cpu_generations()) {
    const double planned = cpu_link_bandwidth(each.cpu, default_nccl_version);
    EXPECT_GT(each.between_sockets, 4 * planned - 1e-9) << each.name;
    EXPECT_LE(each.between_sockets, 12 * planned) << each.name;
  }
}

// 8 GT/s, 16 lanes, 128 of 130 bits: 15.75 GB/s. NCCL has 12.
TEST(PciLineRate, IsWhatLanesHaveOnTheWire) {
  EXPECT_NEAR(pci_line_rate(12), 8.0 * 16 * 128 / 130 / 8, 0.01);
  EXPECT_NEAR(pci_line_rate(48), 32.0 * 16 * 128 / 130 / 8, 0.02);
  EXPECT_NEAR(pci_line_rate(6), 8.0 * 8 * 128 / 130 / 8, 0.01);
}

}  // namespace
}  // namespace collsim
