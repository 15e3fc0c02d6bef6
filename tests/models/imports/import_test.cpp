// What importers make of real and written descriptions.

#include "models/imports/import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/routing/routing.h"
#include "tests/models/imports/imported_machine.h"
#include "tests/models/nccl/nccl_test_support.h"
#include "tests/support/error_of.h"

namespace collsim::test {
namespace {

/// GB/s between every two GPUs.
std::vector<std::vector<double>> bandwidths(const Topology& topology) {
  Router router(topology);
  std::vector<std::vector<double>> rows;
  for (const DeviceId from : topology.gpus()) {
    rows.emplace_back();
    for (const DeviceId to : topology.gpus()) {
      rows.back().push_back(from == to ? 0
                                       : in_gigabytes_per_second(router.route(from, to).bandwidth));
    }
  }
  return rows;
}

void expect_same_gpus_and_nvlinks(const Topology& a, const Topology& b) {
  ASSERT_EQ(a.gpus().size(), b.gpus().size());
  for (std::size_t i = 0; i < a.gpus().size(); ++i) {
    EXPECT_EQ(a.device_name(a.gpus()[i]), b.device_name(b.gpus()[i]));
    EXPECT_EQ(a.device(a.gpus()[i]).model, b.device(b.gpus()[i]).model);
  }
  EXPECT_EQ(nvlinks(a), nvlinks(b));
  const auto of_a = bandwidths(a);
  const auto of_b = bandwidths(b);
  for (std::size_t from = 0; from < of_a.size(); ++from) {
    for (std::size_t to = 0; to < of_a.size(); ++to) {
      EXPECT_DOUBLE_EQ(of_a[from][to], of_b[from][to]) << from << " to " << to;
    }
  }
}

// Recorded on the machine that hgx-h200.yaml describes.
TEST(Import, DumpsOfAnHgxH200AreTheShippedOne) {
  const Topology ours = shipped("hgx-h200");
  expect_same_gpus_and_nvlinks(imported("recordings/nccl/h200x8-topo.xml"), ours);
  expect_same_gpus_and_nvlinks(imported("tests/data/nvidia-smi/hgx-h200.txt", "H200"), ours);
}

TEST(Import, PcieOfAnHgxH200IsThatOfTheShippedOne) {
  for (const Topology& topology : {imported("recordings/nccl/h200x8-topo.xml"),
                                   imported("tests/data/nvidia-smi/hgx-h200.txt", "H200")}) {
    // gen5 x16 from every GPU; the virtual machine has one socket where the server has two.
    for (const DeviceId gpu : topology.gpus()) {
      double pcie = 0;
      for (const LinkId id : topology.links_from(gpu)) {
        const Link link = topology.link(id);
        if (link.kind == LinkKind::pcie) pcie += in_gigabytes_per_second(link.bandwidth);
      }
      EXPECT_DOUBLE_EQ(pcie, 63);
    }
  }
}

TEST(Import, GraphsAloneAreNoMachine) {
  const std::string error =
      test::error_of([&] { return imported("recordings/nccl/h200x8-graph.xml", "H200"); });
  EXPECT_NE(error.find("NCCL_TOPO_DUMP_FILE"), std::string::npos) << error;
}

/// A host of one socket with these <pci>.
TextFile host_of(const std::string& pci) {
  return {"host.xml",
          "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">" + pci +
              "</cpu></system>"};
}

std::string gpu_at(const std::string& bus, const std::string& attributes,
                   const std::string& nvlinks = {}) {
  return "<pci busid=\"0000:" + bus +
         ":00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\"><gpu " + attributes +
         " sm=\"90\">" + nvlinks + "</gpu></pci>";
}

std::string nvlink_to(const std::string& bus) {
  return "<nvlink target=\"0000:" + bus + ":00.0\" count=\"6\" tclass=\"0x030200\"/>";
}

TEST(Import, WarnsOfCardsWithoutTheNvlinksOfTheirModel) {
  // 0x2330 is an H100, which has 18 NVLinks as a module and none as a card.
  const ImportedNode node =
      import_node(host_of(gpu_at("01", "dev=\"0\"") + gpu_at("02", "dev=\"1\"")));
  ASSERT_EQ(node.warnings.size(), 1U);
  EXPECT_NE(node.warnings.front().find("gpu0 (H100), gpu1 (H100)"), std::string::npos);
  const ImportedNode joined = import_node(host_of(gpu_at("01", "dev=\"0\"", nvlink_to("02")) +
                                                  gpu_at("02", "dev=\"1\"", nvlink_to("01"))));
  EXPECT_TRUE(joined.warnings.empty());
}

TEST(Import, WarnsOfWhatItLeavesOut) {
  const ImportedNode node = import_node(
      host_of(gpu_at("01", "dev=\"0\" rank=\"0\"", nvlink_to("02") + nvlink_to("03")) +
              gpu_at("02", "dev=\"1\" rank=\"1\"", nvlink_to("01")) + gpu_at("03", "dev=\"2\"")));
  ASSERT_EQ(node.warnings.size(), 2U);
  EXPECT_NE(node.warnings[0].find("without a rank"), std::string::npos);
  EXPECT_NE(node.warnings[1].find("<nvlink>"), std::string::npos);
}

TEST(Import, LeavesOutNvlinksOfAGpuToItself) {
  const ImportedNode node = import_node(host_of(gpu_at("01", "dev=\"0\"", nvlink_to("01"))));
  ASSERT_EQ(node.warnings.size(), 2U);
  EXPECT_NE(node.warnings[0].find("from a GPU to itself: 1 left out"), std::string::npos);
}

TEST(Import, CutDownFilesNeedTheModelOfTheGpus) {
  const std::string error =
      test::error_of([] { return imported("tests/data/cut-down/azure-nd-a100-v4.xml"); });
  // The first GPU stands in line 4, after six blanks and a bracket.
  EXPECT_NE(error.find("azure-nd-a100-v4.xml:4:8: class=\"0x030200\" in <pci>"), std::string::npos)
      << error;
  EXPECT_NE(error.find("8 such GPUs"), std::string::npos) << error;
  EXPECT_NE(error.find("--gpu NAME"), std::string::npos) << error;
}

std::vector<GraphDevice> devices_of(const ImportedNode& imported, DeviceKind kind) {
  std::vector<GraphDevice> devices;
  for (const GraphDevice& device : imported.node.devices) {
    if (device.kind == kind) devices.push_back(device);
  }
  return devices;
}

ImportedNode read_node(const std::string& file, const char* gpu = nullptr) {
  const ImportOptions options{gpu == nullptr ? nullptr : find_gpu_model(gpu), false, 0};
  return import_node(read_text_file(source + "/tests/data/" + file, "a description"), options);
}

TEST(Import, NicsOfCutDownFilesAreAsFastAsTheirNetwork) {
  const ImportedNode node = read_node("cut-down/azure-nd-a100-v4.xml", "A100");
  for (const GraphDevice& nic : devices_of(node, DeviceKind::nic)) {
    EXPECT_EQ(nic.model, "InfiniBand");  // class 0x0207
    EXPECT_EQ(nic.port_rate.value, 0);
    EXPECT_TRUE(nic.gpudirect);
  }
  EXPECT_EQ(node.notes.size(), 4U);  // PCIe, the order, NVLinks, NICs
  EXPECT_TRUE(node.warnings.empty());
}

TEST(Import, ALegendNamesTheNics) {
  const auto nics = devices_of(read_node("nvidia-smi/h20-8.txt", "H20"), DeviceKind::nic);
  ASSERT_EQ(nics.size(), 12U);
  EXPECT_EQ(nics[11].model, "mlx5_11");
}

TEST(Import, HwlocsGpusAreNotAsSlowAsTheySleep) {
  // The first RTX 5090 runs at 4 GB/s, gen1 x16, the second at 31.5, gen4 x16; gen5 x16 has 63
  // GB/s on the wire, gen4 31.5.
  const ImportedNode imported_node = read_node("lstopo/rtx5090-2.xml");
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(imported_node.node.links.at(0).bandwidth), 63);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(imported_node.node.links.at(1).bandwidth), 31.5);
  ASSERT_EQ(imported_node.warnings.size(), 2U);
  EXPECT_NE(imported_node.warnings[1].find("2.5 GT/s"), std::string::npos);
}

