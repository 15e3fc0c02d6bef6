// How near predicted steps are to measured ones. Kernels are fitted to rows of a single GPU;
// nothing else is.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"
#include "tools/collsim/train/published_steps.h"

namespace collsim {
namespace {

class StepAccuracy : public testing::Test {
 protected:
  static std::map<std::string, StepScore> scores(const char* file) {
    const PublishedSteps steps = load_published_steps(find_data_file(file, "recordings/steps"));
    std::map<std::string, StepScore> by_group;
    for (const StepScore& score : score_steps(compare_steps(steps, load_kernel_table()))) {
      by_group[score.group] = score;
    }
    return by_group;
  }

 private:
  ShippedData shipped_;
};

// The groups of two H100 that NCCL runs as it chooses.
TEST_F(StepAccuracy, of_two_gpus_is_within_eight_per_cent) {
  const auto by_group = scores("h100x2");
  EXPECT_LT(by_group.at("h100x2-single").mean_error, 0.02);  // in the fit
  for (const char* const group : {"h100x2-ddp", "h100x2-fsdp", "h100x2-tp", "h100x2-pp"}) {
    EXPECT_LT(by_group.at(group).mean_error, 0.08) << group;
  }
}

// torch.cuda.max_memory_allocated() of every recorded row. That DDP keeps its first buckets, and
// how often logits are there, is read off these rows; all else is counted.
TEST_F(StepAccuracy, of_memory_is_what_pytorch_allocated) {
  std::vector<double> errors;
  for (const PublishedStep& step :
       load_published_steps(find_data_file("h100x2", "recordings/steps")).steps) {
    ASSERT_GT(step.peak, 0) << step.id;
    errors.push_back(std::abs(step_memory(step.setup).allocated() / step.peak - 1));
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.10);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.25);
}

// Sweeps of layouts on A100, and FSDP: also nearer than FLOPs by one rate with the bubble.
TEST_F(StepAccuracy, of_published_sweeps_beats_a_constant_efficiency) {
  const auto by_group = scores("published");
  for (const char* const group : {"vtrain_multi", "alephalpha", "mpt"}) {
    const StepScore& score = by_group.at(group);
    EXPECT_LT(score.mean_error, 0.12) << group;
    EXPECT_LT(score.mean_error, score.formula_error) << group;
  }
  // NeMo on H100, whose tensor-parallel calls run beside products: 14 % off where they wait.
  EXPECT_LT(by_group.at("dgxc_v25.03").mean_error, 0.09);
  EXPECT_GT(by_group.at("vtrain_multi").tau, 0.75);
  EXPECT_GT(by_group.at("mpt").tau, 0.75);
}

// Tensor parallelism of PyTorch, by whose software rows are known. Nothing is fitted to them.
TEST_F(StepAccuracy, of_pytorch_tensor_parallelism_is_within_twelve_per_cent) {
  const PublishedSteps steps = load_published_steps(find_data_file("pytorch", "recordings/steps"));
  std::vector<double> errors;
  for (const StepComparison& each : compare_steps(steps, load_kernel_table())) {
    const StepSoftware& software = each.step->setup.software;
    EXPECT_FALSE(software.name.empty()) << each.step->id;
    if (each.step->setup.tensor > 1 && software.gathers_each) {
      errors.push_back(std::abs(each.error()));
    }
  }
  ASSERT_GE(errors.size(), 20U);
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.12);
}

std::string meaning(const std::string& words, std::int64_t gpus_of_node = 0) {
  const Interconnect network = read_interconnect(words, gpus_of_node);
  return fmt::format("{} x {:g}, {}", network.nics, network.gigabits, network.gpus_of_node);
}

// The same network in many wordings, of as many NICs as there are GPUs and of others.
TEST(Interconnect, has_one_meaning_in_all_wordings) {
  for (const std::int64_t nics : {1, 2, 4, 8, 16, 32}) {
    for (const std::int64_t rate : {25, 100, 200, 400, 800}) {
      const std::string same = fmt::format("{} x {}, 0", nics, rate);
      for (const char* const words :
           {"{0}x {1} Gb/s per node", "{0}x {1} Gb/s", "{0}x{1}G", "{0} x {1} Gbps RoCE",
            "{0}\xc3\x97 {1}GbE per node", "{0} NICs of {1} Gb/s", "{0} {1} Gb/s NICs",
            "{1} Gb/s x {0}", "{0}x NDR InfiniBand {1} Gb/s per node, NVLink4 900 GB/s/GPU",
            "{0}x {1} Gb/s per node ({2} Gb/s), NVSwitch", "NVLink5 1.8 TB/s/GPU + {0}x {1} Gbit/s",
            "{1} Gb/s InfiniBand ({2} Gb/s per node)"}) {
        EXPECT_EQ(meaning(fmt::format(fmt::runtime(words), nics, rate, nics * rate)), same)
            << words;
      }
    }
  }
  for (const std::int64_t gpus : {4, 8}) {
    const std::string same = fmt::format("{0} x 400, {0}", gpus);
    for (const std::string& words :
         {std::string("400 Gb/s per GPU"), std::string("50 GB/s/GPU"), std::string("NDR per GPU"),
          fmt::format("{} Gb/s per node", 400 * gpus),
          fmt::format("{:g} Tb/s total", 0.4 * static_cast<double>(gpus)),
          fmt::format("400 Gb/s per GPU, {} GPUs per node", gpus),
          fmt::format("NVLink4 inside a node of {} GPUs; 1x NDR per GPU", gpus)}) {
      EXPECT_EQ(meaning(words, gpus), same) << words;
    }
  }
}

