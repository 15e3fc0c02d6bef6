// Calibrations that say only what sets them apart from another one.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "models/calibration/calibration_file.h"
#include "sim/base/data_directory.h"
#include "tests/support/error_of.h"
#include "tests/support/small_calibration.h"
#include "tests/support/temporary_file.h"

namespace collsim {
namespace {

Calibration shipped(const char* name) {
  return load_calibration(find_data_file(name, "models/data/calibrations"));
}

TEST(Extends, takes_what_the_file_does_not_say) {
  const Calibration base = shipped("hgx-h200");
  const Calibration cost =
      test::cost_of_small_calibration("extends: hgx-h200\nprotocols: { ll: { wait: 9 us } }");
  EXPECT_EQ(cost.name, "small");
  EXPECT_EQ(cost.over_tcp, "") << "its hosts are others";
  EXPECT_EQ(cost.launch, base.launch);
  EXPECT_EQ(cost.jitter, base.jitter);
  EXPECT_EQ(cost.of(Protocol::ll).wait, microseconds(9));
  EXPECT_EQ(cost.of(Protocol::ll).step, base.of(Protocol::ll).step);
}

TEST(Calibration, says_what_launches_and_rounds_cost) {
  const Calibration cost = test::cost_of_small_calibration(
      "launch_per_doubling: 0.5 us\ngraph_launch: 2 us\nissue_per_operation: 3 us\n"
      "message_setup: 6 us\njitter: 5%\ncorrections: { multi_peer: 0.2 us }\n"
      "protocols: { ll: { warp: 256 B, work: 0.5 us }, ll128: { first: 4 us } }");
  EXPECT_EQ(cost.launch_per_doubling, microseconds(0.5));
  EXPECT_EQ(cost.graph_launch, microseconds(2));
  EXPECT_EQ(cost.issue_per_operation, microseconds(3));
  EXPECT_EQ(cost.message_setup, microseconds(6));
  EXPECT_EQ(cost.jitter, 0.05);
  EXPECT_EQ(cost.corrections.multi_peer, microseconds(0.2));
  EXPECT_EQ(cost.of(Protocol::ll).work, microseconds(0.5));
  EXPECT_EQ(cost.of(Protocol::ll128).first, microseconds(4));
}

// Each protocol has constants of its own.
TEST(Calibration, refuses_constants_that_a_protocol_does_not_have) {
  EXPECT_NE(test::error_in_small_calibration("protocols: { ll: { first: 1 us } }"), "");
  EXPECT_NE(test::error_in_small_calibration("protocols: { ll128: { read: 1 GB/s } }"), "");
  EXPECT_NE(test::error_in_small_calibration("protocols: { simple: { wait: 1 us } }"), "");
  EXPECT_NE(
      test::error_in_small_calibration("protocols: { ll: { over: { pcie: { setup: 1 us } } } }"),
      "");
}

// Both would be inherited.
TEST(Extends, can_take_back_memory_and_jitter) {
  const Calibration cost =
      test::cost_of_small_calibration("extends: hgx-h200\nmemory: none\njitter: 0%");
  EXPECT_FALSE(cost.memory.used);
  EXPECT_EQ(cost.memory.at_once, 1);
  EXPECT_EQ(cost.jitter, 0);
  EXPECT_FALSE(test::cost_of_small_calibration("memory: none").memory.used);
  EXPECT_EQ(test::error_in_small_calibration("memory: all"),
            "c.yaml:5:9: 'all' is no host memory; none, or { cached: ..., rate: ..., cache: ... }");
}

TEST(Extends, a_calibration_that_is_there) {
  const std::string error = test::error_in_small_calibration("extends: nobody");
  EXPECT_TRUE(
      error.starts_with("c.yaml:5:10: there is no calibration 'nobody'; a path, or one of "
                        "a100, b200, "))
      << error;
  EXPECT_TRUE(test::error_in_small_calibration("extends: no/body.yaml")
                  .starts_with("c.yaml:5:10: there is no calibration"));
  EXPECT_TRUE(test::error_in_small_calibration("extends: [a100]").starts_with("c.yaml:5:10: "));
}

/// The text of a calibration that extends that file.
std::string extending(const std::filesystem::path& path) {
  return test::small_calibration("extends: " + path.string()).content;
}

std::string error_in(const std::filesystem::path& path) {
  return test::error_of([&] { return load_calibration(path); });
}

TEST(Extends, no_circle) {
  const test::TemporaryFile alone("alone.yaml", "");
  const test::TemporaryFile first("first.yaml", "");
  const test::TemporaryFile second("second.yaml", extending(first.path()));
  const test::TemporaryFile closing(first.path(), extending(second.path()));
  EXPECT_EQ(error_in(first.path()),
            second.path().string() +
                ":5:10: a calibration that extends itself: first, second, first; one that does not "
                "lead back here");
  const test::TemporaryFile self(alone.path(), extending(alone.path()));
  EXPECT_EQ(error_in(alone.path()), alone.path().string() +
                                        ":5:10: a calibration that extends itself: alone, alone; "
                                        "one that does not lead back here");
}

TEST(Extends, may_lead_over_several) {
  EXPECT_EQ(test::cost_of_small_calibration("extends: hgx-h200-4").of(Protocol::ll).step,
            shipped("hgx-h200").of(Protocol::ll).step);
}

// Half as long again; what the file says itself is not scaled.
TEST(TimeScale, scales_what_is_extended) {
  const ProtocolConstants base = shipped("hgx-h200").of(Protocol::simple);
  const ProtocolConstants cost =
      test::cost_of_small_calibration(
          "extends: hgx-h200\ntime_scale: 150%\nprotocols: { simple: { setup: 3 us } }")
          .of(Protocol::simple);
  EXPECT_DOUBLE_EQ(cost.step.value, 1.5 * base.step.value);
  EXPECT_DOUBLE_EQ(cost.write.value, base.write.value / 1.5);
  EXPECT_EQ(cost.setup, microseconds(3));
  EXPECT_DOUBLE_EQ(test::cost_of_small_calibration("extends: hgx-h200\ntime_scale: 0.5")
                       .of(Protocol::simple)
                       .step.value,
                   0.5 * base.step.value);
}

TEST(TimeScale, is_refused_where_it_is_wrong) {
  EXPECT_EQ(test::error_in_small_calibration("time_scale: 150%"),
            "c.yaml:5:13: 'time_scale' without a calibration to scale; 'extends: ...' beside it");
  const char* accepted = "a share above 0 up to 10, like 0.1 or 10%";
  for (const char* time_scale : {"0%", "-1", "1001%"}) {
    EXPECT_EQ(test::error_in_small_calibration(
                  fmt::format("extends: hgx-h200\ntime_scale: {}", time_scale)),
              fmt::format("c.yaml:6:13: {} is out of range; {}", time_scale, accepted));
  }
  for (const char* time_scale : {"fast", "1.98 GHz", "nan"}) {
    EXPECT_EQ(test::error_in_small_calibration(
                  fmt::format("extends: hgx-h200\ntime_scale: {}", time_scale)),
              fmt::format("c.yaml:6:13: '{}' is not a share; {}", time_scale, accepted));
  }
}

// GPUs of other clock rates: the H200's thread blocks, slower by them.
TEST(ShippedCalibrations, follow_the_h200_by_their_clocks) {
  const Calibration base = shipped("hgx-h200");
  for (const auto& [name, time_scale] :
       {std::pair{"h100", 1.0}, {"b200", 1.0}, {"pcie", 1.0}, {"a100", 1.4}, {"v100", 1.29}}) {
    const Calibration cost = shipped(name);
    EXPECT_EQ(cost.launch, base.launch) << name;
    EXPECT_EQ(cost.issue, microseconds(5)) << name;
    EXPECT_EQ(cost.jitter, 0) << name;
    EXPECT_FALSE(cost.memory.used) << name;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const ProtocolConstants& own = cost.of(protocol, LinkKind::pcie);
      EXPECT_DOUBLE_EQ(own.step.value, time_scale * base.of(protocol, LinkKind::pcie).step.value)
          << name;
    }
  }
}

}  // namespace
}  // namespace collsim
