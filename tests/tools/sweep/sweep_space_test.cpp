// The points of a sweep: their order, their scenarios and machines, and what is refused.

#include "tools/collsim/sweep/sweep_space.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tools/collsim/sweep/sweep_range.h"

namespace collsim {
namespace {

/// A sweep over switch-8 with these lines below `sweep:`, which is line 8 of the file.
SweepSpace space(const std::string& lines, const std::string& topology = "switch-8") {
  return SweepSpace({"s.yaml",
                     "collsim: scenario/1\n"
                     "name: a sweep\n"
                     "topology: " +
                         topology +
                         "\n"
                         "ranks: 4\n"
                         "sizes: { from: 8 B, to: 8 KiB, factor: 1024 }\n"
                         "runs:\n"
                         "  - { algorithm: ring }\n"
                         "sweep:\n" +
                         lines});
}

std::string refusal(const std::string& lines) {
  return test::error_of([&] {
    space(lines).check();
    return 0;
  });
}

std::vector<std::string> texts_of(const std::string& range) {
  std::vector<std::string> texts;
  const YamlValue root = read_yaml({"r.yaml", "collsim: r/1\nr: " + range + "\n"}, "r");
  for (const YamlValue& value : range_values(root.free_mapping().at("r"))) {
    texts.push_back(value.string());
  }
  return texts;
}

using Texts = std::vector<std::string>;

// Two values times two pairs: the last entry is the fastest, and fields of one entry go together.
TEST(SweepSpaces, combine_entries_and_keep_fields_of_an_entry_together) {
  const SweepSpace sweep = space(
      "  - ranks: [2, 8]\n"
      "  - size: [1 KiB, 1 MiB]\n"
      "    runs.0.algorithm: [ring, tree]\n");
  ASSERT_EQ(sweep.points(), 4U);
  EXPECT_EQ(sweep.values(0), (Texts{"2", "1 KiB", "ring"}));
  EXPECT_EQ(sweep.values(1), (Texts{"2", "1 MiB", "tree"}));
  EXPECT_EQ(sweep.values(2), (Texts{"8", "1 KiB", "ring"}));
  const Scenario last = sweep.scenario(3);
  EXPECT_EQ(last.ranks, 8U);
  EXPECT_EQ(last.runs.front().algorithm, "tree");
  EXPECT_EQ(sizes_of(last), (std::vector<Bytes>{Bytes{1 << 20}}));
}

// 8 B and 8 KiB by the factor 1024: two sizes; with two runs four answers.
TEST(SweepSpaces, count_answers_by_runs_and_sizes) {
  const SweepSpace sweep =
      space("  - runs: [[{ algorithm: ring }], [{ algorithm: ring }, { algorithm: tree }]]\n");
  EXPECT_EQ(sweep.answers(), (std::vector<std::uint32_t>{2, 4}));
}

TEST(SweepSpaces, set_fields_of_the_machine_and_of_its_templates) {
  const SweepSpace sweep = space(
      "  - machine.nodes.count: [16, 32]\n"
      "  - machine.fabric.link.bandwidth: [25 GB/s, 50 GB/s]\n"
      "  - machine.nodes.links.0.bandwidth: [10 GB/s]\n",
      "dgx-h100-x64");
  const Topology machine = sweep.machine(sweep.scenario(2), 2);
  EXPECT_EQ(machine.gpus().size(), 32U * 8);
  const LinkId of_fabric = machine.first_fabric_link();
  EXPECT_EQ(machine.link(of_fabric).bandwidth, gigabytes_per_second(25));
  // Links of a node begin with gpu0's 18 NVLinks, as one.
  EXPECT_EQ(machine.link(0).bandwidth, gigabytes_per_second(18 * 10));
  EXPECT_EQ(sweep.machine_key(2), "1.0.0.");
}

TEST(SweepSpaces, know_which_points_share_a_call) {
  const SweepSpace sweep = space("  - ranks: [2, 4]\n  - size: [8 B, 16 B]\n");
  EXPECT_EQ(sweep.call_key(0), sweep.call_key(1));
  EXPECT_NE(sweep.call_key(1), sweep.call_key(2));
  EXPECT_EQ(sweep.machine_key(0), sweep.machine_key(3));
}

TEST(SweepSpaces, refuse_wrong_fields_at_their_place) {
  EXPECT_EQ(
      refusal("  - rank: [2]\n").find("s.yaml:9:5: unknown field 'rank'; did you mean 'ranks'?"),
      0U);
  EXPECT_EQ(refusal("  - ranks: [2, x]\n"),
            "s.yaml:9:16: 'x' is not a whole number; a whole number from 1 to 1048576");
  EXPECT_EQ(refusal("  - ranks: 2\n").find("s.yaml:9:12: 'ranks' has one value; "), 0U);
  EXPECT_EQ(refusal("  - ranks: []\n").find("s.yaml:9:12: 'ranks' has no value; "), 0U);
  EXPECT_EQ(
      refusal("  - ranks: [2]\n  - ranks: [4]\n").find("s.yaml:10:5: duplicate field 'ranks'"), 0U);
  EXPECT_EQ(refusal("  - ranks: [2]\n    root: [0, 1]\n")
                .find("s.yaml:10:5: 2 values of 'root' beside 1 "),
            0U);
  EXPECT_EQ(
      refusal("  - runs.0.chanels: [2]\n").find("s.yaml:9:5: unknown key 'chanels'; keys here"),
      0U);
  EXPECT_EQ(refusal("  - runs.3.channels: [2]\n"), "s.yaml:9:5: entry 3 of a list of 1; 0 to 0");
  EXPECT_EQ(refusal("  - machine.calibration: [ideal, nobody]\n")
                .find("s.yaml:9:34: there is no calibration"),
            0U);
  EXPECT_EQ(refusal("  - size: { from: 1 MiB, to: 1 GiB }\n")
                .find("s.yaml:9:11: this range says in no way or in several how to go on; one of "
                      "factor, step and points"),
            0U);
  EXPECT_NE(refusal("  ranks: [2]\n").find("the sweep is not a list"), std::string::npos);
}

TEST(Scenarios, with_a_sweep_are_no_single_ones) {
  EXPECT_NE(test::error_of([] { return space("  - sweep: [1]\n"); }).find("unknown field 'sweep'"),
            std::string::npos);
}

TEST(SweepRanges, go_on_by_factors_steps_or_equal_ratios) {
  EXPECT_EQ(texts_of("{ from: 1 MiB, to: 1 GiB, factor: 32 }"),
            (Texts{"1 MiB", "32 MiB", "1 GiB"}));
  EXPECT_EQ(texts_of("{ from: 2, to: 8, step: 3 }"), (Texts{"2", "5", "8"}));
  EXPECT_EQ(texts_of("{ from: 10%, to: 30%, step: 10% }"), (Texts{"10%", "20%", "30%"}));
  EXPECT_EQ(texts_of("{ from: 25 GB/s, to: 100 GB/s, factor: 2 }"),
            (Texts{"25 GB/s", "50 GB/s", "100 GB/s"}));
  // 1, 10^(2/3) = 4.64, 10^(4/3) = 21.5, 100: whole numbers stay whole.
  EXPECT_EQ(texts_of("{ from: 1, to: 100, points: 4 }"), (Texts{"1", "5", "22", "100"}));
  // 1, 1.26, 1.59, 2: rounded to the same number, a value is there once.
  EXPECT_EQ(texts_of("{ from: 1, to: 2, points: 4 }"), (Texts{"1", "2"}));
  // 1034 B are 1.00977 KiB, rounded: what to_string() rounds stands in bytes. 1137.4 is 1137.
  EXPECT_EQ(texts_of("{ from: 1034 B, to: 1140 B, factor: 1.1 }"), (Texts{"1034 B", "1137 B"}));
  EXPECT_EQ(texts_of("{ from: 1.5 us, to: 6 us, factor: 2 }"), (Texts{"1.5 us", "3 us", "6 us"}));
}

TEST(SweepRanges, know_amounts) {
  EXPECT_EQ(amount_of("2 KiB"), 2048);
  EXPECT_EQ(amount_of("10%"), 0.1);
  EXPECT_EQ(amount_of("-3"), -3);
  EXPECT_EQ(amount_of("ring"), std::nullopt);
}

}  // namespace
}  // namespace collsim
