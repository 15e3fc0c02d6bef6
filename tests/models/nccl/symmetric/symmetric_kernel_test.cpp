// NCCL 2.28.9 wrote what it chose (recordings/inference/symmetric-choices.tsv): every kernel and
// every number of thread blocks comes out.

#include "models/nccl/symmetric/symmetric_kernel.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sim/base/data_directory.h"

namespace collsim {
namespace {

struct RecordedChoice {
  Rank ranks = 0;
  std::string collective;
  std::int64_t bytes = 0;
  std::string kernel;
  std::uint32_t thread_blocks = 0;
};

std::vector<RecordedChoice> recorded_choices() {
  std::ifstream file(data_directory() / "recordings/inference/symmetric-choices.tsv");
  std::vector<RecordedChoice> choices;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("ranks")) continue;
    std::istringstream fields(line);
    RecordedChoice choice;
    fields >> choice.ranks >> choice.collective >> choice.bytes >> choice.kernel >>
        choice.thread_blocks;
    choices.push_back(choice);
  }
  return choices;
}

NcclFunction function_named(const std::string& collective) {
  if (collective == "all_gather") return NcclFunction::all_gather;
  if (collective == "reduce_scatter") return NcclFunction::reduce_scatter;
  return NcclFunction::all_reduce;
}

TEST(SymmetricKernels, are_chosen_as_nccl_chooses_them) {
  const auto choices = recorded_choices();
  EXPECT_EQ(choices.size(), 126U);
  for (const RecordedChoice& recorded : choices) {
    SymmetricSetting setting;
    setting.version = {2, 28, 9};
    setting.ranks = recorded.ranks;
    const SymmetricChoice choice =
        choose_symmetric(function_named(recorded.collective), {recorded.bytes}, setting);
    EXPECT_EQ(nccl_name(choice.chosen.kernel), recorded.kernel)
        << recorded.ranks << " " << recorded.collective << " " << recorded.bytes;
    EXPECT_EQ(choice.used_blocks, recorded.thread_blocks)
        << recorded.ranks << " " << recorded.collective << " " << recorded.bytes;
  }
}

// By hand, 8 Hopper GPUs with NVLS, 64 MiB: LL moves 9 * 8 S; RSxLD moves 14/8 S at most at 320
// GiB/s, 7.8 + 117440512 / 343597 - 1 = 348.6 us; with multicast 9/8 S, two thread blocks at most,
// each for eight ranks: 2 * 65 * 8 GiB/s is more than the peak of 480, 7.8 + 75497472 / 515396 - 1
// = 153.3 us.
TEST(SymmetricKernels, use_multicast_where_there_is_some) {
  SymmetricSetting setting;
  setting.ranks = 8;
  setting.multicast = true;
  const Bytes size{64 << 20};
  const SymmetricChoice choice = choose_symmetric(NcclFunction::all_reduce, size, setting);
  EXPECT_EQ(choice.chosen.kernel, SymmetricKernel::all_reduce_multicast);
  EXPECT_LE(choice.chosen.thread_blocks, 2U);
  EXPECT_NEAR(choice.chosen.time, 153.3, 0.02 * 153.3);
  setting.multicast = false;
  const SymmetricChoice plain = choose_symmetric(NcclFunction::all_reduce, size, setting);
  EXPECT_EQ(plain.chosen.kernel, SymmetricKernel::all_reduce_direct);
  EXPECT_NEAR(plain.chosen.time, 348.6, 0.03 * 348.6);
  // Two ranks have none from 2.30 on.
  setting.ranks = 2;
  setting.multicast = true;
  EXPECT_EQ(choose_symmetric(NcclFunction::all_reduce, size, setting).chosen.kernel,
            SymmetricKernel::all_reduce_direct);
}

TEST(SymmetricKernels, are_not_there_for_all) {
  SymmetricSetting setting;
  setting.ranks = 8;
  const Bytes size{1 << 20};
  EXPECT_FALSE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
  EXPECT_TRUE(why_not_symmetric(NcclFunction::broadcast, size, setting));
  setting.reduction.type = Datatype::float64;
  EXPECT_TRUE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
  EXPECT_FALSE(why_not_symmetric(NcclFunction::all_gather, size, setting));
  setting.reduction = {Datatype::float16, ReductionOp::avg};
  EXPECT_FALSE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
  setting.version = {2, 28, 9};
  EXPECT_TRUE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
  setting.reduction = {};
  setting.version = {2, 26, 5};
  EXPECT_TRUE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
  setting.version = newest_nccl_version;
  setting.nvlink = false;
  EXPECT_TRUE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
}

// NCCL_SYM_KERNEL and NCCL_SYM_CTAS leave no choice.
TEST(SymmetricKernels, are_those_that_variables_name) {
  SymmetricSetting setting;
  setting.ranks = 4;
  setting.kernel = find_symmetric_kernel("AllReduce_RSxLD_AGxST");
  setting.thread_blocks = 16;
  ASSERT_TRUE(setting.kernel);
  const SymmetricChoice choice =
      choose_symmetric(NcclFunction::all_reduce, Bytes{1 << 20}, setting);
  EXPECT_EQ(choice.candidates.size(), 1U);
  EXPECT_EQ(choice.chosen.kernel, SymmetricKernel::all_reduce_direct);
  EXPECT_EQ(choice.used_blocks, 16U);
  EXPECT_FALSE(find_symmetric_kernel("AllReduce"));
}

}  // namespace
}  // namespace collsim