// A rate by itself is that of each NIC, and what names no rate leaves the machine's own.
TEST(Interconnect, leaves_to_the_machine_what_is_not_said) {
  EXPECT_EQ(meaning("NVLink4 inside a node of 4 GPUs; InfiniBand NDR 400 Gb/s"), "0 x 400, 4");
  EXPECT_EQ(meaning("100 Gb/s InfiniBand between servers of 8 V100"), "0 x 100, 8");
  for (const char* const words : {"", "NVSwitch", "NVLink2 hybrid cube mesh", "InfiniBand",
                                  "NVSwitch NVLink3; network of the cluster not named"}) {
    EXPECT_EQ(meaning(words), "0 x 0, 0") << words;
  }
}

TEST(Interconnect, refuses_what_it_does_not_understand) {
  for (const char* const words :
       {"400 gigabit InfiniBand", "8x InfiniBand", "8x 400 Gb/s bidirectional", "400 Gb/s per rack",
        "200 gb/s per GPU", "8x 400 Gb/s, 4x 200 Gb/s", "0x 400 Gb/s",
        "8x 400 Gb/s per node (1600 Gb/s)", "1000 Gb/s (300 Gb/s each)", "8x 0 Gb/s", "8x 8x 8 G",
        "400 Gb/s 200 Gb/s"}) {
    EXPECT_THROW(read_interconnect(words, 0), QuantityError) << words;
  }
  EXPECT_THROW(read_interconnect("8x 400 Gb/s, 4 GPUs per node", 8), QuantityError);
}

/// A row of published steps with one value in place of another.
std::string row_with(const std::string& old, const std::string& other) {
  std::string text =
      "collsim: steps/1\nentries:\n"
      "- {id: a, group: g, gpu: H100-80GB, gpus: 16, nodes: 2, interconnect: 8x 400 Gb/s,\n"
      "   model: {layers: 2, hidden: 512, heads: 8, ffn: 2048, vocab: 1000, seq: 128, gated: "
      "false},\n"
      "   parallel: {tp: 1, pp: 1, dp: 16, zero: 0}, micro_batch: 1, global_batch: 16,\n"
      "   precision: bf16, recompute: none, measured: {step_s: 0.1}}\n";
  return text.replace(text.find(old), old.size(), other);
}

// Recipes of fp8 by their names, and GPUs whose node is shipped.
TEST(PublishedSteps, can_be_of_many_recipes_and_gpus) {
  const ShippedData shipped;
  const auto rows = [](const std::string& old, const std::string& other) {
    const test::TemporaryFile file("steps.yaml", row_with(old, other));
    return load_published_steps(file.path()).steps.size();
  };
  for (const char* const recipe : {"fp8", "fp8-cs", "fp8-ds", "fp8-block", "mxfp8"}) {
    EXPECT_EQ(rows("bf16", recipe), 1U) << recipe;
  }
  for (const char* const gpu : {"A100-80GB", "H800-80GB", "B300-288GB", "H100-96GB"}) {
    EXPECT_EQ(rows("H100-80GB", gpu), 1U) << gpu;
  }
  EXPECT_EQ(rows("bf16", "int4"), 0U);
}

// What is not understood is refused at its place, whichever key it stands at.
TEST(PublishedSteps, refuse_values_that_are_not_understood) {
  const ShippedData shipped;
  for (const auto& [old, other] :
       std::vector<std::pair<std::string, std::string>>{{"8x 400 Gb/s", "8x 400 things"},
                                                        {"zero: 0", "zero: two"},
                                                        {"micro_batch: 1", "micro_batch: small"},
                                                        {"dp: 16", "dp: 16, ep: two"},
                                                        {"recompute: none", "recompute: ful"},
                                                        {"gated: false", "gated: perhaps"},
                                                        {"nodes: 2", "nodes: 3"},
                                                        {"step_s: 0.1", "step_s: 5e-324"}}) {
    const test::TemporaryFile file("steps.yaml", row_with(old, other));
    try {
      load_published_steps(file.path());
      ADD_FAILURE() << other;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("steps.yaml:"), std::string::npos) << error.what();
    }
  }
  const test::TemporaryFile file("steps.yaml", row_with("seq: 128", "seq: 128, conv_width: 64"));
  EXPECT_EQ(load_published_steps(file.path()).left_out.count("a model with 'conv_width'"), 1U);
}

// Pairs (1, 1), (2, 3), (3, 2): two of three pairs agree, one does not: (2 - 1) / 3.
TEST(KendallTau, counts_pairs_that_agree) {
  EXPECT_NEAR(kendall_tau({{1, 1}, {2, 3}, {3, 2}}), 1.0 / 3, 1e-12);
  EXPECT_NEAR(kendall_tau({{1, 1}, {2, 2}, {3, 3}}), 1, 1e-12);
  EXPECT_NEAR(kendall_tau({{1, 3}, {2, 2}, {3, 1}}), -1, 1e-12);
}

}  // namespace
}  // namespace collsim
