// Tensor-parallel calls of layers, and what hides them, against products on H200.

#include "tools/collsim/train/tensor_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "models/program/program_schedule.h"
#include "sim/base/input_error.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

/// 64 tokens of 100 elements on four ranks.
TrainingSetup setup_with(TensorOverlap overlap) {
  TrainingSetup setup;
  setup.model = {.name = "small",
                 .layers = 2,
                 .hidden = 100,
                 .heads = 4,
                 .kv_heads = 4,
                 .ffn = 400,
                 .vocabulary = 8,
                 .sequence = 64};
  setup.tensor = 4;
  setup.sequence_parallel = true;
  setup.tensor_overlap = overlap;
  return setup;
}

/// Forward 1, 2, 3 and 4 s, backward twice that.
ProductTimes products() {
  ProductTimes times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double forward = 1 + static_cast<double>(i);
    times[i] = {Seconds{forward}, Seconds{2 * forward}};
  }
  return times;
}

/// Kind, bytes, how many, and seconds of what runs beside each.
using Row = std::tuple<ProgramCallKind, std::int64_t, std::uint32_t, double>;

std::vector<Row> rows_of(const TrainingSetup& setup, const LayerPart& part, bool backward) {
  std::vector<Row> rows;
  for (const ProgramCall& call : tensor_calls(setup, products(), 0, part, backward)) {
    rows.emplace_back(call.kind, call.bytes.count, call.count, call.beside.value);
  }
  return rows;
}

constexpr auto gather = ProgramCallKind::all_gather;
constexpr auto scatter = ProgramCallKind::reduce_scatter;
constexpr std::int64_t bytes = 12'800;  // 2 x 64 x 100

TEST(TensorCalls, wait_for_products_where_nothing_overlaps) {
  const std::vector<Row> all{
      {gather, bytes, 2, 0}, {scatter, bytes, 2, 0}, {gather, bytes, 2, 0}, {scatter, bytes, 2, 0}};
  EXPECT_EQ(rows_of(setup_with(TensorOverlap::none), {2, 2}, false), all);
  EXPECT_EQ(rows_of(setup_with(TensorOverlap::none), {2, 2}, true), all);
}

// A layer's attention, then its feed-forward network. In the backward pass half of 2 x 1 s, and of
// 2 x 3, is of the weights of the first product of each.
TEST(TensorCalls, of_gradients_run_beside_those_of_weights) {
  const TrainingSetup setup = setup_with(TensorOverlap::backward);
  const std::vector<Row> forward{
      {gather, bytes, 1, 0}, {scatter, bytes, 1, 0}, {gather, bytes, 1, 0}, {scatter, bytes, 1, 0}};
  EXPECT_EQ(rows_of(setup, {1, 1}, false), forward);
  const std::vector<Row> backward{
      {gather, bytes, 1, 0}, {scatter, bytes, 1, 1}, {gather, bytes, 1, 0}, {scatter, bytes, 1, 3}};
  EXPECT_EQ(rows_of(setup, {1, 1}, true), backward);
}

// Three of four pieces run while another is on its way.
TEST(TensorCalls, run_beside_pieces_of_products) {
  const TrainingSetup setup = setup_with(TensorOverlap::all);
  const std::vector<Row> forward{{gather, bytes, 1, 0.75},
                                 {scatter, bytes, 1, 1.5},
                                 {gather, bytes, 1, 2.25},
                                 {scatter, bytes, 1, 3}};
  EXPECT_EQ(rows_of(setup, {1, 1}, false), forward);
  const std::vector<Row> backward_ffn{{gather, bytes, 1, 3}, {scatter, bytes, 1, 3}};
  EXPECT_EQ(rows_of(setup, {0, 1}, true), backward_ffn);
}

TEST(TensorCalls, gather_pieces_in_the_type_of_the_product) {
  TrainingSetup setup = setup_with(TensorOverlap::all);
  setup.precision = StepPrecision::fp8;
  const std::vector<Row> forward{{gather, bytes / 2, 1, 0.75}, {scatter, bytes, 1, 1.5}};
  EXPECT_EQ(rows_of(setup, {1, 0}, false), forward);
}

// What is computed again has the forward pass's calls.
TEST(TensorCalls, come_again_with_recomputation) {
  TrainingSetup setup = setup_with(TensorOverlap::backward);
  setup.recompute = Recompute::full;
  const std::vector<Row> all{
      {gather, bytes, 1, 0}, {scatter, bytes, 1, 0}, {gather, bytes, 1, 0}, {scatter, bytes, 1, 3}};
  EXPECT_EQ(rows_of(setup, {0, 1}, true), all);
}

