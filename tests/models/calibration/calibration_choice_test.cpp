// Which calibration a machine gets whose file names none.

#include "models/calibration/calibration_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "models/calibration/transport.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// The file without the line that names its calibration.
TextFile without_calibration(const std::filesystem::path& file) {
  TextFile text = read_text_file(file, "a topology");
  const std::size_t begin = text.content.find("\ncalibration:");
  if (begin != std::string::npos) {
    text.content.erase(begin, text.content.find('\n', begin + 1) - begin);
  }
  return text;
}

TEST(CalibrationChoice, FindsWhatShippedMachinesName) {
  // What no GPU says: that a machine is a textbook's, or that its network is TCP or RoCE.
  const std::map<std::string, std::string> chosen_by_hand{
      {"switch-8", "ideal"},
      {"switch-64", "ideal"},
      {"switch-1024", "ideal"},
      {"switch-4096", "ideal"},
      {"v100-1-x2", "v100+roce"},  // a host of one GPU has nothing to tell PCIe cards by
      {"one-gpu-ethernet-5g", "h200-tcp"},
      {"one-gpu-ethernet-100g", "h200-tcp"}};
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_directory() / "topologies")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(name);
    const Topology shipped = load_topology(entry.path());
    const auto by_hand = chosen_by_hand.find(name);
    if (by_hand != chosen_by_hand.end()) {
      EXPECT_EQ(shipped.calibration(), by_hand->second);
      continue;
    }
    const std::string named = calibration_name(shipped);
    EXPECT_EQ(calibration_name(read_topology(without_calibration(entry.path()))),
              named.substr(0, std::min(named.find("+roce"), named.find("+tcpxo"))));
    EXPECT_NE(calibration_name(shipped), default_calibration);
    ++checked;
  }
  EXPECT_GE(checked, 69U);  // 75 of them, less those above
}

/// Hosts of two such GPUs, joined by a link of this kind.
Topology pair_of(const std::string& model, const std::string& link) {
  return read_topology({"pair",
                        "collsim: topology/1\nname: pair\nnodes:\n  devices:\n"
                        "    - { id: \"gpu[0..1]\", kind: gpu" +
                            (model.empty() ? "" : ", model: " + model) +
                            " }\n  links:\n    - { from: gpu0, to: gpu1, kind: " + link +
                            ", bandwidth: 24 GB/s }\n"});
}

TEST(CalibrationChoice, GoesByGenerationAndByWhatJoinsTheGpus) {
  EXPECT_EQ(calibration_name(pair_of("H100", "nvlink")), "h100");
  EXPECT_EQ(calibration_name(pair_of("nvidia h100 80gb hbm3", "nvlink")), "h100");
  EXPECT_EQ(calibration_name(pair_of("sm_90", "nvlink")), "h100");
  // The die of H100 with faster memory.
  EXPECT_EQ(calibration_name(pair_of("H200", "nvlink")), "h200");
  EXPECT_EQ(calibration_name(pair_of("H100", "pcie")), "pcie");
  EXPECT_EQ(calibration_name(pair_of("RTX A6000", "nvlink")), "pcie");
  EXPECT_EQ(calibration_name(pair_of("A800", "nvlink")), "a100");
  EXPECT_EQ(calibration_name(pair_of("P100", "nvlink")), "v100");
}

TEST(CalibrationChoice, IsTheDefaultWhereNothingFitsAndSaysSo) {
  for (const char* model : {"", "sm_150", "Radeon"}) {
    const Topology topology = pair_of(model, "nvlink");
    EXPECT_EQ(calibration_name(topology), default_calibration) << model;
    EXPECT_TRUE(calibration_warning(calibration_for(topology)).has_value()) << model;
  }
  EXPECT_FALSE(calibration_warning(calibration_for(pair_of("H100", "nvlink"))).has_value());
}

}  // namespace
}  // namespace collsim
