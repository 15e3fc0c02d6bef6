// collsim step: what is printed, exit codes, bad input.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using nlohmann::json;

class StepCommand : public testing::Test {
 protected:
  static Outcome step(std::vector<std::string> args) {
    args.insert(args.begin(), "step");
    return run(args);
  }

 private:
  ShippedData shipped_;
};

const std::string programs = COLLSIM_SOURCE_DIR "/tests/data/programs/";

TEST_F(StepCommand, gives_a_row_whose_parts_add_up) {
  const Outcome outcome = step({"dgx-a100", "--model", "gpt-7.5b", "--tp", "4", "--pp", "2",
                                "--global-batch", "8", "--format", "json"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const json row = json::parse(outcome.out).at(0);
  EXPECT_EQ(row["dp"], 1);
  EXPECT_EQ(row["microbatches"], 8);
  const double parts = row["compute_ms"].get<double>() + row["wait_ms"].get<double>() +
                       row["exposed_tp_ms"].get<double>() + row["exposed_pp_ms"].get<double>() +
                       row["exposed_dp_ms"].get<double>();
  EXPECT_NEAR(parts, row["time_ms"].get<double>(), 1e-6 * parts);
  EXPECT_GT(row["exposed_tp_ms"], 0);
}

TEST_F(StepCommand, searches_layouts_the_quickest_first) {
  const Outcome outcome = step(
      {"dgx-h100", "--model", "llama3-8b", "--global-batch", "32", "--search", "--format", "json"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_GT(rows.size(), 1U);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i - 1]["time_ms"], rows[i]["time_ms"]);
    EXPECT_TRUE(rows[i]["fits"]);
  }
}

TEST_F(StepCommand, runs_and_checks_programs) {
  const std::string file = programs + "two-communicators.yaml";
  const Outcome outcome = step({file, "-t", "hgx-h200-2", "--timeline"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("all a "), std::string::npos) << outcome.out;
  EXPECT_EQ(step({file, "--check"}).out, "cannot hang, whatever the times are\n");
  const test::TemporaryFile hangs("hangs.yaml", R"(collsim: program/1
ranks: 2
communicators: { all: "0..1" }
groups:
  a: { ranks: 0, ops: [ { send: 1 MB, to: b, on: all } ] }
  b: { ranks: 1, ops: [ { send: 1 MB, to: a, on: all } ] }
)");
  const Outcome hang = step({hangs.path(), "--check"});
  EXPECT_EQ(hang.status, exit_answer_is_no);
  EXPECT_EQ(hang.out.rfind("hangs: the program hangs: 'a' waits in op 1", 0), 0U) << hang.out;
}

TEST_F(StepCommand, refuses_what_cannot_be) {
  const auto message = [](std::vector<std::string> args) {
    const Outcome outcome = step(std::move(args));
    EXPECT_EQ(outcome.status, exit_bad_input) << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(message({"dgx-a100"}).find("--model NAME"), std::string::npos);
  EXPECT_NE(message({"dgx-a100", "--model", "gpt9"}).find("no model 'gpt9'"), std::string::npos);
  EXPECT_NE(message({"dgx-a100", "--model", "gpt-22b", "--tp", "3"}).find("divides the GPUs"),
            std::string::npos);
  EXPECT_NE(
      message({"dgx-a100", "--model", "gpt-22b", "--pp", "8", "--zero", "3"}).find("--zero 3"),
      std::string::npos);
  EXPECT_NE(message({"switch-8", "--model", "gpt-22b"}).find("no kernels are known"),
            std::string::npos);
}

}  // namespace
}  // namespace collsim::command
