// collsim train and serve: what is printed, exit codes, bad input.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using nlohmann::json;

class TrainCommand : public testing::Test {
 protected:
  static Outcome train(std::vector<std::string> args) {
    args.insert(args.begin(), "train");
    return run(args);
  }

 private:
  ShippedData shipped_;
};

const std::string programs = COLLSIM_SOURCE_DIR "/tests/data/programs/";

TEST_F(TrainCommand, gives_a_row_whose_parts_add_up) {
  const Outcome outcome = train({"dgx-a100", "--model", "gpt-7.5b", "--tp", "4", "--pp", "2",
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

TEST_F(TrainCommand, searches_layouts_the_quickest_first) {
  const Outcome outcome = train(
      {"dgx-h100", "--model", "llama3-8b", "--global-batch", "32", "--search", "--format", "json"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_GT(rows.size(), 1U);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i - 1]["time_ms"], rows[i]["time_ms"]);
    EXPECT_TRUE(rows[i]["fits"]);
  }
}

TEST_F(TrainCommand, runs_and_checks_programs) {
  const std::string file = programs + "two-communicators.yaml";
  const Outcome outcome = train({file, "-t", "hgx-h200-2", "--timeline"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("all a "), std::string::npos) << outcome.out;
  EXPECT_EQ(run({"check", file}).out, "cannot hang, whatever the times are\n");
  const test::TemporaryFile hangs("hangs.yaml", R"(collsim: program/1
ranks: 2
communicators: { all: "0..1" }
groups:
  a: { ranks: 0, ops: [ { send: 1 MB, to: b, on: all } ] }
  b: { ranks: 1, ops: [ { send: 1 MB, to: a, on: all } ] }
)");
  const Outcome hang = run({"check", hangs.path()});
  EXPECT_EQ(hang.status, exit_answer_is_no);
  EXPECT_EQ(hang.out.rfind("hangs: the program hangs: 'a' waits in op 1", 0), 0U) << hang.out;
}

// Through host memory one call fills what there is: two of 256 MiB took 15.9 ms on two H100, and
// one of them 8.7 ms alone; of 16 MiB 1.08 and 0.555 ms (recordings of `overlap-h100x2.csv`).
TEST_F(TrainCommand, shares_host_memory_between_calls) {
  const auto time = [](const std::string& second) {
    const test::TemporaryFile program("host.yaml", fmt::format(R"(collsim: program/1
ranks: 2
communicators: {{ one: "0..1", two: "0..1" }}
groups:
  all: {{ ranks: "0..1", ops: [ {{ all_reduce: 256 MiB, on: one, stream: a }}{} ] }}
)",
                                                               second));
    const Outcome outcome = train(
        {program.path(), "-t", "hgx-h200-2", "--env", "NCCL_P2P_DISABLE=1", "--format", "json"});
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return json::parse(outcome.out).at(0)["end_us"].get<double>();
  };
  EXPECT_NEAR(time(", { all_reduce: 256 MiB, on: two, stream: b }") / time(""), 1.83, 0.15);
}

TEST_F(TrainCommand, predicts_inference) {
  const Outcome outcome = run({"serve", "dgx-h100", "--model", "llama3-70b", "--tp", "8", "--batch",
                               "32", "--context", "4096", "--format", "json"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const json row = json::parse(outcome.out).at(0);
  EXPECT_NEAR(row["compute_ms"].get<double>() + row["exposed_tp_ms"].get<double>(),
              row["time_ms"].get<double>(), 1e-6);
  EXPECT_NEAR(row["tokens_per_s"].get<double>(), 32e3 / row["time_ms"].get<double>(), 1e-3);
  EXPECT_NEAR(row["tokens_per_user_s"].get<double>(), 1e3 / row["time_ms"].get<double>(), 1e-6);
  // 17.6 GB of weights and 5.4 of cache take 9.2 ms at 2.5 TB/s.
  EXPECT_GT(row["compute_ms"], 9.2);
}

TEST_F(TrainCommand, makes_a_straggler_cost_what_it_adds_to_kernels) {
  const auto time = [](const std::string& straggler) {
    const Outcome outcome = train({"dgx-h100", "--model", "gpt-7.5b", "--tp", "8", "--straggler",
                                   straggler, "--format", "json"});
    return json::parse(outcome.out).at(0);
  };
  const json even = time("3:1");
  const double more = time("3:1.5")["time_ms"].get<double>() - even["time_ms"].get<double>();
  EXPECT_NEAR(more, 0.5 * even["compute_ms"].get<double>(), 1e-6);
}

TEST_F(TrainCommand, tries_buckets_and_remedies) {
  const std::vector<std::string> asked{
      "dgx-h100", "--nodes", "2", "--model", "llama3-8b", "--tp", "4", "--global-batch", "16"};
  std::vector<std::string> args = asked;
  args.insert(args.end(), {"--bucket", "auto", "--advise"});
  const Outcome outcome = train(args);
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("  taken"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("# remedy"), std::string::npos) << outcome.out;
}

TEST_F(TrainCommand, writes_pages_and_traces) {
  const test::TemporaryFile trace("trace.json", "");
  const Outcome outcome =
      train({"dgx-h100", "--model", "gpt-7.5b", "--tp", "4", "--pp", "2", "--global-batch", "8",
             "--trace", trace.path(), "--format", "html"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("What each stream does"), std::string::npos);
  const json events = json::parse(read_text_file(trace.path(), "a trace").content)["traceEvents"];
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const json& event) {
    return event["ph"] == "X" && event["name"] == "B1";
  }));
}

// 0.43 + 1 ms of the host, ten times on tensor-parallel ranks whose layers DTensor issues eagerly:
// small layers wait for it, and those of 8,192 tokens of a large model do not.
TEST_F(TrainCommand, says_that_layers_wait_for_the_host) {
  const auto said = [](std::vector<std::string> args) {
    const Outcome outcome = train(std::move(args));
    EXPECT_NE(outcome.status, exit_bad_input) << outcome.err;
    return outcome.out.find("the step waits for the host") != std::string::npos;
  };
  EXPECT_TRUE(said({"hgx-h200", "--model", "llama3-8b", "--tp", "8", "--seq", "4096", "--software",
                    "torchtitan-eager"}));
  EXPECT_FALSE(said({"hgx-h200", "--model", "llama3-8b", "--tp", "8", "--seq", "8192"}));
}

TEST_F(TrainCommand, refuses_what_cannot_be) {
  const auto message = [](std::vector<std::string> args) {
    const Outcome outcome = train(std::move(args));
    EXPECT_EQ(outcome.status, exit_bad_input) << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(message({"dgx-a100"}).find("--model NAME"), std::string::npos);
  EXPECT_NE(message({"dgx-a100", "--model", "gpt9"}).find("no model 'gpt9'"), std::string::npos);
  EXPECT_NE(message({"dgx-a100", "--model", "gpt-22b", "--tp", "3"}).find("divides the GPUs"),
            std::string::npos);
  EXPECT_NE(message({"dgx-a100", "--model", "gpt-22b", "--software", "megaton"}).find("megatron"),
            std::string::npos);
  EXPECT_NE(message({"dgx-h100", "--model", "gpt-22b", "--straggler", "8:2"}).find("0 to 7"),
            std::string::npos);
  EXPECT_NE(message({"dgx-h100", "--model", "gpt-22b", "--decode", "--pp", "2"})
                .find("--decode is an old option of train; collsim serve"),
            std::string::npos);
  EXPECT_NE(message({"dgx-h100", "--model", "gpt-22b", "--search", "--straggler", "0:2"})
                .find("--straggler is not heeded by --search"),
            std::string::npos);
  EXPECT_NE(message({"dgx-h100", "--model", "gpt-22b", "--slow-nic", "2"}).find("at most 1"),
            std::string::npos);
  EXPECT_NE(message({"switch-8", "--model", "gpt-22b"}).find("no kernels are known"),
            std::string::npos);
}

// One of eight GPUs has half of its links: all wait for it in each all-reduce of its layers.
TEST_F(TrainCommand, slows_calls_by_faults_of_links) {
  const auto row = [](std::vector<std::string> more) {
    std::vector<std::string> args{"dgx-h100", "--model",  "llama3-8b", "--tp",
                                  "8",        "--format", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return json::parse(train(args).out).at(0);
  };
  const json healthy = row({});
  const json slow = row({"--fault", "link: node0/gpu0 - node0/nvswitch0, bandwidth: 50%"});
  EXPECT_GT(slow["time_ms"].get<double>(), 1.1 * healthy["time_ms"].get<double>());
  EXPECT_EQ(train({"dgx-h100", "--model", "llama3-8b", "--fault", "rank: 1, speed: 50%"}).status,
            exit_bad_input);
}

// Data-parallel communicators are one for each place of a node, with a NIC each, and the step waits
// for the slowest of them.
TEST_F(TrainCommand, waits_for_a_fault_of_any_nic) {
  const auto time = [](std::vector<std::string> more) {
    std::vector<std::string> args{"dgx-h100", "--nodes", "2",        "--model", "llama3-8b",
                                  "--tp",     "8",       "--format", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return json::parse(train(args).out).at(0)["time_ms"].get<double>();
  };
  const double healthy = time({});
  const double first = time({"--fault", "link: node1/nic0, bandwidth: 10%"});
  const double other = time({"--fault", "link: node1/nic5, bandwidth: 10%"});
  EXPECT_GT(first, 1.05 * healthy);
  EXPECT_NEAR(other, first, 0.01 * first);
}

// Leaves of 4 nodes with 4:1: four nodes of one leaf share no cable upwards, a node of each of four
// leaves does.
TEST_F(TrainCommand, places_a_job_on_listed_nodes) {
  const auto time = [](const std::string& placement) {
    const Outcome outcome =
        train({"dgx-h100", "--nodes", "16", "--set", "fabric=ndr-fat-tree-4-1", "--placement",
               placement, "--model", "llama3-8b", "--tp", "8", "--format", "json"});
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    const json row = json::parse(outcome.out).at(0);
    EXPECT_EQ(row["gpus"], placement == "random" ? 128 : 32);
    return row["time_ms"].get<double>();
  };
  const double near = time("list:node[4-7]");
  EXPECT_NEAR(time("list:node[0-3]"), near, 1e-9 * near);
  EXPECT_GE(time("list:node[0,4,8,12]"), near);
  EXPECT_GT(time("random"), 0);
  const Outcome outcome =
      train({"dgx-h100", "--nodes", "4", "--placement", "list:node[2-4]", "--model", "llama3-8b"});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_NE(outcome.err.find("has no node4; node0 to node3"), std::string::npos) << outcome.err;
}

TEST_F(TrainCommand, divides_batches_by_speed) {
  const Outcome outcome = train({"dgx-h100", "--nodes", "1", "--set", "beside=dgx-a100:1",
                                 "--model", "llama3-8b", "--zero", "1", "--recompute", "full",
                                 "--global-batch", "128", "--by-speed", "--format", "json"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const json row = json::parse(outcome.out).at(0);
  EXPECT_GT(row["equal_time_ms"].get<double>(), 1.1 * row["time_ms"].get<double>());
  EXPECT_NE(row["shares"].get<std::string>().find(" on H100"), std::string::npos);
}

}  // namespace
}  // namespace collsim::command
