#include "models/workload/training_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::array precision_names{
    std::pair{StepPrecision::fp16, std::string_view("fp16")},
    std::pair{StepPrecision::bf16, std::string_view("bf16")},
    std::pair{StepPrecision::fp8, std::string_view("fp8")},
    std::pair{StepPrecision::bf16_pure, std::string_view("bf16-pure")},
    std::pair{StepPrecision::amp, std::string_view("amp")},
};
constexpr std::array recompute_names{
    std::pair{Recompute::none, std::string_view("none")},
    std::pair{Recompute::selective, std::string_view("selective")},
    std::pair{Recompute::full, std::string_view("full")},
};
constexpr std::array tensor_overlap_names{
    std::pair{TensorOverlap::none, std::string_view("none")},
    std::pair{TensorOverlap::backward, std::string_view("backward")},
    std::pair{TensorOverlap::all, std::string_view("all")},
};
constexpr std::array attention_names{
    std::pair{AttentionKind::flash2, std::string_view("flash2")},
    std::pair{AttentionKind::flash1, std::string_view("flash1")},
    std::pair{AttentionKind::fused, std::string_view("fused")},
    std::pair{AttentionKind::eager, std::string_view("eager")},
};

template <typename Names, typename Value>
std::string_view name_in(const Names& names, Value value) {
  return names[static_cast<std::size_t>(value)].second;
}

template <typename Names>
auto find_in(const Names& names, std::string_view option, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [value, each] : names) {
    if (each == name) return value;
    known.emplace_back(each);
  }
  throw InputError(fmt::format("--{}: '{}'", option, name), names_instead_of(name, known));
}

// Bytes of a parameter.
constexpr double half_bytes = 2;
constexpr double full_bytes = 4;
constexpr double master_state_bytes = 12;  // fp32 weights and both moments of Adam
constexpr double amp_state_bytes = 8;      // both moments
constexpr double pure_state_bytes = 4;
// What Adam reads and writes: gradient, weights, two moments; the copy in 16 bits; and with master
// weights one pass for the gradients' norm.
constexpr double pure_step_bytes = 14;
constexpr double amp_step_bytes = 28;
constexpr double master_step_bytes = 34;

// Korthikanti et al. 2022: bytes of a layer's activations, of a token and a hidden unit.
constexpr double layer_activations = 34;
constexpr double replicated_activations = 10;  // of them outside of tensor parallelism
constexpr double score_activations = 5;        // of a token, a key and a head
constexpr double kept_by_full_recompute = 2;

/// CUDA's context and libraries take about 1 GiB of a GPU, NCCL's buffers as much again.
constexpr double fixed_bytes = 2.0 * (1 << 30);

}  // namespace

std::int64_t TrainingSetup::microbatches() const {
  return std::max<std::int64_t>(1, global_batch / (micro_batch * data));
}

std::string_view to_string(StepPrecision precision) {
  return name_in(precision_names, precision);
}
std::string_view to_string(Recompute recompute) {
  return name_in(recompute_names, recompute);
}
std::string_view to_string(AttentionKind attention) {
  return name_in(attention_names, attention);
}
std::string_view to_string(TensorOverlap overlap) {
  return name_in(tensor_overlap_names, overlap);
}
StepPrecision find_precision(std::string_view option, std::string_view name) {
  return find_in(precision_names, option, name);
}
Recompute find_recompute(std::string_view option, std::string_view name) {
  return find_in(recompute_names, option, name);
}
AttentionKind find_attention(std::string_view option, std::string_view name) {
  return find_in(attention_names, option, name);
}
TensorOverlap find_tensor_overlap(std::string_view option, std::string_view name) {
  return find_in(tensor_overlap_names, option, name);
}

SetupLimit limit_of(const TrainingSetup& setup) {
  const Transformer& model = setup.model;
  const std::int64_t replicas = setup.data * setup.context;
  if (setup.tensor > model.heads) return SetupLimit::heads;
  if (setup.pipeline * setup.interleave > model.layers) return SetupLimit::layers;
  if (setup.pipeline == 1 && setup.interleave > 1) return SetupLimit::interleave;
  if (setup.zero >= 3 && setup.pipeline > 1) return SetupLimit::zero;
  if (setup.tensor_overlap == TensorOverlap::all && setup.tensor > 1 && !setup.sequence_parallel) {
    return SetupLimit::overlap;
  }
  if (setup.shard > 0 && (setup.data % setup.shard != 0 || setup.expert > 1)) {
    return SetupLimit::shard;
  }
  if (setup.expert > 1 && (model.experts % setup.expert != 0 || replicas % setup.expert != 0)) {
    return SetupLimit::experts;
  }
  return setup.global_batch % (setup.micro_batch * setup.data) == 0 ? SetupLimit::none
                                                                    : SetupLimit::batch;
}

