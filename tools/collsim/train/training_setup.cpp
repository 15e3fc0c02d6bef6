#include "tools/collsim/train/training_setup.h"

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

// Bytes of activations that PyTorch keeps of an element for the backward pass. Of the residual
// stream: inputs and results of both norms. Autocast has the residual stream in fp32. With dropout
// (Korthikanti et al. 2022, arXiv:2205.05198, equation 1) two masks more.
constexpr double norm_activations = 8;
constexpr double autocast_activations = 12;
constexpr double dropout_masks = 2;
constexpr double score_activations = 5;  // of a token, a key and a head
constexpr double kept_by_full_recompute = 2;
// Of the feed-forward part's middle: before the activation and after it; of gated ones both inputs
// and the product.
constexpr double middle_activations = 4;
constexpr double gated_middle_activations = 6;
// Of a logit: itself, softmax's result and the gradient in 16 bits; or itself, a copy in fp32 and
// softmax's result. Megatron overwrites its copy in fp32.
constexpr double logit_activations = 6;
constexpr double fp32_logit_activations = 10;
// DDP's buckets, which it makes anew after the first step, when the old ones are in use yet. 13 of
// 19 jobs on two H100 had both (recordings/steps/h100x2.yaml).
constexpr double copies_of_buckets = 2;

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
  share.whole_logits = setup.software.whole_logits && !setup.whole_vocabulary;
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
  const double experts = expert_parameters(setup.model) / tensor;
  return {all - experts, experts / static_cast<double>(setup.expert)};
}

RankParameters rank_parameters(const TrainingSetup& setup, std::int64_t stage) {
  const RankParameters layer = rank_layer_parameters(setup);
  const auto layers = static_cast<double>(stage_layers(setup, stage));
  const double embeddings = setup.pipeline == 1 ? vocabulary_matrices(setup.model) : 1;
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

/// Bytes of activations that one layer makes of a microbatch.
double activations_of_layer(const TrainingSetup& setup) {
  const Transformer& model = setup.model;
  const LayerShare share = layer_share(setup);
  const auto tensor = static_cast<double>(setup.tensor);
  const bool unfused =
      setup.attention == AttentionKind::fused || setup.attention == AttentionKind::eager;
  const bool autocast = setup.precision == StepPrecision::amp && setup.zero < 3;
  const double outside =
      (autocast ? autocast_activations : norm_activations) + (unfused ? dropout_masks : 0);
  const double inside =
      half_bytes * (query_width(model) + key_value_width(model) + result_width(model)) +
      (model.gated ? gated_middle_activations : middle_activations) * middle_width(model);
  double made = share.tokens * (outside * static_cast<double>(model.hidden) /
                                    (setup.sequence_parallel ? tensor : 1) +
                                inside / tensor);
  if (unfused && setup.recompute == Recompute::none) {
    made += score_activations * share.tokens * static_cast<double>(share.sequence) *
            static_cast<double>(model.heads) / tensor;
  }
  return made;
}

/// Of these, bytes that are kept until the backward pass.
double kept_of_layer(const TrainingSetup& setup) {
  if (setup.recompute != Recompute::full) return activations_of_layer(setup);
  return kept_by_full_recompute * layer_share(setup).tokens *
         static_cast<double>(setup.model.hidden) /
         (setup.sequence_parallel ? static_cast<double>(setup.tensor) : 1);
}

/// Microbatches whose activations the first stage keeps at a time.
double microbatches_in_flight(const TrainingSetup& setup) {
  if (setup.pipeline == 1) return 1;
  const auto all = static_cast<double>(setup.microbatches());
  if (setup.order == PipelineOrder::gpipe) return all;
  const auto stages = static_cast<double>(setup.pipeline);
  const auto chunks = static_cast<double>(setup.interleave);
  const double extra = chunks > 1 ? 1 + (stages - 1) / (stages * chunks) : 1;
  return std::min(all, stages * extra);
}

double bytes_of_logits(const TrainingSetup& setup) {
  if (setup.pipeline > 1) return 0;  // the last stage has them, and fewer microbatches
  const LayerShare share = layer_share(setup);
  const bool sharded_loss = setup.zero >= 3;
  const bool wide = setup.precision == StepPrecision::amp
                        ? !sharded_loss
                        : sharded_loss && setup.precision != StepPrecision::bf16_pure;
  return (wide ? fp32_logit_activations : logit_activations) * share.tokens *
         static_cast<double>(setup.model.vocabulary) /
         static_cast<double>(share.whole_logits ? 1 : share.vocabulary_over);
}

/// Of ZeRO 3, what FSDP has whole: the embedding and the head all the time, the layer that runs and
/// the next, or all of a pipeline's stage.
double gathered_bytes(const TrainingSetup& setup) {
  constexpr double at_a_time = 2;
  if (!setup.reshard || setup.pipeline > 1) return half_bytes * rank_parameters(setup).all();
  return half_bytes * (at_a_time * rank_layer_parameters(setup).all() +
                       vocabulary_matrices(setup.model) * rank_vocabulary_parameters(setup));
}

/// And gradients that are not reduced yet: the head's, until all are done, and a layer's, with
/// their copy for the call.
double unreduced_bytes(const TrainingSetup& setup) {
  if (setup.pipeline > 1) return 0;  // the stage's gradients are whole
  return half_bytes * rank_vocabulary_parameters(setup) +
         (half_bytes + gradient_bytes_of(setup.precision)) * rank_layer_parameters(setup).all();
}

}  // namespace

double StepMemory::allocated() const {
  return all() - fixed_bytes;
}

StepMemory step_memory(const TrainingSetup& setup) {
  const RankParameters parameters = rank_parameters(setup);
  const std::int64_t over = setup.shard > 0 ? setup.shard : setup.data * setup.context;
  const bool gathers = setup.zero >= 3 && over > 1;
  const auto held = [&](std::int64_t from) {
    return setup.zero >= from ? sharded(setup, parameters, over) : parameters.all();
  };
  StepMemory memory;
  const double width = setup.precision == StepPrecision::amp ? full_bytes : half_bytes;
  memory.parameters = width * held(3);
  const bool whole_gradients = setup.zero >= 3 && setup.pipeline > 1;
  memory.gradients =
      gradient_bytes_of(setup.precision) * (whole_gradients ? parameters.all() : held(2));
  memory.optimizer = state_bytes(setup.precision) * held(1);
  memory.other = fixed_bytes + (gathers ? gathered_bytes(setup) : 0);
  if (setup.copies_buckets && setup.data > 1) {
    memory.other += copies_of_buckets * gradient_bytes_of(setup.precision) * parameters.all();
  }
  // Logits come and go before any layer's backward pass.
  const double of_backward =
      (setup.recompute == Recompute::full ? activations_of_layer(setup) : 0) +
      (gathers ? unreduced_bytes(setup) : 0);
  memory.activations = microbatches_in_flight(setup) * static_cast<double>(stage_layers(setup, 0)) *
                           kept_of_layer(setup) +
                       std::max(bytes_of_logits(setup), of_backward);
  // PyTorch frees gradients after each step: they grow as activations go.
  const bool frees =
      setup.precision == StepPrecision::bf16_pure || setup.precision == StepPrecision::amp;
  if (frees && setup.microbatches() == 1) {
    double& smaller = memory.gradients < memory.activations ? memory.gradients : memory.activations;
    smaller = 0;
  }
  return memory;
}

}  // namespace collsim