TEST(Import, CpusOfHwlocAreThoseOfTheirPackages) {
  const auto models = [](const std::string& file) {
    std::vector<std::string> names;
    for (const GraphDevice& cpu : devices_of(read_node(file), DeviceKind::cpu)) {
      names.push_back(cpu.model);
    }
    return names;
  };
  EXPECT_EQ(models("lstopo/dgx-a100-half.xml"),
            (std::vector<std::string>{"AMD EPYC Rome", "AMD EPYC Rome"}));
  EXPECT_EQ(models("lstopo/gb200-vm.xml"), (std::vector<std::string>{"Arm", "Arm"}));
  EXPECT_EQ(models("lstopo/v100-4-nvml.xml"),
            (std::vector<std::string>{"Xeon Cascade Lake", "Xeon Cascade Lake"}));
}

bool has_warning(const ImportedNode& node, const std::string& warning) {
  return std::find(node.warnings.begin(), node.warnings.end(), warning) != node.warnings.end();
}

TEST(Import, WarnsOfTwinCpusAndOfMatricesWithoutNvlinks) {
  const ImportedNode twins = read_node("nccl-dumps/h100-4-twin-cpus.xml");
  // The bridges of this virtual machine say one lane of gen1, which has 2.5 / 8 GB/s less its
  // coding.
  ASSERT_EQ(twins.warnings.size(), 2U);
  EXPECT_NE(twins.warnings[0].find("numaid"), std::string::npos);
  EXPECT_TRUE(has_warning(twins,
                          "pcie0, pcie1, pcie2, pcie3 have PCIe of 0.2 GB/s towards their CPU, "
                          "gpu0 below 63.0."));
  // What `nvidia-smi topo -mp` would print of a machine with NVLink.
  const ImportedNode cards = read_node("nvidia-smi/l40s-2.html", "H100");
  ASSERT_EQ(cards.warnings.size(), 1U);
  EXPECT_NE(cards.warnings[0].find("topo -mp"), std::string::npos);
  EXPECT_TRUE(read_node("nvidia-smi/l40s-2.html", "L40S").warnings.empty());
}

