// Programs of training steps, with times worked out by hand from those of a layer.

#include "tools/collsim/train/training_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/test_data.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim {
namespace {

/// Calls that take no time.
class FreeCalls : public CallCosts {
 public:
  CallCost cost_of(const ProgramCommunicator& /*communicator*/,
                   const ProgramCall& /*call*/) override {
    return {};
  }
};

/// A GPU of one multiprocessor whose kernels are all of the same speed: 1e12 FLOP/s, 1e12 B/s.
KernelTimes even_kernels() {
  GpuKernels gpu;
  gpu.gpu = "even";
  gpu.multiprocessors = 1;
  gpu.flops = 1e12;
  gpu.memory = BytesPerSecond{1e12};
  return {gpu, KernelConstants{}};
}

TrainingSetup small_setup() {
  TrainingSetup setup;
  setup.model = {.name = "small",
                 .layers = 8,
                 .hidden = 256,
                 .heads = 8,
                 .kv_heads = 8,
                 .ffn = 1024,
                 .vocabulary = 512,
                 .sequence = 256};
  return setup;
}

double step_time(const TrainingSetup& setup, std::int64_t microbatches) {
  FreeCalls costs;
  const KernelTimes kernels = even_kernels();
  return schedule_program(training_program(setup, kernels, microbatches, 8), costs).time.value;
}

// A product of 128 x 256 x 100 by one multiprocessor is one tile: 2 x 128 x 256 x 100 FLOPs. One of
// 129 rows takes two tiles, and as long as 256 rows.
TEST(KernelTimes, multiply_matrices_tile_by_tile) {
  const KernelTimes kernels = even_kernels();
  EXPECT_NEAR(kernels.product(128, 256, 1e5).value, 2.0 * 128 * 256 * 1e5 / 1e12, 1e-12);
  EXPECT_NEAR(kernels.product(257, 256, 1e5).value, kernels.product(384, 256, 1e5).value, 1e-12);
}

// 1 MiB first, then 25 MiB: the tensor that reaches the limit is still in the bucket.
TEST(GradientBuckets, end_with_the_tensor_that_fills_them) {
  constexpr double mib = 1 << 20;
  const std::vector<double> tensors{0.5 * mib, 0.6 * mib, 20 * mib, 10 * mib, 30 * mib, 1 * mib};
  EXPECT_EQ(gradient_buckets(tensors, 25 * mib), (std::vector<std::size_t>{2, 4, 5, 6}));
}

// The buckets of recordings/steps/h100x2 for hidden 2048 and 25 MiB, in bf16: the head of 131 MB,
// then 4h of 33.6 MB, h4 of 33.6 MB, projection and qkv together 33.6 MB, as PyTorch printed them.
TEST(GradientBuckets, are_those_that_pytorch_prints) {
  const std::vector<double> tensors{131072000, 33554432, 33554432, 8388608, 25165824, 33554432};
  EXPECT_EQ(gradient_buckets(tensors, 25.0 * (1 << 20)), (std::vector<std::size_t>{1, 2, 3, 5, 6}));
}

// 1F1B on P stages with m microbatches takes (m + P - 1) turns of a stage; here all stages are
// alike but for the embedding and the head, so take a vocabulary of 1.
// Interleaved in v chunks the bubble is (P - 1) / v turns.
TEST(TrainingProgram, has_the_bubble_of_its_pipeline) {
  TrainingSetup setup = small_setup();
  setup.model.vocabulary = 1;
  const double one = step_time(setup, 1);
  const double two = step_time(setup, 2);
  const double turn = (two - one) / 4;  // of one of four stages
  setup.pipeline = 4;
  const double short_step = step_time(setup, 4);
  const double long_step = step_time(setup, 8);
  EXPECT_NEAR(long_step - short_step, 4 * turn, 0.02 * turn * 4);
  EXPECT_NEAR(short_step, 7 * turn, 0.03 * turn * 7);
  setup.interleave = 2;
  EXPECT_NEAR(step_time(setup, 4), (4 + 1.5) * turn, 0.03 * turn * 6);
}

TEST(TrainingProgram, runs_gpipe_as_long_as_1f1b) {
  TrainingSetup setup = small_setup();
  setup.pipeline = 4;
  const double alternating = step_time(setup, 6);
  setup.order = PipelineOrder::gpipe;
  EXPECT_NEAR(step_time(setup, 6), alternating, 0.02 * alternating);
}

// Ranks of Megatron: tensor first, then data, then pipeline.
TEST(TrainingProgram, numbers_ranks_as_megatron_does) {
  TrainingSetup setup = small_setup();
  setup.tensor = 2;
  setup.data = 4;
  setup.pipeline = 2;
  const CallProgram program = training_program(setup, even_kernels(), 2, 8);
  const auto ranks = [&](const std::string& name, std::uint32_t group) {
    for (const ProgramCommunicator& each : program.communicators) {
      if (each.name == name && each.groups.front() == group) return each.ranks;
    }
    return std::vector<Rank>();
  };
  EXPECT_EQ(ranks("tp", 0), (std::vector<Rank>{0, 1}));
  EXPECT_EQ(ranks("dp", 0), (std::vector<Rank>{0, 2, 4, 6}));
  EXPECT_EQ(ranks("tp", 1), (std::vector<Rank>{8, 9}));
  EXPECT_EQ(ranks("pp", 0), (std::vector<Rank>{0, 8}));
}

/// How many calls of a kind there are on a communicator of that name, and the bytes of all.
std::pair<std::size_t, double> calls_on(const CallProgram& program, const std::string& name,
                                        ProgramCallKind kind) {
  std::pair<std::size_t, double> found{0, 0};
  const auto count = [&](const std::vector<ProgramCall>& calls) {
    for (const ProgramCall& call : calls) {
      if (program.communicators[call.communicator].name != name || call.kind != kind) continue;
      found.first += call.count;
      found.second += static_cast<double>(call.count) * static_cast<double>(call.bytes.count);
    }
  };
  for (const ProgramOp& op : program.groups.front().ops) {
    count(op.calls);
    count(op.inner);
  }
  return found;
}

// ZeRO 1 reduces the gradients of a step once, ZeRO 2 those of each of 3 microbatches: 4 bytes of
// each parameter, with overlap in buckets and without.
TEST(TrainingProgram, reduces_each_microbatch_with_zero_2) {
  TrainingSetup setup = small_setup();
  setup.data = 2;
  setup.global_batch = 6;
  const double gradients = 4 * rank_parameters(setup).all();
  for (const bool overlaps : {false, true}) {
    setup.overlap_gradients = overlaps;
    for (const std::int64_t zero : {1, 2}) {
      setup.zero = zero;
      const auto calls = calls_on(training_program(setup, even_kernels(), 3, 8), "dp",
                                  ProgramCallKind::reduce_scatter);
      EXPECT_NEAR(calls.second, (zero == 2 ? 3 : 1) * gradients, 100) << zero << overlaps;
    }
  }
}

// FSDP in a pipeline: the first stage's parameters are gathered once and its gradients reduced
// once, however many microbatches there are. A copy of two ranks each sums half of them among
// copies.
TEST(TrainingProgram, gathers_a_stage_once_with_zero_3) {
  TrainingSetup setup = small_setup();
  setup.pipeline = 2;
  setup.data = 4;
  setup.zero = 3;
  setup.global_batch = 24;
  const double layers = 4 * rank_layer_parameters(setup).all();
  for (const std::int64_t shard : {0, 2}) {
    setup.shard = shard;
    CallProgram program = training_program(setup, even_kernels(), 6, 8);
    program.groups.resize(1);
    const auto bytes = [&](const char* name, ProgramCallKind kind) {
      return calls_on(program, name, kind).second;
    };
    EXPECT_NEAR(bytes("dp", ProgramCallKind::all_gather), 2 * layers, 100) << shard;
    const double gradients = 4 * rank_parameters(setup).all();
    EXPECT_NEAR(bytes("dp", ProgramCallKind::reduce_scatter), gradients, 100) << shard;
    if (shard > 0) {
      EXPECT_NEAR(bytes("copies", ProgramCallKind::all_reduce), gradients / 2, 100);
    }
  }
}

// Its memory is that of ZeRO 1 and what is gathered; of the optimizer each rank has a quarter.
TEST(StepMemory, holds_a_stage_whole_with_zero_3) {
  TrainingSetup setup = small_setup();
  setup.pipeline = 2;
  setup.data = 4;
  setup.global_batch = 24;
  setup.zero = 1;
  const StepMemory replicated = step_memory(setup);
  setup.zero = 3;
  const StepMemory sharded = step_memory(setup);
  EXPECT_NEAR(sharded.gradients, replicated.gradients, 1);
  EXPECT_NEAR(sharded.optimizer, replicated.optimizer, 1);
  EXPECT_NEAR(sharded.parameters, replicated.parameters / 4, 1);
  EXPECT_NEAR(sharded.other - replicated.other, replicated.parameters, 1);
}

// Eight layers that the host takes 1 s each to issue, forward and backward, take 16 s; three times
// as long on tensor-parallel ranks of a software whose host is that much slower.
TEST(TrainingProgram, waits_for_a_host_that_is_slower_than_its_kernels) {
  TrainingSetup setup = small_setup();
  FreeCalls costs;
  KernelConstants slow;
  slow.host_forward = slow.host_backward = Seconds{1};
  const KernelTimes kernels(even_kernels().gpu(), slow);
  const auto time = [&] {
    return schedule_program(training_program(setup, kernels, 1, 8), costs).time.value;
  };
  EXPECT_NEAR(time(), 16, 0.5);
  setup.tensor = 2;
  setup.software.tensor_host = 3;
  EXPECT_NEAR(time(), 48, 0.5);
}

// Keys and values of 256 tokens are 2 x 256 elements of 2 bytes each: 262,144 bytes a layer. They
// are gathered forward and backward, and their gradients scattered: in each of 8 layers.
TEST(TrainingProgram, exchanges_keys_and_values) {
  TrainingSetup setup = small_setup();
  setup.context = 2;
  for (const bool gathers : {false, true}) {
    setup.gathers_context = gathers;
    const CallProgram program = training_program(setup, even_kernels(), 1, 8);
    EXPECT_EQ(calls_on(program, "cp", ProgramCallKind::all_gather).second, 2.0 * 8 * 262'144);
    EXPECT_EQ(calls_on(program, "cp", ProgramCallKind::reduce_scatter).second, 8.0 * 262'144);
  }
}

/// Calls that take 10 us each.
class SlowCalls : public CallCosts {
 public:
  CallCost cost_of(const ProgramCommunicator& communicator, const ProgramCall& /*call*/) override {
    return {Seconds{communicator.name == "cp" ? 10e-6 : 0}, {}, 0, 0};
  }
};

// Gathered before attention, 8 + 8 + 8 calls of 10 us are exposed; in a ring, one call forward and
// two backward hide behind the kernels of 8 layers, which take longer.
TEST(TrainingProgram, hides_a_ring_of_keys_and_values) {
  TrainingSetup setup = small_setup();
  setup.context = 2;
  setup.global_batch = 1;
  SlowCalls costs;
  const auto exposed = [&] {
    const CallProgram program = training_program(setup, even_kernels(), 1, 8);
    const GroupSchedule group = schedule_program(program, costs).groups.front();
    const auto found = group.exposed.find("cp");
    return found == group.exposed.end() ? 0 : found->second.value;
  };
  EXPECT_NEAR(exposed(), 0, 1e-12);
  setup.gathers_context = true;
  EXPECT_NEAR(exposed(), 240e-6, 1e-9);
}

// DDP copies gradients into buckets, 2 bytes read and 2 written each at 1e12 B/s, and, unless they
// are views of the buckets, back.
TEST(TrainingProgram, copies_gradients_into_buckets_and_back) {
  TrainingSetup setup = small_setup();
  setup.data = 2;
  setup.global_batch = 2;
  setup.overlap_gradients = true;
  setup.precision = StepPrecision::bf16_pure;
  const double none = step_time(setup, 1);
  const double copy = 4 * rank_parameters(setup).all() / 1e12;
  setup.copies_buckets = true;
  EXPECT_NEAR(step_time(setup, 1) - none, copy, 0.01 * copy);
  setup.copies_back = true;
  EXPECT_NEAR(step_time(setup, 1) - none, 2 * copy, 0.01 * copy);
}

/// Kernels of the first layer of a step of ZeRO 3 on so many ranks.
double first_layer_time(std::int64_t ranks) {
  TrainingSetup setup = small_setup();
  setup.zero = 3;
  setup.data = ranks;
  const KernelTimes kernels = even_kernels();
  const CallProgram program = training_program(setup, kernels, 1, 8);
  const auto& ops = program.groups.front().ops;
  const auto found =
      std::find_if(ops.begin(), ops.end(), [](const ProgramOp& op) { return op.name == "F"; });
  return found->compute.value;
}

// FSDP2 copies, of a layer's 2-byte parameters, a rank's part into the call's buffer and the whole
// out of it, read and written at 1e12 B/s: on one of two ranks 1/2 + 1, on one of four 1/4 + 1.
TEST(TrainingProgram, copies_shards_into_and_out_of_buffers) {
  const double layer = 4 * layer_parameters(small_setup().model) / 1e12;
  EXPECT_NEAR(first_layer_time(2) - first_layer_time(4), layer / 4, 0.01 * layer);
  EXPECT_NEAR(first_layer_time(2) - first_layer_time(1), layer * 3 / 2, 0.01 * layer);
}

// GPT-3: 96 layers of 12 h^2 and an embedding of 51,200 h, which is its head: 174 + 0.6 billion.
TEST(Transformer, has_the_parameters_of_its_paper) {
  const ShippedData shipped;
  EXPECT_NEAR(all_parameters(find_transformer("gpt3-175b")), 174.6e9, 0.3e9);
  EXPECT_NEAR(all_parameters(find_transformer("llama3-70b")), 70.6e9, 0.3e9);
  EXPECT_NEAR(all_parameters(find_transformer("mixtral-8x7b")), 46.7e9, 0.3e9);
}

// 16 bytes a parameter in bf16 with master weights and fp32 gradients are 18; ZeRO 1 over 4 ranks
// leaves 2 + 4 + 12 / 4.
TEST(StepMemory, counts_bytes_of_parameters) {
  TrainingSetup setup = small_setup();
  setup.data = 4;
  setup.global_batch = 4;
  const double parameters = all_parameters(setup.model);
  const auto state = [](const StepMemory& memory) {
    return memory.parameters + memory.gradients + memory.optimizer;
  };
  EXPECT_NEAR(state(step_memory(setup)), 18 * parameters, 1);
  setup.zero = 1;
  EXPECT_NEAR(state(step_memory(setup)), 9 * parameters, 1);
  setup.zero = 3;
  EXPECT_NEAR(state(step_memory(setup)), 4.5 * parameters, 1);
}

TEST(TrainingSetup, refuses_layouts_that_cannot_be) {
  TrainingSetup setup = small_setup();
  setup.tensor = 16;
  EXPECT_THROW(check_setup(setup), InputError);
  setup = small_setup();
  setup.pipeline = 9;
  EXPECT_THROW(check_setup(setup), InputError);
  setup = small_setup();
  setup.micro_batch = 3;
  EXPECT_THROW(check_setup(setup), InputError);
}

}  // namespace
}  // namespace collsim