// Queries, keys and values, then both inputs of a gated network: five gathers forward, and as many
// sums backward. With full recomputation 12 and 9, as in KempnerForge's profile of 12 and 8, whose
// last sum of what is computed again is left out.
TEST(TensorCalls, of_each_product_by_itself_come_five_times) {
  TrainingSetup setup = setup_with(TensorOverlap::none);
  setup.model.gated = true;
  setup.software.gathers_each = true;
  const std::vector<Row> forward{
      {gather, bytes, 3, 0}, {scatter, bytes, 1, 0}, {gather, bytes, 2, 0}, {scatter, bytes, 1, 0}};
  EXPECT_EQ(rows_of(setup, {1, 1}, false), forward);
  const std::vector<Row> backward{
      {gather, bytes, 1, 0}, {scatter, bytes, 3, 0}, {gather, bytes, 1, 0}, {scatter, bytes, 2, 0}};
  EXPECT_EQ(rows_of(setup, {1, 1}, true), backward);
}

TEST(TensorCalls, in_pieces_need_parts_of_the_sequence) {
  TrainingSetup setup = setup_with(TensorOverlap::all);
  setup.sequence_parallel = false;
  EXPECT_THROW(check_setup(setup), InputError);
}

/// One product of the recording: what was measured, by name.
struct Product {
  double m, n, k;
  std::map<std::string, double> us;
};

std::vector<Product> recorded_products() {
  std::ifstream file(COLLSIM_SOURCE_DIR "/recordings/steps/products-h200x4.tsv");
  std::map<std::tuple<std::string, std::string, std::string>, Product> by_name;
  std::string model, name, what, ranks;
  double m = 0, n = 0, k = 0, us = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (!(fields >> model >> name >> m >> n >> k >> ranks >> what >> us)) continue;
    Product& product = by_name[{model, name, ranks}];
    product.m = m;
    product.n = n;
    product.k = k;
    product.us[what] = us;
  }
  std::vector<Product> all;
  all.reserve(by_name.size());
  for (const auto& [key, product] : by_name) all.push_back(product);
  return all;
}

KernelTimes h200() {
  return find_kernels(load_kernel_table(), "NVIDIA H200");
}

// 48 products forward and backward, in two runs.
TEST(RecordedProducts, in_8_bits_are_quicker_by_as_much_as_predicted) {
  const ShippedData shipped;
  const KernelTimes kernels = h200();
  const std::vector<Product> all = recorded_products();
  ASSERT_EQ(all.size(), 96U);
  double sum = 0;
  for (const Product& each : all) {
    const double measured = each.us.at("bf16") / each.us.at("fp8");
    const double predicted = kernels.product(each.m, each.n, each.k).value /
                             kernels.product(each.m, each.n, each.k, true).value;
    EXPECT_NEAR(predicted / measured, 1, 0.18) << each.m << " x " << each.n << " x " << each.k;
    sum += std::log(predicted / measured);
  }
  EXPECT_NEAR(sum / 96, 0, 0.02);
}

/// Costs of a call that takes as long as it did alone, by 24 channels.
class RecordedCall : public CallCosts {
 public:
  explicit RecordedCall(double microseconds) : time_{microseconds * 1e-6} {}
  CallCost cost_of(const ProgramCommunicator& /*communicator*/,
                   const ProgramCall& /*call*/) override {
    return {time_, {}, 0, 24};
  }

 private:
  Seconds time_;
};

/// What a product takes with a call beside so much of it, over what was measured.
double over_measured(const Product& product, const char* call, const char* together, double beside,
                     const GpuSharing& sharing) {
  CallProgram program;
  program.communicators = {{.name = "tp", .ranks = {0}, .groups = {0}}};
  ProgramOp op;
  op.compute = Seconds{product.us.at("bf16") * 1e-6};
  op.inner = {{0, gather, Bytes{1}}};
  op.inner.front().beside = beside * op.compute;
  program.groups = {{.name = "all", .ranks = {0}, .streams = {"compute"}, .ops = {op}}};
  RecordedCall costs(product.us.at(call));
  return in_microseconds(schedule_program(program, costs, sharing).time) / product.us.at(together);
}

// Products of 300 us and more: the host issues shorter ones no quicker than they run.
TEST(RecordedProducts, beside_calls_take_what_is_predicted) {
  const ShippedData shipped;
  const GpuSharing sharing = h200().sharing();
  std::vector<double> whole;
  std::vector<double> pieces;
  for (const Product& each : recorded_products()) {
    if (each.us.at("bf16") < 350) continue;
    if (each.us.contains("scatter_beside")) {
      whole.push_back(std::abs(over_measured(each, "scatter", "scatter_beside", 1, sharing) - 1));
    }
    if (each.us.contains("gather_pieces")) {
      pieces.push_back(std::abs(over_measured(each, "gather", "gather_pieces", 0.75, sharing) - 1));
    }
  }
  std::sort(whole.begin(), whole.end());
  std::sort(pieces.begin(), pieces.end());
  ASSERT_EQ(whole.size(), 14U);
  ASSERT_EQ(pieces.size(), 14U);
  EXPECT_LT(whole[7], 0.03);
  EXPECT_LT(whole.back(), 0.13);
  EXPECT_LT(pieces[7], 0.03);
  EXPECT_LT(pieces.back(), 0.09);
}

}  // namespace
}  // namespace collsim
