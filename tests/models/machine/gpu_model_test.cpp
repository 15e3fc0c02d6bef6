// Names of GPUs as people and tools write them, and what is known of each.

#include "models/machine/gpu_model.h"

#include <gtest/gtest.h>

#include <string_view>
#include <tuple>
#include <vector>

#include "models/machine/nvlink_layout.h"

namespace collsim {
namespace {

std::string_view model_named(std::string_view text) {
  const GpuModel* model = find_gpu_model(text);
  return model == nullptr ? "" : model->name;
}

TEST(GpuModel, LongerNamesComeFirst) {
  EXPECT_EQ(model_named("NVIDIA GeForce RTX 5090"), "5090");
  EXPECT_EQ(model_named("NVIDIA RTX 6000 Ada Generation"), "6000 Ada");
  EXPECT_EQ(model_named("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "PRO 6000");
  EXPECT_EQ(model_named("Quadro RTX 6000"), "RTX 6000");
  EXPECT_EQ(model_named("NVIDIA RTX A6000"), "A6000");
  EXPECT_EQ(model_named("NVIDIA L40S"), "L40S");
  EXPECT_EQ(model_named("NVIDIA L40"), "L40");
  EXPECT_EQ(model_named("NVIDIA L4"), "L4");
  EXPECT_EQ(model_named("NVIDIA H20"), "H20");
  EXPECT_EQ(model_named("NVIDIA GB200"), "GB200");
  EXPECT_EQ(model_named("NVIDIA GB10"), "GB10");
  EXPECT_EQ(model_named("NVIDIA B300 SXM6 AC"), "B300");
}

// Each row of the table is found by its own name, so that none hides another.
TEST(GpuModel, EveryNameFindsItsModel) {
  for (const GpuModel& model : gpu_models()) EXPECT_EQ(model_named(model.name), model.name);
}

TEST(GpuModel, PciIdsNameModels) {
  ASSERT_NE(gpu_model_of_pci_device(0x2b85), nullptr);
  EXPECT_EQ(gpu_model_of_pci_device(0x2b85)->name, "5090");
  EXPECT_EQ(gpu_model_of_pci_device(0x3182)->name, "B300");
  EXPECT_EQ(gpu_model_of_pci_device(0x31c2)->compute_capability, 103);
  EXPECT_EQ(gpu_model_of_pci_device(0xffff), nullptr);
}

TEST(GpuModel, CardsAreToldFromModules) {
  EXPECT_TRUE(is_card("A100-PCIE-40GB"));
  EXPECT_TRUE(is_card("NVIDIA H100 NVL"));
  EXPECT_FALSE(is_card("GB200 NVL72"));
  EXPECT_FALSE(is_card("NVIDIA H100 80GB HBM3"));
}

std::uint32_t links_of(const std::vector<NvlinkTrunk>& trunks, std::uint32_t gpu) {
  std::uint32_t links = 0;
  for (const NvlinkTrunk& trunk : trunks) {
    if (trunk.gpu == gpu || trunk.peer == gpu) links += trunk.links;
  }
  return links;
}

// A V100 has six NVLinks and a P100 four, all of them used in a DGX-1; two for each of three peers
// are six too. NVSwitches take all that a GPU has.
TEST(NvlinkLayout, UsesAllLinksOfAModule) {
  for (const auto& [name, gpus, links] :
       {std::tuple("V100", 8U, 6U), std::tuple("P100", 8U, 4U), std::tuple("V100", 4U, 6U),
        std::tuple("V100", 16U, 6U), std::tuple("A100", 8U, 12U), std::tuple("H100", 8U, 18U),
        std::tuple("GB200", 4U, 18U)}) {
    const auto trunks = nvlink_layout(*find_gpu_model(name), gpus);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) EXPECT_EQ(links_of(trunks, gpu), links) << name;
  }
}

TEST(NvlinkLayout, CardsAndLoneGpusHaveNone) {
  EXPECT_TRUE(nvlink_layout(*find_gpu_model("L40S"), 8).empty());
  EXPECT_TRUE(nvlink_layout(*find_gpu_model("A6000"), 2).empty());
  EXPECT_TRUE(nvlink_layout(*find_gpu_model("H100"), 1).empty());
}

}  // namespace
}  // namespace collsim
