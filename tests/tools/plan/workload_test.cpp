// What a step moves: bytes of gradients, and the calls that they are cut into.

#include "tools/collsim/plan/workload.h"

#include <gtest/gtest.h>

#include "sim/base/input_error.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim {
namespace {

constexpr std::int64_t giga = 1'000'000'000;

TEST(Workload, gradients_have_the_bytes_of_their_precision) {
  EXPECT_EQ(gradient_bytes(175e9, "fp16").count, 350 * giga);
  EXPECT_EQ(gradient_bytes(175e9, "bf16").count, 350 * giga);
  EXPECT_EQ(gradient_bytes(175e9, "fp32").count, 700 * giga);
  EXPECT_EQ(gradient_bytes(3, "fp16").count, 4);  // 6 bytes are one whole float
  EXPECT_THROW(gradient_bytes(1, "fp12"), InputError);
}

TEST(Workload, shipped_models_have_the_sizes_that_they_are_known_for) {
  // GPT-3: 175e9 parameters of two bytes; ResNet-50: 25.6e6 of four are 0.1 GB.
  const auto bytes_of = [](std::string_view name, const char* precision) {
    for (const CountedModel& each : load_counted_models()) {
      if (each.name == name) return gradient_bytes(each.parameters, precision).count;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(bytes_of("gpt-3-175b", "fp16"), 350 * giga);
  const auto in_single = [&](const char* name) {
    return static_cast<double>(bytes_of(name, "fp32"));
  };
  EXPECT_NEAR(in_single("resnet-50"), 0.1e9, 3e6);
  EXPECT_NEAR(in_single("bert-large"), 1.3e9, 0.05e9);
}

TEST(Workload, is_one_call_or_buckets_and_what_is_left) {
  EXPECT_EQ(calls_of({"", Bytes{100}}).size(), 1U);
  EXPECT_EQ(calls_of({"", Bytes{100}, Bytes{100}}).size(), 1U);
  const auto calls = calls_of({"", Bytes{100}, Bytes{32}});  // 3 x 32 + 4
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].size.count, 32);
  EXPECT_EQ(calls[0].count, 3);
  EXPECT_EQ(calls[1].size.count, 4);
  EXPECT_EQ(calls_of({"", Bytes{96}, Bytes{32}}).size(), 1U);
}

}  // namespace
}  // namespace collsim
