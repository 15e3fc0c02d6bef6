#include "tools/recorder/plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "sim/base/input_error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"
#include "tools/recorder/plan_cost.h"

namespace collsim::recorder {
namespace {

class Plan : public ::testing::Test {
 protected:
  std::vector<recorder::Run> load(const std::string& text) {
    return load_plan(test::TemporaryFile("plan.yaml", text).path());
  }
  std::string error_of(const std::string& text) {
    const std::string error = test::error_of([&] { return load(text); });
    return error.empty() ? error : error.substr(error.find("plan.yaml") + 9);
  }
};

TEST_F(Plan, CrossesItsChoicesTheLastCountingFastest) {
  const auto runs = load(
      "collsim: recording-plan/1\n"
      "runs:\n"
      "  - { name: a, ranks: [2, 4], algorithms: [Ring, Tree], channels: 8,\n"
      "      collectives: all_reduce, sizes: 8 B }\n");
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0].name, "a/2/Ring/ch8");
  EXPECT_EQ(runs[1].name, "a/2/Tree/ch8");
  EXPECT_EQ(runs[3].name, "a/4/Tree/ch8");
  EXPECT_EQ(runs[3].ranks, 4);
  EXPECT_EQ(runs[3].gpus, (std::vector{0, 1, 2, 3}));
  const std::map<std::string, std::string> expected{
      {"NCCL_ALGO", "Tree"}, {"NCCL_MIN_NCHANNELS", "8"}, {"NCCL_MAX_NCHANNELS", "8"}};
  EXPECT_EQ(runs[3].environment, expected);
}

// Parts are whole 16 bytes: of 100 B three ranks get 33 B each, so 32 B, 96 B together; of 8 B they
// get nothing, and the case falls away. all_reduce takes whole floats.
TEST_F(Plan, CutsSizesAsNcclTestsDoes) {
  const auto runs = load(
      "collsim: recording-plan/1\n"
      "runs: [{ name: a, ranks: 3, collectives: [all_gather, all_reduce], sizes: [8 B, 101 B] "
      "}]\n");
  const std::vector<Case> expected{{"all_gather", 96, false, false},
                                   {"all_reduce", 8, false, false},
                                   {"all_reduce", 100, false, false}};
  EXPECT_EQ(runs.at(0).cases, expected);
}

TEST_F(Plan, HasGraphsLastAndInPlaceOnlyWhereItCanBeChecked) {
  const auto runs = load(
      "collsim: recording-plan/1\n"
      "runs: [{ name: a, ranks: 2, collectives: [reduce, send_recv, launch], sizes: 64 B,\n"
      "         places: [out, in], modes: [plain, graph] }]\n");
  const std::vector<Case> expected{{"reduce", 64, false, false},    {"reduce", 64, true, false},
                                   {"send_recv", 64, false, false}, {"launch", 0, false, false},
                                   {"reduce", 64, false, true},     {"reduce", 64, true, true},
                                   {"send_recv", 64, false, true},  {"launch", 0, false, true}};
  EXPECT_EQ(runs.at(0).cases, expected);
}

TEST_F(Plan, PlaysHostsWithTheirRates) {
  const auto runs = load(
      "collsim: recording-plan/1\n"
      "runs:\n"
      "  - name: tcp\n"
      "    hosts: { count: 2, gpus: 2, rate: 5 Gb/s, burst: 64 KiB,\n"
      "             slow: { host: 1, rate: 0.5 Gb/s }, uplink: 2.5 Gb/s }\n"
      "    collectives: all_reduce\n"
      "    sizes: { from: 1 KiB, to: 16 KiB, factor: 4 }\n");
  const recorder::Run& run = runs.at(0);
  EXPECT_EQ(run.name, "tcp/2x2-5g-slow1-0.5g-uplink-2.5g");
  EXPECT_EQ(run.ranks, 4);
  const Hosts expected{2, 2, 5'000'000'000, 65536, SlowHost{1, 500'000'000}, 2'500'000'000};
  EXPECT_EQ(run.hosts, expected);
  EXPECT_EQ(run.cases.size(), 3U);  // 1, 4, 16 KiB
}

