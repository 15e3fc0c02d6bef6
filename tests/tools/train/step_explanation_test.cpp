// Measured steps: what logs of twelve writers say, how causes are weighed, and what two runs differ
// by.

#include "tools/collsim/train/step_explanation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/train/step_log.h"

namespace collsim::command {
namespace {

using nlohmann::json;

const std::string logs = COLLSIM_SOURCE_DIR "/tests/data/step-logs/";
const std::string traces = COLLSIM_SOURCE_DIR "/tests/data/kineto/";

class StepExplanation : public testing::Test {
 protected:
  /// Asks about a model that was recorded on two H100 (recordings/steps), with options added.
  static Outcome explain(const std::vector<std::string>& added) {
    std::vector<std::string> args{
        "train",       "hgx-h200-2", "--model", logs + "gpt-s.yaml",  "--micro-batch", "4",
        "--precision", "bf16-pure",  "--env",   "NCCL_NVLS_ENABLE=0", "--format",      "json"};
    args.insert(args.end(), added.begin(), added.end());
    return run(args);
  }

 private:
  ShippedData shipped_;
};

StepLog log_of(const std::string& writer) {
  return read_step_log(read_text_file(logs + writer + ".log", "a log"));
}

// All logs are of a job of 32 GPUs that takes 1.25 s for 32 sequences of 8,192 tokens: 6,554 tokens
// a second and GPU, 25.6 sequences and 0.8 steps a second. The first step takes 9 s.
TEST_F(StepExplanation, reads_the_lines_of_all_writers) {
  TrainingSetup setup;
  setup.data = 32;
  setup.global_batch = 32;
  setup.sequence = 8192;
  for (const std::string writer :
       {"megatron", "torchtitan", "nemo", "deepspeed", "huggingface", "bridge", "torchtune",
        "composer", "automodel", "nanogpt", "maxtext", "pipeline"}) {
    const std::vector<Seconds> times = step_times(log_of(writer), setup);
    ASSERT_EQ(times.size(), 5U) << writer;
    EXPECT_NEAR(times[2].value, 1.25, 0.002) << writer;
    EXPECT_NEAR(times.back().value, 1.26, 0.005) << writer;
  }
}

TEST_F(StepExplanation, reads_the_layout_of_a_log) {
  using Layout = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(log_of("megatron").layout, (Layout{{"--software", "megatron"},
                                               {"--tp", "8"},
                                               {"--pp", "1"},
                                               {"--cp", "1"},
                                               {"--seq", "8192"},
                                               {"--micro-batch", "1"},
                                               {"--global-batch", "32"}}));
  EXPECT_EQ(log_of("torchtitan").layout, (Layout{{"--software", "torchtitan"},
                                                 {"--zero", "3"},
                                                 {"--seq", "8192"},
                                                 {"--micro-batch", "1"},
                                                 {"--global-batch", "32"}}));
  EXPECT_EQ(log_of("deepspeed").layout,
            (Layout{{"--micro-batch", "1"}, {"--global-batch", "32"}, {"--zero", "3"}}));
}

// What the command says goes before what the log says, however it is written.
TEST_F(StepExplanation, takes_the_layout_of_the_command_first) {
  for (const auto& [option, value] : log_of("megatron").layout) {
    for (const auto& said :
         {std::vector<std::string>{option, value}, {fmt::format("{}={}", option, value)}}) {
      std::vector<std::string> args{"train",   "dgx-h100",  "--nodes",    "4",
                                    "--model", "llama3-8b", "--measured", logs + "megatron.log"};
      args.insert(args.end(), said.begin(), said.end());
      const Outcome outcome = run(args);
      EXPECT_NE(outcome.status, exit_bad_input) << said.front() << ": " << outcome.err;
    }
  }
}

TEST_F(StepExplanation, refuses_texts_without_times) {
  const TextFile text{"a.log", "epoch 3, loss 2.1, information: it/s unknown\nStep Time : -\n"};
  EXPECT_THROW(read_step_log(text), InputError);
  const Outcome log = explain({"--measured", COLLSIM_SOURCE_DIR "/README.md"});
  EXPECT_EQ(log.status, exit_bad_input) << log.err;
  EXPECT_EQ(explain({"--measured", "4.2s", "--measured", "5s"}).status, exit_bad_input);
  EXPECT_EQ(explain({"--measured", "no-such.log"}).status, exit_bad_input);
  const Outcome other = run({"diagnose", logs + "megatron.log"});
  EXPECT_NE(other.err.find("collsim train MACHINE"), std::string::npos) << other.err;
}

// A range of 0.8 to 1.25 has its middle at 1 and a spread of ln(1.25 / 0.8) / 2.5632 = 0.17411. A
// step as predicted: -ln(0.17411 sqrt(2 pi)) = 0.829. Twice as long: 3.981 deviations, -7.925.
TEST_F(StepExplanation, weighs_a_time_by_the_printed_range) {
  const StepRange range{0.8, 1.25};
  const StepParts predicted{{"kernels", Seconds{3}}, {"exposed dp", Seconds{1}}};
  EXPECT_NEAR(log_likelihood({{"step", Seconds{4}}}, predicted, range), 0.829, 1e-3);
  EXPECT_NEAR(log_likelihood({{"step", Seconds{8}}}, predicted, range), 0.829 - 7.925, 5e-3);
}

// Of predicted 4 s, 3 s are kernels and 1 s exposed: spreads are 0.17411 sqrt(0.75) = 0.15078 and
// sqrt(0.25), 0.08706, and 0.017411 of waits, which the step has none of. Of predicted 3.6 s with
// 0.6 exposed they are 0.15894 and 0.07108. The 0.4 s that are missing, a tenth of the step,
// are 1.407 deviations: -0.990 - ln(0.15894 / 0.15078) - ln(0.07108 / 0.08706) = -0.840.
TEST_F(StepExplanation, weighs_parts_by_their_shares) {
  const StepRange range{0.8, 1.25};
  const StepParts measured{{"kernels", Seconds{3}}, {"exposed dp", Seconds{1}}};
  const double same = log_likelihood(measured, measured, range);
  const StepParts less{{"kernels", Seconds{3}}, {"exposed tp", Seconds{0.6}}};
  EXPECT_NEAR(log_likelihood(measured, less, range) - same, -0.840, 2e-3);
}

// As predicted has as much weight as all else, and fits best: it is likelier than not. Ten times as
// long is no longer as predicted. Probabilities add up.
TEST_F(StepExplanation, knows_a_step_as_predicted_from_a_slow_one) {
  const Outcome slow = explain({"--measured", "0.8s"});
  EXPECT_EQ(slow.status, exit_answer_is_no) << slow.err;
  const json found = json::parse(slow.out);
  EXPECT_EQ(found["verdict"], "slow");
  const double predicted = found["parts"][0]["predicted_ms"];
  EXPECT_NEAR(found["ratio"].get<double>(), 800 / predicted, 1e-9);
  double sum = 0;
  for (const json& cause : found["causes"]) sum += cause["probability"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NE(found["causes"][0]["cause"], "as predicted");
  const Outcome healthy = explain({"--measured", fmt::format("{} ms", predicted)});
  EXPECT_EQ(healthy.status, exit_ok) << healthy.err;
  EXPECT_EQ(json::parse(healthy.out)["causes"][0]["cause"], "as predicted") << healthy.out;
}

// Steps of two H100, recorded over NVLink and through host memory (NCCL_P2P_DISABLE=1), which the
// question does not say.
TEST_F(StepExplanation, finds_what_was_planted_in_traces) {
  const auto first_cause = [](const std::string& trace, std::vector<std::string> layout) {
    layout.insert(layout.end(), {"--measured", traces + trace + "-rank0.json.gz", "--measured",
                                 traces + trace + "-rank1.json.gz"});
    const Outcome outcome = explain(layout);
    return json::parse(outcome.out)["causes"][0]["cause"].get<std::string>();
  };
  const std::vector<std::string> tensor{"--tp", "2", "--no-sequence-parallel"};
  EXPECT_EQ(first_cause("step-tp-S", tensor), "as predicted");
  EXPECT_EQ(first_cause("step-host-tp", tensor).rfind("no peer-to-peer", 0), 0U);
  // Calls of which 0.5 ms were to be exposed expose 7.6: too many for what a prediction errs.
  EXPECT_NE(first_cause("step-host-ddp", {}), "as predicted");
}

// Of Llama 3 8B on 4 x 8 H100 torchtitan measured 7,100 tokens a second and GPU, and once 1,786
// (its issue 708), which the network had slowed: 8192 / 1786 = 4.587 s.
TEST_F(StepExplanation, blames_the_network_of_a_job_over_several_nodes) {
  const test::TemporaryFile log("train.log",
                                "Training starts at step 1, with local batch size 1, global batch "
                                "size 32, sequence length 8192, total steps 1000 (warmup 200)\n"
                                "step: 10  loss:  1.5568  memory: 26.47GiB(33.47%)  wps: 1,786  "
                                "mfu: 10.46%\n");
  const Outcome outcome = run({"train", "dgx-h100", "--nodes", "4", "--model", "llama3-8b",
                               "--measured", log.path(), "--format", "json"});
  ASSERT_EQ(outcome.status, exit_answer_is_no) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_NEAR(found["parts"][0]["measured_ms"].get<double>(), 4587, 1);
  const std::string first = found["causes"][0]["cause"];
  EXPECT_TRUE(first.find("network") != std::string::npos || first.find("TCP") != std::string::npos)
      << outcome.out;
}

TEST_F(StepExplanation, compares_traces_of_two_runs) {
  const std::vector<std::string> files{
      traces + "step-tp-S-rank0.json.gz", traces + "step-tp-S-rank1.json.gz",
      traces + "step-host-tp-rank0.json.gz", traces + "step-host-tp-rank1.json.gz"};
  std::vector<std::string> args{"replay", "--compare", "--format", "json"};
  args.insert(args.end(), files.begin(), files.end());
  const Outcome slower = run(args);
  ASSERT_EQ(slower.status, exit_answer_is_no) << slower.err;
  const json change = json::parse(slower.out);
  EXPECT_EQ(change["verdict"], "slower");
  // An all-reduce of 32 MiB took 0.14 ms over NVLink and 1.18 ms through host memory.
  EXPECT_GT(change["calls"][0]["transfer_after_us"],
            8 * change["calls"][0]["transfer_us"].get<double>());
  double sum = 0;
  for (const json& part : change["parts"]) {
    if (part["part"] != "step") sum += part["after_ms"].get<double>();
  }
  EXPECT_NEAR(sum, change["parts"][0]["after_ms"].get<double>(), 1e-6);
  EXPECT_EQ(run({"replay", "--compare", files[0], files[0]}).status, exit_ok);
  EXPECT_EQ(run({"replay", "--compare", files[0], files[1]}).status, exit_bad_input);
}

}  // namespace
}  // namespace collsim::command