bool has_note_of(const ImportedNode& node, const std::string& part) {
  return std::any_of(node.notes.begin(), node.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(Import, WarnsOfAGpuWithoutTheNvlinksOfTheOthers) {
  EXPECT_TRUE(has_warning(read_node("nccl-dumps/gb300-one-gpu-no-nvlink.xml"),
                          "gpu5 has no NVLink, the other 11 have 18."));
  EXPECT_TRUE(read_node("nccl-dumps/gb300-3-hosts.xml").warnings.empty());
  const ImportedNode b200 = read_node("nvidia-smi/b200-one-gpu-off-nvlink.txt", "B200");
  EXPECT_TRUE(has_warning(b200, "gpu2 has no NVLink, the other 7 have 18."));
  // 12 NICs: 12 x 11 / 2 pairs.
  EXPECT_TRUE(has_note_of(b200, "66 pairs of NICs"));
}

TEST(Import, WarnsOfNarrowPcie) {
  // gen4: 31.5 GB/s of 16 lanes, 1.97 of one, 7.9 of four.
  const ImportedNode node = read_node("nccl-dumps/rtx4090-4-bridge-x1.xml");
  EXPECT_TRUE(has_warning(node, "gpu3 has PCIe of 7.9 GB/s, 3 others of their kind have 31.5."));
  EXPECT_TRUE(has_warning(node, "pcie0 has PCIe of 2.0 GB/s towards its CPU, gpu0 below 31.5."));
  EXPECT_EQ(node.warnings.size(), 2U);
}

/// A host of two sockets of this CPU with a GPU each.
TextFile two_sockets(const std::string& cpu) {
  std::string text = "<system version=\"1\">";
  for (const char* number : {"0", "1"}) {
    text += "<cpu numaid=\"" + std::string(number) + "\" arch=\"x86_64\" " + cpu +
            "><pci busid=\"0000:0" + number +
            ":00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x26b9\"><gpu dev=\"" + number +
            "\" sm=\"89\"/></pci></cpu>";
  }
  return {"host.xml", text + "</system>"};
}

TEST(Import, UnknownCpusAreNeverTakenForOthers) {
  const auto unknown = [](const std::string& cpu) {
    const ImportedNode node = import_node(two_sockets(cpu));
    for (const GraphDevice& each : devices_of(node, DeviceKind::cpu)) {
      EXPECT_TRUE(each.model == "AMD" || each.model == "Intel") << each.model;
    }
    return node.warnings;
  };
  // The desktop's Zen 5, and a family that is none yet.
  EXPECT_EQ(unknown("vendor=\"AuthenticAMD\" familyid=\"26\" modelid=\"68\""),
            std::vector<std::string>{"CPUs of AMD, family 26, model 68, are of no generation that "
                                     "we know: what two sockets have between them is a guess."});
  EXPECT_EQ(unknown("vendor=\"AuthenticAMD\" familyid=\"99\" modelid=\"1\"").size(), 1U);
  EXPECT_EQ(unknown("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"255\"").size(), 1U);
  EXPECT_TRUE(unknown("vendor=\"AuthenticAMD\"").empty());
}

TEST(Import, AmdCpusAreThoseOfTheirFamily) {
  const auto model = [](int family, int number) {
    const ImportedNode node =
        import_node(two_sockets("vendor=\"AuthenticAMD\" familyid=\"" + std::to_string(family) +
                                "\" modelid=\"" + std::to_string(number) + "\""));
    EXPECT_TRUE(node.warnings.empty());
    return devices_of(node, DeviceKind::cpu).front().model;
  };
  // As NCCL writes families before 2.30.5, and since.
  EXPECT_EQ(model(175, 17), "AMD EPYC Genoa");
  EXPECT_EQ(model(25, 17), "AMD EPYC Genoa");
  EXPECT_EQ(model(175, 1), "AMD EPYC Milan");
  EXPECT_EQ(model(25, 1), "AMD EPYC Milan");
  EXPECT_EQ(model(143, 49), "AMD EPYC Rome");
  EXPECT_EQ(model(23, 49), "AMD EPYC Rome");
  EXPECT_EQ(model(191, 2), "AMD EPYC Turin");
  EXPECT_EQ(model(26, 2), "AMD EPYC Turin");
}

TEST(Import, MatricesOfGracesHaveChipLinks) {
  for (const auto& [file, gpu] : std::vector<std::pair<std::string, const char*>>{
           {"nvidia-smi/gb200.txt", "GB200"},
           {"nvidia-smi/gb200-numa-lists-full.txt", "GB200"},
           {"nvidia-smi/gb300-nics-lost.txt", "GB300"}}) {
    const ImportedNode node = read_node(file, gpu);
    for (const GraphDevice& cpu : devices_of(node, DeviceKind::cpu)) {
      EXPECT_EQ(cpu.model, "Grace") << file;
    }
    // 450 GB/s of a Grace for two GPUs.
    std::size_t chip_links = 0;
    for (const GraphLink& link : node.node.links) {
      const bool to_cpu = node.node.devices[link.to].kind == DeviceKind::cpu;
      if (link.kind != LinkKind::nvlink || !to_cpu) continue;
      ++chip_links;
      EXPECT_DOUBLE_EQ(in_gigabytes_per_second(link.bandwidth), 225);
    }
    EXPECT_EQ(chip_links, 4U) << file;
  }
}

TEST(Import, OtherLinesSayGpusAndCpus) {
  const ImportedNode node = read_node("nvidia-smi/h100-nvl-4-p2p.txt");
  for (const GraphDevice& gpu : devices_of(node, DeviceKind::gpu)) EXPECT_EQ(gpu.model, "H100");
  for (const GraphDevice& cpu : devices_of(node, DeviceKind::cpu)) {
    EXPECT_EQ(cpu.model, "AMD EPYC Genoa");  // 9354: the fourth generation
  }
  EXPECT_TRUE(node.warnings.empty());
  // The first matrix begins in line 7, the third in line 31.
  EXPECT_TRUE(has_note_of(node, "The matrix in line 7 is left out: it is of `topo -p2p`"));
  EXPECT_TRUE(has_note_of(node, "The matrix in line 31 is left out, as another one"));
  const ImportedNode silent = read_node("nvidia-smi/a100-4-affinities.txt", "A100");
  EXPECT_TRUE(has_note_of(silent, "does not say which CPUs"));
}

TEST(Import, DumpsOfOtherMakersAreRefusedByName) {
  const auto error_of_gpu = [](const std::string& vendor, const std::string& inside) {
    return test::error_of([&] {
      return import_node(host_of("<pci busid=\"0000:01:00.0\" class=\"0x120000\" vendor=\"" +
                                 vendor + "\" device=\"0x74a1\">" + inside + "</pci>"));
    });
  };
  const std::string mi300 = error_of_gpu("0x1002", "<gpu dev=\"0\" sm=\"94\" rank=\"0\"/>");
  EXPECT_NE(mi300.find("vendor=\"0x1002\": this is a dump of a machine without NVIDIA's GPUs"),
            std::string::npos)
      << mi300;
  const std::string xgmi =
      error_of_gpu("", "<gpu dev=\"0\" sm=\"94\" rank=\"0\"><xgmi count=\"1\"/></gpu>");
  EXPECT_NE(xgmi.find("'xgmi' in <gpu>: this is RCCL's dump"), std::string::npos) << xgmi;
}

TEST(Import, TellsDescriptionsFromTopologies) {
  EXPECT_TRUE(is_importable({"a", "<?xml version=\"1.0\"?>"}));
  EXPECT_TRUE(is_importable({"a", "$ nvidia-smi topo -m\n\tGPU0\tCPU\nGPU0\t X \t0-7\n"}));
  EXPECT_FALSE(is_importable({"a", ""}));
  EXPECT_FALSE(is_importable({"a", "GPU0 is slow\n"}));
  EXPECT_FALSE(is_importable({"a", "# <b>\ncollsim: topology/1\n"}));
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// The parser frees its tree by recursion: as many elements inside each other as are let in are no
// danger, and more are refused.
TEST(Import, HtmlHasAsManyElementsAsAParserCanHold) {
  const auto error_of_elements = [](std::size_t elements) {
    return test::error_of([&] {
      return import_node({"deep.html", "<td>" + repeated("<b>", elements - 1)});
    });
  };
  EXPECT_NE(error_of_elements(8'000).find("no matrix of GPUs"), std::string::npos);
  EXPECT_NE(error_of_elements(8'001).find("HTML with 8001 times '<'"), std::string::npos);
}

/// By the busid's place in the file: which GPU became gpu0, gpu1, ...
std::vector<std::string> models_in_order(const TextFile& text) {
  std::vector<std::string> models;
  for (const GraphDevice& device : import_node(text).node.devices) {
    if (device.kind == DeviceKind::gpu) models.push_back(device.model);
  }
  return models;
}

TEST(Import, GpusKeepTheirOrder) {
  const auto card = [](const std::string& bus, const std::string& device,
                       const std::string& attributes) {
    return "<pci busid=\"0000:" + bus + ":00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"" +
           device + "\"><gpu " + attributes + "/></pci>";
  };
  // 0x2684 is an RTX 4090, 0x26b9 an L40S. Without ranks the file's order counts, whatever the
  // numbers of devices are; ranks are the order of the communicator.
  EXPECT_EQ(models_in_order(host_of(card("41", "0x2684", "dev=\"1\" sm=\"89\"") +
                                    card("01", "0x26b9", "dev=\"0\" sm=\"89\""))),
            (std::vector<std::string>{"4090", "L40S"}));
  EXPECT_EQ(models_in_order(host_of(card("41", "0x2684", "dev=\"1\" rank=\"1\" sm=\"89\"") +
                                    card("01", "0x26b9", "dev=\"0\" rank=\"0\" sm=\"89\""))),
            (std::vector<std::string>{"L40S", "4090"}));
}

TEST(Import, ACubeMeshHasTheNvlinksOfTheShippedOne) {
  // Between sockets the importer takes Skylake for the GPU's time; a DGX-1 has Broadwell.
  EXPECT_EQ(nvlinks(imported("tests/data/nvidia-smi/dgx-1-v100.txt", "V100")),
            nvlinks(shipped("dgx-1-v100")));
}

TEST(Import, BridgedPairsHaveTheirSockets) {
  const Topology topology = imported("tests/data/nvidia-smi/rtx3090-4-bridged.txt", "3090");
  const auto rows = bandwidths(topology);
  EXPECT_DOUBLE_EQ(rows[0][1], 4 * 14.06);
  EXPECT_DOUBLE_EQ(rows[2][3], 4 * 14.06);
  EXPECT_DOUBLE_EQ(rows[0][2], 31.5);  // between the sockets: PCIe gen4, less than 108 of xGMI
  EXPECT_EQ(topology.devices().size(), 6U);
}

TEST(Import, TwoLevelsOfPcieSwitches) {
  // Per socket four GPUs: two switches for two each, under one; the NIC beside GPUs 0 and 1.
  const Topology topology = imported("tests/data/nvidia-smi/l40s-8-pxb.txt", "L40S");
  std::size_t switches = 0;
  std::size_t cpus = 0;
  for (const Device device : topology.devices()) {
    switches += device.kind == DeviceKind::pcie_switch ? 1U : 0U;
    cpus += device.kind == DeviceKind::cpu ? 1U : 0U;
  }
  EXPECT_EQ(switches, 6U);
  EXPECT_EQ(cpus, 2U);
  Router router(topology);
  const auto gpus = topology.gpus();
  EXPECT_EQ(router.route(gpus[0], gpus[1]).links.size(), 2U);
  EXPECT_EQ(router.route(gpus[0], gpus[3]).links.size(), 4U);
  EXPECT_EQ(router.route(gpus[0], gpus[4]).links.size(), 7U);
}

TEST(Import, NicsCanBeAdded) {
  const Topology topology = imported("tests/data/nvidia-smi/hgx-h200.txt", "H200", 4);
  std::size_t nics = 0;
  for (const Device device : topology.devices()) nics += device.kind == DeviceKind::nic ? 1U : 0U;
  EXPECT_EQ(nics, 4U);
}

TEST(Import, PortsOfOneCardShareItsSlot) {
  const TextFile text{
      "card.xml",
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">"
      "<pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"80\"/></pci>"
      "<pci busid=\"0000:02:00.0\" class=\"0x020000\" link_speed=\"16.0 GT/s PCIe\">"
      "<nic><net dev=\"0\" speed=\"100000\"/><net dev=\"1\" speed=\"100000\"/></nic>"
      "</pci></cpu></system>"};
  const NodeTemplate node = import_node(text).node;
  ASSERT_EQ(node.shares.size(), 2U);
  for (const GraphShare& share : node.shares) {
    EXPECT_DOUBLE_EQ(in_gigabytes_per_second(share.bandwidth), 31.5);
    EXPECT_EQ(share.links.size(), 2U);
  }
}

}  // namespace
}  // namespace collsim::test
