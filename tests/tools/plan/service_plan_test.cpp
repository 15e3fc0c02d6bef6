// Service levels: queues by hand, and plans that keep what they promise.

#include "tools/collsim/plan/service_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

using nlohmann::json;

// Half busy: 0.5 / (2 x 0.5) of a service, 0.1 s. Four fifths: 0.8 / 0.4 of it, 0.2 s.
TEST(ServicePlan, waits_as_a_queue_of_equal_services) {
  EXPECT_DOUBLE_EQ(mean_wait(5, Seconds{0.1}).value, 0.05);
  EXPECT_DOUBLE_EQ(mean_wait(8, Seconds{0.1}).value, 0.2);
  EXPECT_TRUE(std::isinf(mean_wait(10, Seconds{0.1}).value));
}

// 20 requests a second of 0.1 s: two servers are always busy. Three are two thirds busy, and have
// one wait 0.1 s; four are half busy, 0.05 s.
TEST(ServicePlan, takes_servers_until_the_wait_is_short) {
  EXPECT_EQ(servers_within(20, Seconds{0.1}, Seconds{0.21}), 3);
  EXPECT_EQ(servers_within(20, Seconds{0.1}, Seconds{0.16}), 4);
  EXPECT_EQ(servers_within(20, Seconds{0.1}, Seconds{0.1}), 0);
}

TEST(ServicePlan, keeps_its_promise) {
  const ShippedData shipped;
  const Outcome outcome =
      run({"plan", "serve", "dgx-h100", "--model", "llama3-8b", "--tp", "1,2", "--context", "1000",
           "--answer", "100", "--requests", "20", "--first-token", "300ms", "--next-token", "20ms",
           "--format", "json"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) {
    EXPECT_LE(row["first_ms"], 300) << row;
    EXPECT_LE(row["token_ms"], 20) << row;
    // 20 x 100 tokens a second, each of a batch in a token's time.
    const double tokens = 1e3 * row["replicas"].get<double>() * row["batch"].get<double>() /
                          row["token_ms"].get<double>();
    EXPECT_GE(tokens, 2000) << row;
  }
  // 1,000 tokens of 32 layers, two of 8 heads of 128 each, in 16 bits: 131 MB at 50 GB/s are 2.6
  // ms.
  EXPECT_GT(rows[0]["transfer_ms"], 2.6 / rows[0]["prompt_tp"].get<double>());
  EXPECT_EQ(run({"plan", "serve", "dgx-h100", "--model", "llama3-8b", "--requests", "20",
                 "--first-token", "1us", "--next-token", "20ms"})
                .status,
            exit_answer_is_no);
  EXPECT_EQ(run({"plan", "serve", "dgx-h100", "--model", "llama3-8b", "--requests", "20"}).status,
            exit_bad_input);
}

}  // namespace
}  // namespace collsim::command
