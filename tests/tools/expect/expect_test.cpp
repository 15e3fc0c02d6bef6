// What `collsim expect` tells other programs: the same times in each form, the file for lookups,
// and the communicator of a log.

#include <collsim/lookup.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

using Json = nlohmann::json;

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json expected(std::vector<std::string> args) {
  args.insert(args.begin(), "expect");
  args.insert(args.end(), {"--format", "json"});
  return Json::parse(output_of(args));
}

TEST(Expect, has_the_times_of_estimate_for_each_collective) {
  const Json all = expected({"dgx-h100-x4", "-b", "1K", "-e", "1G", "-f", "32"});
  EXPECT_EQ(all["ranks"], 32);
  std::map<std::string, int> rows;
  for (const Json& call : all["calls"]) {
    ++rows[call["collective"]];
    const std::string size = std::to_string(call["size_bytes"].get<std::int64_t>());
    const Json alone = Json::parse(output_of({"estimate", "dgx-h100-x4", "-c", call["collective"],
                                              "-b", size, "-e", size, "--format", "json"}));
    EXPECT_EQ(alone[0]["time_us"], call["time_us"]) << call;
    EXPECT_DOUBLE_EQ(alone[0]["time_p90_us"].get<double>(), call["time_p90_us"].get<double>())
        << call;
    EXPECT_EQ(alone[0]["algorithm"], call["algorithm"]) << call;
  }
  EXPECT_EQ(rows.size(), 9U);
  for (const auto& [collective, count] : rows) EXPECT_EQ(count, 5) << collective;
}

TEST(Expect, simulates_where_it_is_asked_to) {
  const Json all = expected({"hgx-h200", "-c", "all_reduce", "-b", "4M", "-e", "4M", "--simulate"});
  const Json alone =
      Json::parse(output_of({"run", "hgx-h200", "-b", "4M", "-e", "4M", "--format", "json"}));
  EXPECT_EQ(all["method"], "native");
  EXPECT_EQ(all["calls"][0]["time_us"], alone[0]["time_us"]);
}

class Lookup : public testing::Test {
 protected:
  Lookup() : path_(testing::TempDir() + "expected.lookup") {
    rows_ = expected({"hgx-h200", "-c", "all_to_all,all_reduce", "-b", "1K", "-e", "1G", "-f",
                      "1024", "--export-lookup", path_})["calls"];
    file_ = text_of_file(path_);
    EXPECT_EQ(collsim_lookup_open(file_.data(), file_.size(), &lookup_), 0);
  }

  collsim_expected at(const char* collective, std::uint64_t bytes) const {
    collsim_expected found{};
    EXPECT_EQ(collsim_lookup_find(&lookup_, collsim_lookup_collective(collective), bytes, &found),
              0);
    return found;
  }
  const Json& row(const char* collective, std::int64_t bytes) const {
    for (const Json& each : rows_) {
      if (each["collective"] == collective && each["size_bytes"] == bytes) return each;
    }
    throw std::out_of_range(collective);
  }

  std::string path_;
  std::string file_;
  Json rows_;
  collsim_lookup lookup_{};
};

TEST_F(Lookup, has_the_rows) {
  EXPECT_EQ(lookup_.ranks, 8U);
  EXPECT_EQ(lookup_.count, 6U);  // two collectives, 1 KiB, 1 MiB, 1 GiB
  for (const auto& [ours, theirs] :
       {std::pair{"all_reduce", "all_reduce"}, std::pair{"all_to_all", "alltoall"}}) {
    for (const std::int64_t bytes : {1LL << 10, 1LL << 20, 1LL << 30}) {
      const collsim_expected found = at(theirs, static_cast<std::uint64_t>(bytes));
      EXPECT_FLOAT_EQ(static_cast<float>(found.time_us), row(ours, bytes)["time_us"].get<float>());
      EXPECT_FLOAT_EQ(static_cast<float>(found.low_us),
                      row(ours, bytes)["time_p10_us"].get<float>());
      EXPECT_EQ(found.channels, row(ours, bytes)["channels"]);
    }
  }
}

TEST_F(Lookup, goes_on_a_straight_line_between_sizes_and_in_proportion_above) {
  const double at_1k = row("all_reduce", 1 << 10)["time_us"];
  const double at_1m = row("all_reduce", 1 << 20)["time_us"];
  const double at_1g = row("all_reduce", 1 << 30)["time_us"];
  // 512 KiB lies (2^19 - 2^10) / (2^20 - 2^10) = 511 / 1023 of the way.
  EXPECT_NEAR(at("all_reduce", 1 << 19).time_us, at_1k + 511.0 / 1023 * (at_1m - at_1k), 1e-3);
  EXPECT_NEAR(at("all_reduce", std::uint64_t{1} << 32U).time_us, 4 * at_1g, 1e-2);
  EXPECT_NEAR(at("all_reduce", 8).time_us, at_1k, 1e-3);
}

