// `collsim watch` on streams as NCCL's Inspector writes them, of a job on two hosts.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

using nlohmann::json;

constexpr std::int64_t large = 1 << 28;
constexpr std::int64_t small = 1 << 10;

/// What one call should take, in microseconds.
double expected_us(int ranks, int nodes, std::int64_t bytes) {
  const json document = json::parse(
      output_of({"expect", "dgx-h100-x2", "-n", std::to_string(ranks), "--ranks-per-node",
                 std::to_string(ranks / nodes), "-c", "all_reduce", "-b", std::to_string(bytes),
                 "-e", std::to_string(bytes), "--format", "json"}));
  return document.at("calls").at(0).at("time_us");
}

/// A job's communicators: one over both hosts, and one inside of each.
struct JobStream {
  double slow_inside = 1;   ///< what large calls on host b take, from call 200 on
  double slow_between = 1;  ///< the same of the one over both
  double late_us = 0;       ///< how long the others wait for rank 5 of host b, from call 200 on
  std::uint32_t seed = 1;

  std::string text() const {
    std::mt19937 random(seed);
    std::lognormal_distribution<double> noise(0, 0.04);
    std::ostringstream lines;
    const double times[2][2] = {{expected_us(8, 1, small), expected_us(8, 1, large)},
                                {expected_us(16, 2, small), expected_us(16, 2, large)}};
    for (int call = 0; call < 400; ++call) {
      const int size = call % 2;
      const bool faulty = call >= 200;
      for (const char host : {'a', 'b'}) {
        const double slow = faulty && size == 1 && host == 'b' ? slow_inside : 1;
        const double late = faulty && host == 'b' ? late_us : 0;
        add(lines, fmt::format("inside-{}", host), call, size, 8, 1,
            times[0][size] * slow * noise(random), late);
      }
      const double slow = faulty && size == 1 ? slow_between : 1;
      add(lines, "between", call, size, 16, 2, times[1][size] * slow * noise(random), 0);
    }
    return lines.str();
  }

 private:
  static void add(std::ostream& lines, const std::string& id, int call, int size, int ranks,
                  int nodes, double time, double late) {
    for (int rank = 0; rank < ranks; ++rank) {
      const char host = nodes == 1 ? id.back() : rank < 8 ? 'a' : 'b';
      const double waits = rank == 5 ? 0 : late + 0.5 * rank;
      lines << json{{"header", {{"id", id}, {"rank", rank}, {"n_ranks", ranks}, {"nnodes", nodes}}},
                    {"metadata",
                     {{"hostname", fmt::format("host-{}", host)},
                      {"dump_timestamp_us",
                       1'748'030'377'000'000 + std::int64_t{call} * 1'000'000}}},
                    {"coll_perf",
                     {{"coll", "AllReduce"},
                      {"coll_sn", call},
                      {"coll_msg_size_bytes", size == 0 ? small : large},
                      {"coll_exec_time_us", time + waits}}}}
            << '\n';
    }
  }
};

/// The records but for the last, which sums up.
std::vector<json> alarms_of(const std::string& text, int status) {
  const test::TemporaryFile file("inspector.log", text);
  const Outcome outcome =
      run({"watch", file.path().string(), "-t", "dgx-h100-x2", "--format", "jsonl"});
  EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
  std::vector<json> alarms;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) alarms.push_back(json::parse(line));
  EXPECT_EQ(alarms.back().at("alarms"), alarms.size() - 1);
  alarms.pop_back();
  return alarms;
}

TEST(Watch, healthy_jobs_are_not_alarmed) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    EXPECT_TRUE(alarms_of(JobStream{.seed = seed}.text(), exit_ok).empty()) << seed;
  }
}

// The slow port is host b's: communicators of host a alone are well.
TEST(Watch, a_slow_port_is_named_within_60_calls_with_its_communicator_and_host) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const auto alarms =
        alarms_of(JobStream{.slow_inside = 1.6, .seed = seed}.text(), exit_answer_is_no);
    ASSERT_EQ(alarms.size(), 1U) << seed;
    EXPECT_EQ(alarms[0].at("communicator"), "inside-b");
    EXPECT_EQ(alarms[0].at("hosts"), json::array({"host-b"}));
    EXPECT_EQ(alarms[0].at("symptom"), "large calls");
    EXPECT_NEAR(alarms[0].at("factor"), 1.6, 0.1);
    EXPECT_NEAR(alarms[0].at("since_call"), 201, 12);
    EXPECT_NE(alarms[0].at("cause").get<std::string>().find("a link"), std::string::npos);
  }
}

TEST(Watch, a_slow_network_is_no_fault_of_the_hosts_inside) {
  const auto alarms = alarms_of(JobStream{.slow_between = 2}.text(), exit_answer_is_no);
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_EQ(alarms[0].at("communicator"), "between");
  EXPECT_EQ(alarms[0].at("hosts"), json::array({"host-a", "host-b"}));
}

TEST(Watch, a_rank_that_comes_late_is_named) {
  const auto alarms = alarms_of(JobStream{.late_us = 3000}.text(), exit_answer_is_no);
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_EQ(alarms[0].at("communicator"), "inside-b");
  EXPECT_EQ(alarms[0].at("symptom"), "late rank");
  EXPECT_EQ(alarms[0].at("cause").get<std::string>().rfind("rank 5 comes last", 0), 0U);
}

TEST(Watch, torn_lines_are_passed_over_and_a_file_without_calls_is_refused) {
  const std::string text = JobStream().text();
  EXPECT_TRUE(alarms_of(text + text.substr(0, 100) + "\n", exit_ok).empty());
  const test::TemporaryFile none("none.log", "hello\n1 2 3\n");
  EXPECT_EQ(run({"watch", none.path().string(), "-t", "dgx-h100-x2"}).status, exit_bad_input);
  EXPECT_EQ(run({"watch", "no-such-file", "-t", "dgx-h100-x2"}).status, exit_bad_input);
  EXPECT_EQ(run({"watch", none.path().string()}).status, exit_bad_input);
}

// What `expect` says healthy calls take, and the same at a third of the rate.
TEST(Watch, rows_of_nccl_tests_are_judged_from_the_first) {
  const std::string healthy = output_of(
      {"expect", "dgx-h100", "-c", "all_reduce", "-b", "1M", "-e", "1G", "--format", "nccl-tests"});
  const std::string low =
      output_of({"expect", "dgx-h100", "-c", "all_reduce", "-b", "1M", "-e", "1G", "--format",
                 "nccl-tests", "--fault", "link: node0/gpu0 - node0/nvswitch0, bandwidth: 20%"});
  for (const auto& [text, status] :
       {std::pair(healthy, exit_ok), std::pair(low, exit_answer_is_no)}) {
    const test::TemporaryFile file("all_reduce.log", text);
    const Outcome outcome = run({"watch", file.path().string(), "-t", "dgx-h100"});
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
  }
}

}  // namespace
}  // namespace collsim::command
