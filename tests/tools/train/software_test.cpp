// What software of steps does in its own way: the shipped file, and how rows name their software.

#include "tools/collsim/train/software.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

TEST(Software, is_known_by_a_word_of_a_source_and_a_note) {
  const ShippedData shipped;
  const std::vector<TrainingSoftware> all = load_software();
  const auto name = [&](const char* source, const char* notes) {
    const TrainingSoftware* const found = software_in(all, source, notes);
    return found == nullptr ? std::string("none") : found->step.name;
  };
  EXPECT_EQ(name("KempnerForge mfu_scaling, row 3", ""), "kempnerforge");
  EXPECT_EQ(name("KempnerForge mfu_scaling, row 8", "1F1B; torch.compile off"),
            "kempnerforge-eager");
  EXPECT_EQ(name("NeMo AutoModel performance summary", ""), "torchtitan");
  EXPECT_EQ(name("NVIDIA dgxc-benchmarking v25.03", ""), "nemo");
  EXPECT_EQ(name("vTrain (MICRO-57 2024, KAIST)", ""), "megatron");
  EXPECT_EQ(name("somebody's blog", ""), "none");
}

// Calls run beside products only where ranks are sequence parallel, which takes several of them.
TEST(Software, changes_what_its_layout_allows) {
  const ShippedData shipped;
  const std::vector<TrainingSoftware> all = load_software();
  const TrainingSoftware& nemo = find_software(all, "software", "nemo");
  TrainingSetup setup;
  apply_software(nemo, setup);
  EXPECT_FALSE(setup.sequence_parallel);
  EXPECT_EQ(setup.tensor_overlap, TensorOverlap::none);
  setup.tensor = 2;
  apply_software(nemo, setup);
  EXPECT_TRUE(setup.sequence_parallel);
  EXPECT_EQ(setup.tensor_overlap, TensorOverlap::all);
  EXPECT_EQ(setup.software.name, "nemo");
}

TEST(Software, refuses_names_that_it_does_not_know) {
  const ShippedData shipped;
  EXPECT_THROW(find_software(load_software(), "software", "nemmo"), InputError);
  EXPECT_THROW(find_engine("engine", "vlm"), InputError);
}

}  // namespace
}  // namespace collsim
