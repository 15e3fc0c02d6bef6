// NCCL 2.28.9 wrote what it chose (recordings/h200x4/symmetric.yaml): every kernel and every number
// of thread blocks comes out.

#include "models/nccl/symmetric/symmetric_kernel.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/recordings/recording.h"
#include "sim/base/data_directory.h"

namespace collsim {
namespace {

/// The rows of calls whose kernel NCCL chose by itself.
std::vector<RecordedRow> recorded_choices() {
  Recording recording = read_recording(data_directory() / "recordings/h200x4/symmetric.yaml");
  std::erase_if(recording.rows, [](const RecordedRow& row) {
    const bool is_free =
        row.variables == std::map<std::string, std::string>{{"NCCL_NVLS_ENABLE", "0"}};
    return !row.registered || row.symmetric_kernel.empty() || !is_free;
  });
  return recording.rows;
}

TEST(SymmetricKernels, are_chosen_as_nccl_chooses_them) {
  const std::vector<RecordedRow> rows = recorded_choices();
  EXPECT_EQ(rows.size(), 126U);
  for (const RecordedRow& row : rows) {
    SymmetricSetting setting;
    setting.version = {2, 28, 9};
    setting.ranks = row.ranks;
    const SymmetricChoice choice =
        choose_symmetric(*function_of(*row.collective), row.size, setting);
    EXPECT_EQ(nccl_name(choice.chosen.kernel), row.symmetric_kernel) << "line " << row.line;
    EXPECT_EQ(choice.used_blocks, row.channels) << "line " << row.line;
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
  setting.version = default_nccl_version;
  setting.windows = false;
  EXPECT_TRUE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
  setting.windows = true;
  EXPECT_FALSE(why_not_symmetric(NcclFunction::all_reduce, size, setting));
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
