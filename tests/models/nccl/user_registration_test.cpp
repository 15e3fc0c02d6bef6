// What NCCL's user guide and its source say of registered user buffers.

#include "models/nccl/user_registration.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

UnregisteredCall call_by(NcclAlgorithm algorithm, NcclFunction function) {
  UnregisteredCall call;
  call.algorithm = algorithm;
  call.function = function;
  return call;
}

// Single nodes, from 2.27 on: ceil(8 b / stripes) thread blocks, b = 4 of AllReduce and AllGather,
// 5 of ReduceScatter, on Blackwell 8, 4 and 6.
TEST(UserRegistration, of_nvls_needs_few_thread_blocks) {
  UnregisteredCall call = call_by(NcclAlgorithm::nvls, NcclFunction::all_reduce);
  EXPECT_EQ(user_registration(call).thread_blocks, 4U);
  call.stripes = 4;
  EXPECT_EQ(user_registration(call).thread_blocks, 8U);
  call.stripes = 8;
  call.compute_capability = 100;
  EXPECT_EQ(user_registration(call).thread_blocks, 8U);
  call.function = NcclFunction::reduce_scatter;
  EXPECT_EQ(user_registration(call).thread_blocks, 6U);
  call.max_thread_blocks = 2;
  EXPECT_EQ(user_registration(call).thread_blocks, 2U);
  call.version = {2, 18, 0};
  EXPECT_FALSE(user_registration(call).why_not.empty());
}

// Before 2.27: 4 or 5 on a node, whatever the stripes, and 6 on several.
TEST(UserRegistration, of_older_nvls_does_not_ask_for_stripes) {
  UnregisteredCall call = call_by(NcclAlgorithm::nvls, NcclFunction::all_gather);
  call.version = {2, 26, 0};
  call.stripes = 4;
  EXPECT_EQ(user_registration(call).thread_blocks, 4U);
  call.function = NcclFunction::reduce_scatter;
  EXPECT_EQ(user_registration(call).thread_blocks, 5U);
  call.nodes = 2;
  call.algorithm = NcclAlgorithm::nvls_tree;
  call.function = NcclFunction::all_reduce;
  EXPECT_EQ(user_registration(call).thread_blocks, 6U);
}

TEST(UserRegistration, of_rings_is_simple_between_gpus_of_a_node) {
  UnregisteredCall call = call_by(NcclAlgorithm::ring, NcclFunction::all_reduce);
  EXPECT_TRUE(user_registration(call).why_not.empty());
  EXPECT_EQ(user_registration(call).thread_blocks, 16U);
  call.in_place = true;
  EXPECT_FALSE(user_registration(call).why_not.empty());
  call.function = NcclFunction::all_gather;
  EXPECT_TRUE(user_registration(call).why_not.empty());
  call.protocol = Protocol::ll128;
  EXPECT_FALSE(user_registration(call).why_not.empty());
  call.protocol = Protocol::simple;
  call.node_ranks = 1;
  EXPECT_FALSE(user_registration(call).why_not.empty());
  call.node_ranks = 8;
  call.version = {2, 22, 0};
  EXPECT_FALSE(user_registration(call).why_not.empty());
}

TEST(UserRegistration, is_not_for_all) {
  EXPECT_FALSE(user_registration(call_by(NcclAlgorithm::ring, NcclFunction::reduce_scatter))
                   .why_not.empty());
  EXPECT_FALSE(
      user_registration(call_by(NcclAlgorithm::ring, NcclFunction::reduce)).why_not.empty());
  EXPECT_FALSE(
      user_registration(call_by(NcclAlgorithm::pat, NcclFunction::all_gather)).why_not.empty());
  UnregisteredCall network = call_by(NcclAlgorithm::collnet_direct, NcclFunction::all_reduce);
  EXPECT_FALSE(user_registration(network).why_not.empty());
  network.node_ranks = 1;
  EXPECT_EQ(user_registration(network).thread_blocks, 1U);
}

}  // namespace
}  // namespace collsim