void check_setup(const TrainingSetup& setup) {
  const Transformer& model = setup.model;
  switch (limit_of(setup)) {
    case SetupLimit::none:
      return;
    case SetupLimit::heads:
      throw InputError(
          fmt::format("--tp {}: '{}' has {} heads", setup.tensor, model.name, model.heads),
          "a head or more for each tensor-parallel rank");
    case SetupLimit::layers:
      throw InputError(fmt::format("--pp {} with {} chunks each: '{}' has {} layers",
                                   setup.pipeline, setup.interleave, model.name, model.layers),
                       "a layer or more for each chunk");
    case SetupLimit::interleave:
      throw InputError("--interleave without a pipeline", "--pp 2 or more");
    case SetupLimit::zero:
      throw InputError("--zero 3 with a pipeline", "--zero 0 to 2, or --pp 1");
    case SetupLimit::overlap:
      throw InputError("--tp-overlap all without sequence parallelism",
                       "--tp-overlap none or backward");
    case SetupLimit::shard:
      throw InputError(fmt::format("--shard {} of {} data-parallel ranks, --ep {}", setup.shard,
                                   setup.data, setup.expert),
                       "a number that divides the ranks, without --ep");
    case SetupLimit::experts:
      throw InputError(
          fmt::format("--ep {}: '{}' has {} experts, and there are {} data-parallel ranks",
                      setup.expert, model.name, model.experts, setup.data * setup.context),
          "a number that divides both");
    case SetupLimit::batch:
      throw InputError(
          fmt::format("--global-batch {}: {} ranks or groups of ranks with {} sequences each do "
                      "not divide it",
                      setup.global_batch, setup.data, setup.micro_batch),
          fmt::format("a multiple of {}", setup.micro_batch * setup.data));
  }
}

LayerShare layer_share(const TrainingSetup& setup) {
  LayerShare share;
  share.tokens = static_cast<double>(setup.micro_batch * setup.tokens_sequence()) /
                 static_cast<double>(setup.context);
  share.sequence = setup.tokens_sequence();
  share.tensor = setup.tensor;
  share.vocabulary_over = setup.whole_vocabulary ? 1 : setup.tensor;
  share.experts_over = setup.model.experts > 1 ? setup.expert : 1;
  share.sequence_parallel = setup.sequence_parallel;
  share.attention = setup.attention;
  share.precision = setup.precision;
  share.eager_norms = setup.eager_norms;
  share.accumulates = setup.microbatches() > 1;
  return share;
}

double rank_vocabulary_parameters(const TrainingSetup& setup) {
  return embedding_parameters(setup.model) /
         static_cast<double>(setup.whole_vocabulary ? 1 : setup.tensor);
}

std::int64_t chunk_layers(const TrainingSetup& setup, std::int64_t stage, std::int64_t chunk) {
  const std::int64_t chunks = setup.pipeline * setup.interleave;
  const bool one_more = chunk * setup.pipeline + stage < setup.model.layers % chunks;
  return setup.model.layers / chunks + (one_more ? 1 : 0);
}

std::int64_t stage_layers(const TrainingSetup& setup, std::int64_t stage) {
  std::int64_t layers = 0;
  for (std::int64_t i = 0; i < setup.interleave; ++i) layers += chunk_layers(setup, stage, i);
  return layers;
}

RankParameters rank_layer_parameters(const TrainingSetup& setup) {
  const auto tensor = static_cast<double>(setup.tensor);
  const double all = layer_parameters(setup.model) / tensor;
  if (setup.expert == 1) return {all, 0};
  const double experts =
      static_cast<double>(setup.model.experts) * ffn_parameters(setup.model) / tensor;
  return {all - experts, experts / static_cast<double>(setup.expert)};
}

