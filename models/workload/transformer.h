#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/gpu_kernels.h"

namespace collsim {

/// The shape of a transformer.
struct Transformer {
  std::string name{};
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t ffn = 1;
  std::int64_t vocabulary = 1;
  std::int64_t sequence = 1;  ///< that it is trained with, unless a layout says otherwise
  bool gated = false;         ///< three matrices in the feed-forward part, as SwiGLU has; else two
  std::int64_t experts = 1;   ///< of the feed-forward part
  std::int64_t active_experts = 1;  ///< that a token goes to

  bool operator==(const Transformer&) const = default;
};

/// The shipped shapes (models/data/transformers.yaml). Throws InputError.
std::vector<Transformer> load_transformers();
/// The one of that name. Throws InputError that names similar ones.
Transformer find_transformer(std::string_view name);

/// Elements of keys and values together, of a token in a layer.
double key_value_width(const Transformer& model);
/// Parameters of the matrices of a layer, of its feed-forward part alone, and of an embedding.
double layer_parameters(const Transformer& model);
double ffn_parameters(const Transformer& model);
double embedding_parameters(const Transformer& model);
/// Of all of it: layers, an embedding and a head.
double all_parameters(const Transformer& model);
/// Multiplications and additions that a step needs for a token, forward and backward, without what
/// is computed again: six for a parameter that the token meets, and 6 h s for causal attention of a
/// layer. The convention of "model FLOPs utilisation" (PaLM, arXiv:2204.02311, appendix B), halved
/// for causality.
double flops_per_token(const Transformer& model, std::int64_t sequence);

/// How attention is computed.
enum class AttentionKind : std::uint8_t {
  flash2,  ///< FlashAttention-2 or later, cuDNN's
  flash1,  ///< the first FlashAttention, Triton's
  fused,   ///< products, with scaling, mask and softmax as one kernel (Megatron)
  eager,   ///< all apart
};

/// Numbers of a step.
enum class StepPrecision : std::uint8_t {
  fp16,       ///< fp16 with fp32 master weights; gradients in fp16
  bf16,       ///< likewise; gradients in fp32
  fp8,        ///< the same, with products in fp8
  bf16_pure,  ///< everything in bf16, the optimizer's state too
  amp,        ///< fp32 weights and gradients, products in bf16 (autocast)
};

/// Bytes of a number that one layer hands to the next, whatever its products take.
inline constexpr double activation_element = 2;

/// What of the forward pass is computed again in the backward pass.
enum class Recompute : std::uint8_t { none, selective, full };

/// How one rank computes a layer.
struct LayerShare {
  double tokens = 1;                 ///< of a microbatch, of this rank's part of the sequence
  std::int64_t sequence = 1;         ///< whole
  std::int64_t tensor = 1;           ///< ranks that share each matrix
  std::int64_t vocabulary_over = 1;  ///< ranks that share the embedding and the head
  std::int64_t experts_over = 1;     ///< ranks that share the experts
  bool sequence_parallel = false;
  AttentionKind attention = AttentionKind::flash2;
  StepPrecision precision = StepPrecision::bf16;
  bool eager_norms = false;  ///< norms of several kernels in fp32, no fused ones
  bool accumulates = false;  ///< gradients are added to those of earlier microbatches
};

/// The time of something forward and backward.
struct PassTimes {
  Seconds forward{};
  Seconds backward{};
};

/// Of a layer of one rank: all of it, and its attention alone.
struct LayerTimes {
  PassTimes all{};
  PassTimes attention{};
};

/// Of one rank, the products of a layer's matrices: of queries, keys and values together, of
/// attention's output, into the feed-forward network, and out of it. In the backward pass each is
/// two: one for the gradient of its input, and one for that of its weights.
using ProductTimes = std::array<PassTimes, 4>;
ProductTimes product_times(const KernelTimes& kernels, const Transformer& model,
                           const LayerShare& share);

/// How long a layer takes on one GPU, without communication. Each kernel adds its time: the
/// products of the matrices (in the backward pass two for each), attention, and what norms,
/// residuals, activations, rotations and dropouts read and write.
LayerTimes layer_times(const KernelTimes& kernels, const Transformer& model,
                       const LayerShare& share);
/// Of the head with its loss, and of the embedding.
PassTimes head_times(const KernelTimes& kernels, const Transformer& model, const LayerShare& share);
PassTimes embedding_times(const KernelTimes& kernels, const Transformer& model,
                          const LayerShare& share);

}  // namespace collsim
