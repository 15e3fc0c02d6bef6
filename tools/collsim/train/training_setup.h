#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/transformer.h"

namespace collsim {

/// The share of a GPU's memory that a job may need: the allocator leaves gaps.
inline constexpr double usable_memory = 0.95;

/// In which order a pipeline stage runs its microbatches.
enum class PipelineOrder : std::uint8_t {
  one_forward_one_backward,  ///< a backward pass as soon as one can; interleaved, if so asked
  gpipe,                     ///< all forward passes first
};

/// Which tensor-parallel calls run beside the products of matrices, in place of between them.
enum class TensorOverlap : std::uint8_t {
  none,
  /// Gradients of a product's input are summed while those of its weights are computed, as Megatron
  /// does (megatron/core/tensor_parallel/layers.py, linear_with_grad_accumulation_and_async_
  /// allreduce).
  backward,
  /// As `backward`; each product also runs in as many pieces as there are ranks, each while another
  /// piece is on its way, as with Transformer Engine's user buffers (NeMo: ub_tp_comm_overlap).
  /// This needs sequence parallelism.
  all,
};

/// What the software of a step does that no option says (models/data/software.yaml).
struct StepSoftware {
  std::string name{};  ///< empty: none is named
  /// Of tensor parallelism: each product gathers its input by itself, and sums the gradient of that
  /// input; else products with the same input share both.
  bool gathers_each = false;
  /// Parts of sequences are copied into their order after they were gathered, and before they are
  /// summed: PyTorch's functional collectives move along the first dimension alone.
  bool copies_sequences = false;
  bool whole_logits = false;  ///< each tensor-parallel rank has all logits and their loss
  double tensor_host = 1;     ///< how much longer the host takes for a tensor-parallel layer
  StepRange range = training_range;
};

/// A training step: the model, how it is laid out over ranks, and what the software does. Ranks
/// are numbered as Megatron does: tensor parallelism first, then context, data, pipeline.
struct TrainingSetup {
  Transformer model{};
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t context = 1;
  /// With context parallelism, keys and values are gathered before attention, as Llama 3 did
  /// (arXiv:2407.21783, section 3.3.2); else they go around in a ring beside it.
  bool gathers_context = false;
  std::int64_t expert = 1;      ///< ranks of a data-parallel group that share the experts
  std::int64_t interleave = 1;  ///< chunks of layers that a pipeline stage has
  /// 0: all is replicated. 1: the optimizer's state is sharded over data-parallel ranks; 2: and
  /// gradients; 3: and parameters, layer by layer, as FSDP does.
  std::int64_t zero = 0;
  /// With ZeRO 3: how many ranks share one copy of the parameters; 0: all of them.
  std::int64_t shard = 0;
  /// Of ZeRO 3: parameters are gathered again for the backward pass; never in a pipeline.
  bool reshard = true;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;
  std::int64_t sequence = 0;  ///< tokens; 0: the model's
  StepPrecision precision = StepPrecision::bf16;
  Recompute recompute = Recompute::none;
  bool sequence_parallel = false;
  TensorOverlap tensor_overlap = TensorOverlap::none;
  AttentionKind attention = AttentionKind::flash2;
  bool eager_norms = false;
  /// Gradients are reduced bucket by bucket while the last backward pass runs, and parameters that
  /// were sharded are gathered while the first forward pass runs.
  bool overlap_gradients = false;
  Bytes bucket{25 << 20};  ///< PyTorch DDP's bucket_cap_mb
  /// Gradients are copied into buckets, as PyTorch DDP does after `zero_grad(set_to_none=True)`.
  bool copies_buckets = false;
  /// DDP copies reduced gradients back out of buckets; not where gradients are views of these
  /// (gradient_as_bucket_view).
  bool copies_back = false;
  PipelineOrder order = PipelineOrder::one_forward_one_backward;
  /// Tensor-parallel ranks send the whole activation each, not a part that is gathered again.
  bool whole_messages = false;
  /// Tensor-parallel ranks have the whole embedding and head each, not a part of the vocabulary.
  bool whole_vocabulary = false;
  StepSoftware software{};

