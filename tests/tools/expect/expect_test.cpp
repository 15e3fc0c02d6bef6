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

/// What torchcomms says of 16 ranks on two hosts: all_reduce runs as `entry` from 1 KiB on.
std::string tuning_query(const std::string& entry) {
  std::string path = testing::TempDir() + "tuning.json";
  std::ofstream(path) << R"({"version": 1, "n_ranks": 16, "n_nodes": 2,
 "algorithms": ["Tree", "Ring"], "bandwidths": {"AllReduce": [[0.0, 48.5]]},
 "best_by_size": {"SendRecv": [[8, null, null, 0, 0, -1.0]],
                  "AllReduce": [[512, null, null, 0, 0, -1.0],
                                )" +
                             entry + "]}}\n";
  return path;
}

std::vector<std::string> asked_of(const std::string& path, const std::string& size) {
  return {path, "-t", "dgx-h100-x2", "-c", "all_reduce", "-b", size, "-e", size};
}

// Forty-eight pairs and sizes.
TEST(Expect, takes_what_a_communicator_says_that_it_runs) {
  for (const char* algorithm : {"Tree", "Ring"}) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      for (const int channels : {1, 4, 7, 16}) {
        const std::string path =
            tuning_query("[1024, \"" + std::string(algorithm) + "\", \"" + protocol + "\", " +
                         std::to_string(channels) + ", 512, 12.5]");
        for (const char* size : {"1K", "24M"}) {
          const Json call = expected(asked_of(path, size))["calls"][0];
          // A small call has no data for all channels.
          if (size == std::string("24M")) {
            EXPECT_EQ(call["channels"], channels) << call;
          }
          EXPECT_EQ(call["protocol"], protocol) << call;
          EXPECT_EQ(call["algorithm"], algorithm == std::string("Tree") ? "tree" : "ring");
        }
      }
    }
  }
}

TEST(Expect, chooses_itself_where_a_communicator_does_not_say) {
  const std::string path = tuning_query("[1024, \"Tree\", \"LL\", 1, 512, 12.5]");
  const Json own =
      expected({"dgx-h100-x2", "-c", "all_gather,all_reduce", "-b", "512", "-e", "512"});
  const Json asked = expected(
      {path, "-t", "dgx-h100-x2", "-c", "all_gather,all_reduce", "-b", "512", "-e", "512"});
  EXPECT_EQ(asked["calls"], own["calls"]);
}

TEST(Expect, names_what_is_wrong_with_what_a_communicator_says) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"[1024, \"Tre\", \"LL\", 1, 512, 1.0]", "tuning.json:5:40: 'Tre'"},
      {"[1024, \"Tree\", \"LL12\", 1, 512, 1.0]", "tuning.json:5:48: 'LL12'"},
      {"[1024, \"Tree\", \"LL\", 65, 512, 1.0]", "tuning.json:5:54: 65"},
      {"[1024, \"Tree\", \"LL\", 1, 0, 1.0]", "tuning.json:5:57: 0"},
      {"[-8, \"Tree\", \"LL\", 1, 512, 1.0]", "tuning.json:5:34: -8"},
      {"[1024, \"Tree\", \"LL\", 1, 512]", "tuning.json:5:33: 5 values"},
      {"{\"size\": 8}", "tuning.json:5:33: "},
      {"[1024, \"Tree\"", "tuning.json:"},
      {"[1024, \"NVLS\", \"Simple\", 4, 512, 1.0]", "by NVLS here"},  // one host only
  };
  for (const auto& [entry, message] : bad) {
    std::vector<std::string> args = asked_of(tuning_query(entry), "1K");
    args.insert(args.begin(), "expect");
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, exit_bad_input) << entry;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << entry << '\n' << outcome.err;
  }
  const std::string good = tuning_query("[1024, \"Tree\", \"LL\", 1, 512, 12.5]");
  EXPECT_NE(run({"expect", good}).err.find("-t MACHINE"), std::string::npos);
  EXPECT_EQ(run({"expect", good, "-t", "hgx-h200"}).status, exit_bad_input);  // 16 ranks, 8 GPUs
  EXPECT_EQ(run({"expect", good, "-t", "dgx-h100-x2", "-a", "ring"}).status, exit_bad_input);
  EXPECT_NE(run({"diagnose", good}).err.find("collsim expect"), std::string::npos);
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