TEST_F(Plan, SaysWhatIsWrongAndWhere) {
  const std::string head = "collsim: recording-plan/1\nruns:\n  - ";
  EXPECT_EQ(error_of(head + "{ name: a, collectives: all_reduce, sizes: 8 B }\n"),
            ":3:5: a run needs one of ranks and hosts; ranks: [2, 4], or hosts");
  EXPECT_EQ(
      error_of(head + "{ name: a, ranks: 2, collectives: barrier, sizes: 8 B }\n").substr(0, 17),
      ":3:39: 'barrier';");
  EXPECT_EQ(error_of(head + "{ name: a, ranks: 2, collectives: reduce, sizes: 8 B,\n"
                            "      environment: { PATH: x } }\n"),
            ":4:22: 'PATH'; the name of an NCCL variable, NCCL_...");
}

TEST_F(Plan, RefusesMulticastUnlessAllowed) {
  const std::string text =
      "collsim: recording-plan/1\n"
      "runs: [{ name: a, ranks: 2, collectives: reduce, sizes: 8 B,\n"
      "         environment: { NCCL_NVLS_ENABLE: 1 }, allow_nvls: ";
  EXPECT_THROW(load(text + "false }]\n"), InputError);
  EXPECT_TRUE(load(text + "true }]\n").at(0).allow_nvls);
}

TEST_F(Plan, RegistersBuffersInRunsOfTheirOwn) {
  const auto runs = load(
      "collsim: recording-plan/1\n"
      "runs: [{ name: a, ranks: 2, collectives: reduce, sizes: 8 B, \n"
      "         buffers: [plain, registered, user_registered] }]\n");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs.at(0).name, "a/2");
  EXPECT_EQ(runs.at(0).buffers, Buffers::plain);
  EXPECT_EQ(runs.at(1).name, "a/2/registered");
  EXPECT_EQ(runs.at(1).buffers, Buffers::registered);
  EXPECT_EQ(runs.at(2).name, "a/2/user_registered");
  EXPECT_EQ(runs.at(2).buffers, Buffers::user_registered);
}

TEST_F(Plan, ComesBackFromItsRunList) {
  for (const auto& entry :
       std::filesystem::directory_iterator(COLLSIM_SOURCE_DIR "/tools/recorder/plans")) {
    const auto runs = load_plan(entry.path());
    EXPECT_FALSE(runs.empty());
    std::ostringstream once;
    write_run_list(once, runs);
    std::istringstream in(once.str());
    std::ostringstream twice;
    write_run_list(twice, read_run_list(in, "runs"));
    EXPECT_EQ(twice.str(), once.str()) << entry.path();
  }
}

// Both have to fit where a machine is lent for minutes.
TEST_F(Plan, ShippedOnesTakeLessThanFourMinutes) {
  for (const auto& entry :
       std::filesystem::directory_iterator(COLLSIM_SOURCE_DIR "/tools/recorder/plans")) {
    double seconds = 0;
    for (const recorder::Run& run : load_plan(entry.path())) seconds += guessed_seconds(run);
    EXPECT_GT(seconds, 5) << entry.path();
    EXPECT_LT(seconds, 240) << entry.path();
  }
}

TEST(RunList, SaysWhatIsWrongAndWhere) {
  const auto error_of = [](const std::string& text) {
    std::istringstream in(text);
    return test::error_of([&] { return read_run_list(in, "f"); });
  };
  EXPECT_EQ(error_of("runs\n").substr(0, 26), "f:1: this is no run list; ");
  EXPECT_EQ(error_of("collsim-runs 1\nranks 2\n"), "f:2: 'ranks' before the first run; run NAME");
  EXPECT_EQ(error_of("collsim-runs 1\nrun a\nranks 65\n"), "f:3: '65'; ranks, 1 to 64");
  EXPECT_EQ(error_of("collsim-runs 1\nrun a\ncase all_reduce 8 out\n"),
            "f:3: the line ends too early; plain or graph");
  EXPECT_EQ(error_of("collsim-runs 1\nrun a b\n"), "f:2: 'b' is too much; the end of the line");
  EXPECT_EQ(error_of("collsim-runs 1\nrun a\n").substr(0, 28), "f:2: run a is not complete; ");
}

}  // namespace
}  // namespace collsim::recorder