  std::int64_t ranks() const { return tensor * pipeline * data * context; }
  std::int64_t tokens_sequence() const { return sequence > 0 ? sequence : model.sequence; }
  /// Microbatches of a step on each data-parallel rank.
  std::int64_t microbatches() const;
};

// Names of options and of messages; find_... throws InputError that names `option` and what there
// is.

std::string_view to_string(StepPrecision precision);
std::string_view to_string(Recompute recompute);
std::string_view to_string(AttentionKind attention);
std::string_view to_string(TensorOverlap overlap);
StepPrecision find_precision(std::string_view option, std::string_view name);
Recompute find_recompute(std::string_view option, std::string_view name);
AttentionKind find_attention(std::string_view option, std::string_view name);
TensorOverlap find_tensor_overlap(std::string_view option, std::string_view name);

/// The reason why a layout cannot run.
enum class SetupLimit : std::uint8_t {
  none,
  heads,       ///< more tensor-parallel ranks than heads
  layers,      ///< more chunks than layers
  interleave,  ///< interleaved chunks without a pipeline
  overlap,     ///< overlap of whole products without sequence parallelism
  shard,       ///< a shard that does not divide the ranks, or with experts on several
  experts,     ///< experts that ranks do not divide
  batch,       ///< a batch that replicas and microbatches do not divide
};
/// The first limit that the layout breaks; the batch comes last.
SetupLimit limit_of(const TrainingSetup& setup);
/// Throws InputError for a layout that cannot be.
void check_setup(const TrainingSetup& setup);

/// How one rank computes its layers.
LayerShare layer_share(const TrainingSetup& setup);

/// Parameters on one rank of an embedding, or of a head.
double rank_vocabulary_parameters(const TrainingSetup& setup);
/// Layers of a chunk of a pipeline stage: as many as the others, or one more in the first chunks.
std::int64_t chunk_layers(const TrainingSetup& setup, std::int64_t stage, std::int64_t chunk);
/// The layers of all chunks of a stage; the first one has the most.
std::int64_t stage_layers(const TrainingSetup& setup, std::int64_t stage);

/// Parameters on one rank before any sharding by ZeRO, by the ranks that hold the same ones.
struct RankParameters {
  double dense = 0;    ///< all data- and context-parallel ranks hold them
  double experts = 0;  ///< of experts on several ranks: those with the same experts hold them

  double all() const { return dense + experts; }
};
/// The parameters of one layer, and of a pipeline stage; the first one has the most.
RankParameters rank_layer_parameters(const TrainingSetup& setup);
RankParameters rank_parameters(const TrainingSetup& setup, std::int64_t stage = 0);
/// What each of the ranks has that share dense parameters among `ranks` and experts among those of
/// them with the same experts.
double sharded(const TrainingSetup& setup, const RankParameters& parameters, std::int64_t ranks);
/// Bytes of a gradient as it is reduced, and that the optimizer's step moves for a parameter.
double gradient_bytes_of(StepPrecision precision);
double optimizer_bytes_of(StepPrecision precision);

/// What one GPU holds at most, by part.
struct StepMemory {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double other = 0;  ///< CUDA's context, NCCL's buffers, the allocator's waste

  double all() const { return parameters + gradients + optimizer + activations + other; }
  /// The bytes of them that PyTorch's allocator gives out.
  double allocated() const;
};

/// By formulas: 2 (fp16, bf16) or 4 bytes a parameter, gradients, 12 bytes of Adam's state with
/// master weights, less what ZeRO shards; what PyTorch keeps of a layer for the backward pass, of
/// as many microbatches as the first stage has in flight; logits; what FSDP has gathered. PyTorch's
/// gradients grow while activations go, so that of both the larger one counts.
StepMemory step_memory(const TrainingSetup& setup);

}  // namespace collsim