RankParameters rank_parameters(const TrainingSetup& setup, std::int64_t stage) {
  const RankParameters layer = rank_layer_parameters(setup);
  const auto layers = static_cast<double>(stage_layers(setup, stage));
  const double embeddings = setup.pipeline == 1 ? 2 : 1;
  return {layers * layer.dense + embeddings * rank_vocabulary_parameters(setup),
          layers * layer.experts};
}

double sharded(const TrainingSetup& setup, const RankParameters& parameters, std::int64_t ranks) {
  const auto all = static_cast<double>(ranks);
  return parameters.dense / all +
         parameters.experts / std::max(1.0, all / static_cast<double>(setup.expert));
}

double gradient_bytes_of(StepPrecision precision) {
  const bool half = precision == StepPrecision::fp16 || precision == StepPrecision::bf16_pure;
  return half ? half_bytes : full_bytes;
}

double optimizer_bytes_of(StepPrecision precision) {
  if (precision == StepPrecision::bf16_pure) return pure_step_bytes;
  return precision == StepPrecision::amp ? amp_step_bytes : master_step_bytes;
}

namespace {

double state_bytes(StepPrecision precision) {
  if (precision == StepPrecision::bf16_pure) return pure_state_bytes;
  return precision == StepPrecision::amp ? amp_state_bytes : master_state_bytes;
}

/// Bytes of activations that a microbatch keeps of one layer.
double kept_of_layer(const TrainingSetup& setup) {
  const LayerShare share = layer_share(setup);
  const auto tensor = static_cast<double>(setup.tensor);
  const auto hidden = static_cast<double>(setup.model.hidden);
  const double elements = share.tokens * hidden;
  if (setup.recompute == Recompute::full) {
    return kept_by_full_recompute * elements / (setup.sequence_parallel ? tensor : 1);
  }
  const double width = static_cast<double>(setup.model.ffn) * (setup.model.gated ? 1.5 : 1) /
                       (4 * hidden);  // of the feed-forward part, whose share of the 34 is 19
  constexpr double ffn_activations = 19;
  const double all = layer_activations + ffn_activations * (width - 1);
  const double outside = setup.sequence_parallel ? 0 : replicated_activations;
  double kept = elements * (outside + (all - outside) / tensor);
  const bool scores =
      setup.attention == AttentionKind::fused || setup.attention == AttentionKind::eager;
  if (scores && setup.recompute == Recompute::none) {
    kept += score_activations * share.tokens * static_cast<double>(share.sequence) *
            static_cast<double>(setup.model.heads) / tensor;
  }
  return kept;
}

}  // namespace

StepMemory step_memory(const TrainingSetup& setup) {
  const RankParameters parameters = rank_parameters(setup);
  const std::int64_t over = setup.shard > 0 ? setup.shard : setup.data * setup.context;
  const auto held = [&](std::int64_t from) {
    return setup.zero >= from ? sharded(setup, parameters, over) : parameters.all();
  };
  StepMemory memory;
  const double width = setup.precision == StepPrecision::amp ? full_bytes : half_bytes;
  memory.parameters = width * held(3);
  memory.gradients = gradient_bytes_of(setup.precision) * held(2);
  memory.optimizer = state_bytes(setup.precision) * held(1);
  const auto stages = static_cast<double>(setup.pipeline);
  const auto chunks = static_cast<double>(setup.interleave);
  const auto layers = static_cast<double>(stage_layers(setup, 0));
  double in_flight = static_cast<double>(setup.microbatches());
  if (setup.pipeline == 1) {
    in_flight = 1;
  } else if (setup.order == PipelineOrder::one_forward_one_backward) {
    const double extra = chunks > 1 ? 1 + (stages - 1) / (stages * chunks) : 1;
    in_flight = std::min(in_flight, stages * extra);
  }
  memory.activations = in_flight * layers * kept_of_layer(setup);
  const LayerShare share = layer_share(setup);
  if (setup.pipeline == 1) {  // logits, in fp32 and in 16 bits
    memory.activations += (half_bytes + full_bytes) * share.tokens *
                          static_cast<double>(setup.model.vocabulary) /
                          static_cast<double>(setup.tensor);
  }
  if (setup.zero >= 3) {  // two layers are whole at a time
    memory.other += 2 * half_bytes * rank_layer_parameters(setup).all();
  }
  memory.other += fixed_bytes;
  return memory;
}

}  // namespace collsim
