// The table of GPUs and what their kernels reach.

#include "tools/collsim/train/gpu_kernels.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "models/imports/machine_parts.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

// B200 is like H100, but for its data sheet: 2250 teraflops of 16 bits and 4500 of 8.
TEST(KernelTable, takes_shares_of_the_gpu_that_one_is_like) {
  const ShippedData shipped;
  const KernelTable table = load_kernel_table();
  const GpuKernels h100 = find_kernels(table, "H100").gpu();
  const GpuKernels b200 = find_kernels(table, "B200").gpu();
  EXPECT_EQ(b200.product, h100.product);
  EXPECT_EQ(b200.weights, h100.weights);
  EXPECT_NEAR(b200.flops, 2250e12, 1);
  EXPECT_NEAR(b200.fp8_flops, 4500e12, 1);
  EXPECT_TRUE(h100.measured);
  EXPECT_FALSE(b200.measured);
  // A V100 has no products of 8 bits, nor has a T4 then.
  EXPECT_EQ(find_kernels(table, "T4").gpu().fp8_flops, 0);
}

TEST(KernelTable, takes_the_longest_name_that_no_digit_follows) {
  const ShippedData shipped;
  const KernelTable table = load_kernel_table();
  EXPECT_EQ(find_kernels(table, "NVIDIA A100-SXM4-80GB").gpu().gpu, "A100");
  EXPECT_EQ(find_kernels(table, "NVIDIA A10G").gpu().gpu, "A10G");
  EXPECT_EQ(find_kernels(table, "NVIDIA L40S").gpu().gpu, "L40S");
  EXPECT_THROW(find_kernels(table, "RTX A4000"), InputError);
}

// Of data sheets at least: only machines that are drawn without GPUs of a kind have none.
TEST(KernelTable, knows_the_gpus_of_every_shipped_node) {
  const ShippedData shipped;
  const KernelTable table = load_kernel_table();
  for (const auto& entry :
       std::filesystem::directory_iterator(data_directory() / "topologies/nodes")) {
    const std::string name = entry.path().stem().string();
    const Topology node = compose(load_parts(name), 1);
    const std::string model(node.device(node.gpus().front()).model);
    if (model.empty()) continue;
    EXPECT_NO_THROW(find_kernels(table, model)) << name << ": " << model;
  }
}

}  // namespace
}  // namespace collsim