TEST_F(Lookup, refuses_what_it_has_not) {
  collsim_expected found{};
  EXPECT_EQ(collsim_lookup_find(&lookup_, collsim_lookup_collective("broadcast"), 8, &found), -1);
  EXPECT_EQ(collsim_lookup_collective("no_such"), -1);
  collsim_lookup other{};
  EXPECT_EQ(collsim_lookup_open(file_.data(), file_.size() - 24, &other), -1);
  EXPECT_EQ(collsim_lookup_open(file_.data() + 8, file_.size() - 8, &other), -1);
  EXPECT_EQ(collsim_lookup_open(file_.data(), 8, &other), -1);
}

// What a mock prints is what a healthy machine would: our own reader takes it for one.
TEST(Expect, prints_tables_of_nccl_tests_that_are_healthy) {
  const std::string path = testing::TempDir() + "mock.txt";
  std::ofstream(path) << output_of({"expect", "dgx-h100-x2", "-c", "all_reduce,all_gather", "-b",
                                    "1M", "-e", "1G", "-f", "32", "--format", "nccl-tests"});
  const Outcome diagnosed = run({"diagnose", path, "-t", "dgx-h100-x2"});
  EXPECT_EQ(diagnosed.status, exit_ok) << diagnosed.out << diagnosed.err;
  const Outcome back =
      run({"expect", path, "-c", "all_reduce", "-b", "1G", "-e", "1G", "--format", "json"});
  ASSERT_EQ(back.status, exit_ok) << back.err;
  EXPECT_EQ(Json::parse(back.out)["ranks"], 16);
}

TEST(Expect, takes_the_communicator_of_a_log) {
  const std::string path = testing::TempDir() + "info.log";
  std::ofstream(path) << output_of({"expect", "hgx-h200", "-n", "4", "-c", "all_reduce", "-b", "1M",
                                    "-e", "1M", "--format", "nccl-tests"})
                      << "node0:1:1 [0] NCCL INFO NCCL version 2.27.7+cuda12.9\n"
                         "node0:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Tree\n";
  const Outcome found =
      run({"expect", path, "-c", "all_reduce", "-b", "1M", "-e", "1M", "--format", "json"});
  ASSERT_EQ(found.status, exit_ok) << found.err;
  const Json document = Json::parse(found.out);
  EXPECT_EQ(document["ranks"], 4);
  EXPECT_EQ(document["nccl_version"], "2.27.7");
  EXPECT_EQ(document["calls"][0]["algorithm"], "tree");
}

TEST(Expect, gives_metrics_in_seconds) {
  const std::string text = output_of(
      {"expect", "hgx-h200", "-c", "all_reduce", "-b", "1M", "-e", "1M", "--format", "prometheus"});
  const double microseconds =
      expected({"hgx-h200", "-c", "all_reduce", "-b", "1M", "-e", "1M"})["calls"][0]["time_us"];
  const std::string label =
      "collsim_expected_seconds{collective=\"all_reduce\",ranks=\"8\",size_bytes=\"1048576\","
      "quantile=\"0.5\"} ";
  const auto found = text.find(label);
  ASSERT_NE(found, std::string::npos) << text;
  EXPECT_NEAR(std::stod(text.substr(found + label.size())), microseconds * 1e-6, 1e-10);
}

TEST(Expect, refuses_what_it_does_not_heed) {
  EXPECT_EQ(run({"expect", "hgx-h200", "-a", "ring,tree"}).status, exit_bad_input);
  EXPECT_EQ(run({"expect", "hgx-h200", "-c", "all_reduce,no_such"}).status, exit_bad_input);
  EXPECT_EQ(run({"expect", "/no/such.log"}).status, exit_bad_input);
  for (const char* format : {"json", "nccl-tests", "prometheus"}) {
    EXPECT_EQ(run({"expect", "hgx-h200", "-c", "barrier", "--format", format}).status,
              exit_bad_input);
  }
  EXPECT_EQ(run({"expect", "hgx-h200", "--in-place", "--format", "nccl-tests"}).status,
            exit_bad_input);
}

}  // namespace
}  // namespace collsim::command
