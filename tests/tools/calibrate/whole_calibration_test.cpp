// What a fit begins from where a calibration extends another: all constants, as they are there.

#include "tools/collsim/calibrate/whole_calibration.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/calibration/calibration_file.h"
#include "models/calibration/transport.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/small_calibration.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {
namespace {

TextFile shipped(const std::string& name) {
  return read_text_file(find_data_file(name, "models/data/calibrations"), "a calibration");
}

/// The same costs by its own constants alone.
void expect_whole(const TextFile& file) {
  const CalibrationText text = whole_calibration(file);
  EXPECT_EQ(text.constants().find("extends"), std::string::npos);
  EXPECT_EQ(text.constants().find("time_scale"), std::string::npos);
  Calibration cost = read_calibration(file);
  Calibration own = test::cost_of_small_calibration(text.constants());
  for (const Parameter& parameter : fit_parameters()) {
    const double expected = parameter.in(cost);
    if (std::isinf(expected)) {
      EXPECT_EQ(parameter.in(own), expected) << file.name << " " << parameter.name;
    } else {
      EXPECT_NEAR(parameter.in(own), expected, 5.1e-4 * expected)
          << file.name << " " << parameter.name;
    }
  }
  EXPECT_EQ(own.of(Protocol::ll128).warp_granule, cost.of(Protocol::ll128).warp_granule);
  EXPECT_EQ(own.proxy.used, cost.proxy.used);
  EXPECT_EQ(own.proxy.socket, cost.proxy.socket);
  EXPECT_EQ(own.memory.used, cost.memory.used);
  EXPECT_EQ(own.memory.cache, cost.memory.cache);
  EXPECT_EQ(own.over_tcp, cost.over_tcp);
}

TEST(WholeCalibration, costs_the_same) {
  for (const char* name :
       {"hgx-h200", "hgx-h200-4", "h200-4-tcp", "a100", "v100", "pcie", "ideal"}) {
    expect_whole(shipped(name));
  }
}

// A name with transports costs what those say, stated as one text; 4 digits of each constant stay.
TEST(WholeCalibration, of_a_name_with_transports_costs_the_same) {
  for (const char* name : {"h100+ib", "h100+efa", "h100+tcp", "a100+ofi", "pcie+tcp+shm"}) {
    Calibration cost = named_calibration(name);
    const CalibrationText text = whole_calibration(name);
    EXPECT_EQ(text.name(), name);
    Calibration own = cost_of(text);
    for (const Parameter& parameter : fit_parameters()) {
      const double expected = parameter.in(cost);
      if (std::isinf(expected)) {
        EXPECT_EQ(parameter.in(own), expected) << name << " " << parameter.name;
      } else {
        EXPECT_NEAR(parameter.in(own), expected, 5.1e-4 * expected)
            << name << " " << parameter.name;
      }
    }
    EXPECT_EQ(own.proxy.used, cost.proxy.used) << name;
    EXPECT_EQ(own.proxy.socket, cost.proxy.socket) << name;
    EXPECT_EQ(own.memory.used, cost.memory.used) << name;
    EXPECT_EQ(own.memory.cache, cost.memory.cache) << name;
  }
}

// As `collsim run` prints it for all GPUs: GPUs without NVLink also take a transport in the host.
TEST(WholeCalibration, that_is_used_has_the_machines_transports) {
  const auto name_on = [](const char* machine) {
    return name_of_calibration_used(load_topology(find_data_file(machine, "topologies")));
  };
  EXPECT_EQ(name_on("azure-ndv5-x8"), "h100+ib");
  EXPECT_EQ(name_on("aws-p5-x4"), "h100+efa");
  EXPECT_EQ(name_on("hgx-h200"), "hgx-h200");
  EXPECT_EQ(name_on("l40s-4"), "pcie+p2p");
}

// Scaled constants are printed as they are here, all others as they are written there.
TEST(WholeCalibration, states_what_it_inherits) {
  const CalibrationText text = whole_calibration(shipped("a100"));
  EXPECT_EQ(text.name(), "a100");
  EXPECT_TRUE(text.states("simple.over.pcie.step"));
  EXPECT_FALSE(text.states("simple.over.network.step")) << "as for all links";
  EXPECT_NE(text.constants().find("warp: 256 B"), std::string::npos);
  const Calibration base = read_calibration(shipped("hgx-h200"));
  const std::string setup =
      fmt::format("setup: {:.4g} us", 1.4 * in_microseconds(base.of(Protocol::simple).setup));
  EXPECT_NE(text.constants().find(setup), std::string::npos) << "1.4 times as long";
}

// What is named becomes numbers, so that a fit of one of them keeps the other.
TEST(WholeCalibration, states_what_nvswitches_take) {
  const TextFile file = test::small_calibration("extends: hgx-h200\nnvls: nvls");
  const CalibrationText text = whole_calibration(file);
  EXPECT_TRUE(text.states("nvls.efficiency"));
  EXPECT_TRUE(text.states("nvls.step"));
  expect_whole(file);
}

// A protocol's own constant does not count for links that inherit one.
TEST(WholeCalibration, keeps_what_links_inherit) {
  expect_whole(test::small_calibration(
      "extends: hgx-h200\nprotocols: { simple: { setup: 9 us, step: 1 us } }"));
}

// What is stated of proxies replaces all of them.
TEST(WholeCalibration, mixes_no_proxies) {
  expect_whole(
      test::small_calibration("extends: h200-tcp\nproxy: { send: 1 us, receive: 2 us }\n"
                              "memory: { both_ways: { at_once: 9%, in_turn: 8% } }"));
}

}  // namespace
}  // namespace collsim
