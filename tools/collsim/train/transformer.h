#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/train/gpu_kernels.h"

namespace collsim {

/// The shape of a transformer. 0 of what may be 0 stands for what its comment says.
struct Transformer {
  std::string name{};
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t ffn = 1;
  std::int64_t vocabulary = 1;
  std::int64_t sequence = 1;   ///< tokens that it is trained with, unless a layout says otherwise
  bool gated = false;          ///< three matrices in the feed-forward part, as SwiGLU has; else two
  bool tied = false;           ///< the head is the embedding
  std::int64_t head_dim = 0;   ///< numbers of a query and a key; 0: hidden / heads
  std::int64_t value_dim = 0;  ///< numbers of a value; 0: head_dim
  std::int64_t experts = 1;    ///< experts of the feed-forward part
  std::int64_t active_experts = 1;  ///< experts that a token goes to
  std::int64_t expert_ffn = 0;      ///< width of one expert; 0: ffn
  std::int64_t shared_ffn = 0;      ///< width of all experts that every token goes to
  std::int64_t dense_layers = 0;    ///< layers without experts
  /// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): what queries are projected down
  /// to (0: they are not), what keys and values are, which is what a cache keeps (0: it is another
  /// attention), and the part of head_dim that turns, of a key one for all heads.
  std::int64_t query_rank = 0;
  std::int64_t kv_rank = 0;
  std::int64_t rope_dim = 0;
  std::int64_t window = 0;         ///< tokens that attention looks back to; 0: to all
  std::int64_t window_layers = 0;  ///< layers that have the window

  bool operator==(const Transformer&) const = default;
};

/// The width of all heads' queries together, of an element of attention's result, and of keys and
/// values of a token in a layer, all as attention has them.
double query_width(const Transformer& model);
double result_width(const Transformer& model);
double key_value_width(const Transformer& model);
/// Elements that a cache keeps of a token in a layer, of which tensor-parallel ranks have parts.
double cache_width(const Transformer& model, std::int64_t tensor);
/// The share of a sequence that a token attends to, of all tokens and layers the mean: half of it,
/// and less where layers have a window.
double attended_share(const Transformer& model, std::int64_t sequence);
/// The tokens of `context` that a cache keeps, in the mean of all layers.
double cached_tokens(const Transformer& model, std::int64_t context);
/// The width of an expert's feed-forward network.
std::int64_t expert_width(const Transformer& model);
/// Layers with experts, as a share of all.
double expert_layers_share(const Transformer& model);
/// The feed-forward part's middle that a token has in a layer, in the mean of all layers.
double middle_width(const Transformer& model);

/// Parameters of matrices, as the mean of all layers: of a layer; of one network of its
/// feed-forward part (of one expert, where there are experts); of that whole part; of all its
/// experts that tokens may choose. And those of one embedding.
double layer_parameters(const Transformer& model);
double ffn_parameters(const Transformer& model);
double feed_forward_parameters(const Transformer& model);
double expert_parameters(const Transformer& model);
double embedding_parameters(const Transformer& model);
/// Matrices of the vocabulary: an embedding and a head, or one for both.
double vocabulary_matrices(const Transformer& model);
/// The parameters of all of it, and of what a token meets.
double all_parameters(const Transformer& model);
double active_parameters(const Transformer& model);
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

/// The types of numbers of a step.
enum class StepPrecision : std::uint8_t {
  fp16,       ///< fp16 with fp32 master weights; gradients in fp16
  bf16,       ///< bf16 with fp32 master weights; gradients in fp32
  fp8,        ///< as bf16, with products in fp8
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
  bool whole_logits = false;         ///< gathered from them, so that each has the whole loss
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

/// The times of a layer of one rank: all of it, and its attention alone.
struct LayerTimes {
  PassTimes all{};
  PassTimes attention{};
};

/// A product of an m x k with a k x n matrix, and in how many of all layers it is.
struct LayerProduct {
  double m;
  double n;
  double k;
  double layers = 1;
};
/// The products that make queries, keys and values on one rank: one for all; with latent attention
/// those down to the latent ones, which each rank has whole, and up to those of its heads.
std::vector<LayerProduct> query_products(const Transformer& model, const LayerShare& share);

/// The times on one rank of the products of a layer's matrices: for queries, keys and values
/// together, of attention's output, into the feed-forward network, and out of it. In the backward
/// pass each is two: one for the gradient of its input, and one for that of its weights.
using ProductTimes = std::array<PassTimes, 4>;
ProductTimes product_times(const KernelTimes& kernels, const Transformer& model,
                           const LayerShare& share);

/// How long a layer takes on one GPU, without communication. Each kernel adds its time: the
/// products of the matrices (in the backward pass two for each), attention, and what norms,
/// residuals, activations, rotations and dropouts read and write.
LayerTimes layer_times(const KernelTimes& kernels, const Transformer& model,
                       const LayerShare& share);
/// The times of the head with its loss, and of the embedding.
PassTimes head_times(const KernelTimes& kernels, const Transformer& model, const LayerShare& share);
PassTimes embedding_times(const KernelTimes& kernels, const Transformer& model,
                          const LayerShare& share);

}  // namespace collsim
