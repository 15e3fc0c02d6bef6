#include "tools/collsim/train/transformer.h"

#include <algorithm>
#include <array>
#include <vector>

namespace collsim {

namespace {

// What kernels that do little but move data read and write of each element, in bytes. An element of
// an activation has 2 bytes.
constexpr double element = 2;
constexpr double norm_bytes = 2 * element;           // read, written
constexpr double norm_backward_bytes = 4 * element;  // its input, its gradient, the result, sums
constexpr double residual_bytes = 3 * element;       // two read, one written
constexpr double activation_bytes = 2 * element;  // of each input of the feed-forward part's middle
constexpr double layout_bytes = 2 * element;      // heads are moved side by side
constexpr double rotation_bytes = 32;             // q and k turned by unfused kernels
constexpr double dropout_bytes = 5;               // read, written, and a mask
constexpr double fused_dropout_bytes = 1;  // the mask: Megatron adds residuals in the same kernel
// RMS norm of separate kernels in fp32: cast, square, mean, scale, cast, multiply.
constexpr double eager_norm_bytes = 32;
constexpr double eager_norm_backward_bytes = 64;
// Scores of attention that is not fused, for each query, key and head: with scale, mask and softmax
// as one kernel three writes and three reads and a mask; all apart about twice that.
constexpr double fused_score_bytes = 14;
constexpr double eager_score_bytes = 26;
// A logit: written, and read and written by softmax and loss; in fp32 with a cast.
constexpr double logit_bytes = 6;
constexpr double logit_backward_bytes = 6;
constexpr double fp32_logit_bytes = 16;
// Gradients that are added to earlier ones: read, read and written.
constexpr double added_fp16_bytes = 6;
constexpr double added_fp32_bytes = 10;
// A weight that is cast from fp32, and a gradient that is cast back.
constexpr double cast_bytes = 6;
// Backward of an embedding: indices are sorted, rows of its gradient set to 0 and added to.
constexpr double embedding_row_bytes = 2 * element;
constexpr double embedding_token_bytes = 50 * element;

constexpr double causal = 0.5;
constexpr double backward_products = 2.5;  // of fused attention: five products in place of two
constexpr double norms = 2;                // of a layer; so many residuals, too
constexpr double two_products = 4;  // flops of q k and of its product with v, per h s and token

double real(std::int64_t number) {
  return static_cast<double>(number);
}

double head_size(const Transformer& model) {
  return model.head_dim > 0 ? real(model.head_dim) : real(model.hidden) / real(model.heads);
}

double value_size(const Transformer& model) {
  return model.value_dim > 0 ? real(model.value_dim) : head_size(model);
}

bool in_fp8(StepPrecision precision) {
  return precision == StepPrecision::fp8;
}

/// Widths of a layer as one rank has them.
struct LayerWidths {
  double hidden;
  double query;
  double query_key_value;
  double scores;   ///< of a query and a result in the mean: what a pair of tokens multiplies
  double middles;  ///< of the feed-forward part, of all tokens
  double norm_tokens;
  double residual;  ///< bytes of an element of the residual stream, as a multiple of 16 bits

  LayerWidths(const Transformer& model, const LayerShare& share)
      : hidden(real(model.hidden)),
        query(query_width(model) / real(share.tensor)),
        query_key_value((query_width(model) + key_value_width(model)) / real(share.tensor)),
        scores((query_width(model) + result_width(model)) / 2 / real(share.tensor)),
        middles(share.tokens * middle_width(model) / real(share.tensor)),
        norm_tokens(share.sequence_parallel ? share.tokens / real(share.tensor) : share.tokens),
        residual(share.precision == StepPrecision::amp ? 2 : 1) {}
};

using LayerProducts = std::vector<LayerProduct>;

/// The four groups of products of a layer's forward pass.
std::array<LayerProducts, 4> layer_products(const Transformer& model, const LayerShare& share) {
  const double hidden = real(model.hidden);
  const double gate = model.gated ? 2 : 1;
  std::array<LayerProducts, 4> products;
  products[0] = query_products(model, share);
  products[1] = {{share.tokens, hidden, result_width(model) / real(share.tensor)}};
  const auto add_network = [&](double layers, double tokens, std::int64_t ffn) {
    if (layers <= 0 || ffn == 0) return;
    const double width = real(ffn) / real(share.tensor);
    products[2].push_back({tokens, width * gate, hidden, layers});
    products[3].push_back({tokens, hidden, width, layers});
  };
  const double with_experts = expert_layers_share(model);
  add_network(1 - with_experts, share.tokens, model.ffn);
  add_network(with_experts, share.tokens * real(model.active_experts), expert_width(model));
  add_network(with_experts, share.tokens, model.shared_ffn);
  return products;
}

PassTimes attention_times(const KernelTimes& kernels, const Transformer& model,
                          const LayerShare& share) {
  const LayerWidths widths(model, share);
  const auto sequence = static_cast<double>(share.sequence);
  const double flops = two_products * share.tokens * sequence * widths.scores;
  if (share.attention == AttentionKind::fused || share.attention == AttentionKind::eager) {
    const double scores = share.tokens * sequence * static_cast<double>(model.heads) /
                          static_cast<double>(share.tensor);
    const double bytes =
        share.attention == AttentionKind::fused ? fused_score_bytes : eager_score_bytes;
    const Seconds forward = kernels.batched_products(flops) + kernels.moved(scores * bytes);
    return {forward, 2 * forward};
  }
  const bool first = share.attention == AttentionKind::flash1;
  const double attended = attended_share(model, share.sequence);
  return {kernels.attention(attended * flops, false, first),
          kernels.attention(attended * backward_products * flops, true, first)};
}

/// Norms, residuals, activations and so on.
PassTimes moving_times(const KernelTimes& kernels, const Transformer& model,
                       const LayerShare& share) {
  const LayerWidths widths(model, share);
  const double elements = widths.norm_tokens * widths.hidden;
  const double gate = model.gated ? 1 : 0;
  PassTimes times;
  const auto add = [&](double forward, double backward) {
    if (forward > 0) times.forward += kernels.moved(forward);
    if (backward > 0) times.backward += kernels.moved(backward);
  };
  add(norms * norm_bytes * widths.residual * elements,
      norms * norm_backward_bytes * widths.residual * elements);
  add(norms * residual_bytes * widths.residual * elements,
      norms * residual_bytes * widths.residual * elements);
  add(activation_bytes / 2 * (2 + gate) * widths.middles,
      activation_bytes / 2 * (2 + 2 * gate) * widths.middles);
  add(layout_bytes * share.tokens * widths.query_key_value,
      layout_bytes * share.tokens * widths.query_key_value);
  if (share.eager_norms) {
    add(norms * eager_norm_bytes * elements, norms * eager_norm_backward_bytes * elements);
  }
  if (model.gated) {
    add(rotation_bytes * share.tokens * widths.query, rotation_bytes * share.tokens * widths.query);
  }
  if (share.attention == AttentionKind::fused || share.attention == AttentionKind::eager) {
    const double dropout =
        share.attention == AttentionKind::fused ? fused_dropout_bytes : dropout_bytes;
    add(norms * dropout * elements, norms * dropout * elements);
  }
  return times;
}

/// Bytes that a parameter's gradient and its casts move in each microbatch.
PassTimes parameter_times(const KernelTimes& kernels, const LayerShare& share, double parameters) {
  PassTimes times;
  if (share.accumulates) {
    const bool wide =
        share.precision != StepPrecision::fp16 && share.precision != StepPrecision::bf16_pure;
    times.backward += kernels.moved((wide ? added_fp32_bytes : added_fp16_bytes) * parameters);
  }
  if (share.precision == StepPrecision::amp) {
    times.forward += kernels.moved(cast_bytes * parameters);
    times.backward += kernels.moved(cast_bytes * parameters);
  }
  return times;
}

}  // namespace

std::vector<LayerProduct> query_products(const Transformer& model, const LayerShare& share) {
  const LayerWidths widths(model, share);
  const double tokens = share.tokens;
  if (model.kv_rank == 0) return {{tokens, widths.query_key_value, widths.hidden}};
  const double latent = real(model.kv_rank);
  const double of_head = head_size(model) - real(model.rope_dim) + value_size(model);
  std::vector<LayerProduct> products{
      {tokens, latent + real(model.rope_dim), widths.hidden},
      {tokens, real(model.heads) * of_head / real(share.tensor), latent}};
  if (model.query_rank == 0) {
    products.push_back({tokens, widths.query, widths.hidden});
  } else {
    products.push_back({tokens, real(model.query_rank), widths.hidden});
    products.push_back({tokens, widths.query, real(model.query_rank)});
  }
  return products;
}

double query_width(const Transformer& model) {
  return real(model.heads) * head_size(model);
}

double result_width(const Transformer& model) {
  return real(model.heads) * value_size(model);
}

double key_value_width(const Transformer& model) {
  const std::int64_t heads = model.kv_rank > 0 ? model.heads : model.kv_heads;
  return real(heads) * (head_size(model) + value_size(model));
}

double cache_width(const Transformer& model, std::int64_t tensor) {
  if (model.kv_rank > 0) return real(model.kv_rank + model.rope_dim);
  const double heads = std::max(1.0, real(model.kv_heads) / real(tensor));
  return heads * (head_size(model) + value_size(model));
}

double attended_share(const Transformer& model, std::int64_t sequence) {
  if (model.window == 0 || model.window >= sequence) return causal;
  // The first tokens of a sequence have less than a window before them.
  const double window = real(model.window) / real(sequence);
  const double windowed = real(model.window_layers) / real(model.layers);
  return causal + windowed * (window * (1 - window / 2) - causal);
}

std::int64_t expert_width(const Transformer& model) {
  return model.expert_ffn > 0 ? model.expert_ffn : model.ffn;
}

double cached_tokens(const Transformer& model, std::int64_t context) {
  const double windowed = real(model.window_layers) / real(model.layers);
  return real(context) - windowed * real(std::max<std::int64_t>(0, context - model.window));
}

double expert_layers_share(const Transformer& model) {
  if (model.experts == 1) return 0;
  return real(model.layers - model.dense_layers) / real(model.layers);
}

double middle_width(const Transformer& model) {
  const double with_experts = expert_layers_share(model);
  return (1 - with_experts) * real(model.ffn) +
         with_experts * real(model.active_experts * expert_width(model) + model.shared_ffn);
}

namespace {

double network_parameters(const Transformer& model, std::int64_t ffn) {
  return (model.gated ? 3.0 : 2.0) * real(model.hidden) * real(ffn);
}

double attention_parameters(const Transformer& model) {
  double parameters = real(model.hidden) * result_width(model);
  for (const LayerProduct& each : query_products(model, LayerShare{}))
    parameters += each.n * each.k;
  return parameters;
}

/// Of experts that a token does not go to, of a layer.
double idle_parameters(const Transformer& model) {
  return expert_parameters(model) * real(model.experts - model.active_experts) /
         real(model.experts);
}

}  // namespace

double ffn_parameters(const Transformer& model) {
  return network_parameters(model, model.experts > 1 ? expert_width(model) : model.ffn);
}

double expert_parameters(const Transformer& model) {
  return expert_layers_share(model) * real(model.experts) * ffn_parameters(model);
}

double feed_forward_parameters(const Transformer& model) {
  const double with_experts = expert_layers_share(model);
  return expert_parameters(model) + (1 - with_experts) * network_parameters(model, model.ffn) +
         with_experts * network_parameters(model, model.shared_ffn);
}

double layer_parameters(const Transformer& model) {
  return attention_parameters(model) + feed_forward_parameters(model);
}

double embedding_parameters(const Transformer& model) {
  return real(model.vocabulary) * real(model.hidden);
}

double vocabulary_matrices(const Transformer& model) {
  return model.tied ? 1 : 2;
}

double all_parameters(const Transformer& model) {
  return real(model.layers) * layer_parameters(model) +
         vocabulary_matrices(model) * embedding_parameters(model);
}

double active_parameters(const Transformer& model) {
  return all_parameters(model) - real(model.layers) * idle_parameters(model);
}

double flops_per_token(const Transformer& model, std::int64_t sequence) {
  constexpr double per_parameter = 6;
  const double met = real(model.layers) * (layer_parameters(model) - idle_parameters(model)) +
                     embedding_parameters(model);
  // Causal attention of a width w meets w s / 2 pairs, and each as much as two parameters.
  const double pairs =
      (query_width(model) + result_width(model)) * attended_share(model, sequence) * real(sequence);
  return per_parameter * (met + real(model.layers) * pairs);
}

ProductTimes product_times(const KernelTimes& kernels, const Transformer& model,
                           const LayerShare& share) {
  ProductTimes times;
  const bool fp8 = in_fp8(share.precision);
  const auto shapes = layer_products(model, share);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (const auto& [m, n, k, layers] : shapes[i]) {
      times[i].forward += layers * kernels.product(m, n, k, fp8);
      times[i].backward += layers * kernels.backward_products(m, n, k, fp8);
    }
  }
  return times;
}

LayerTimes layer_times(const KernelTimes& kernels, const Transformer& model,
                       const LayerShare& share) {
  LayerTimes times;
  for (const PassTimes& product : product_times(kernels, model, share)) {
    times.all.forward += product.forward;
    times.all.backward += product.backward;
  }
  const double experts = expert_parameters(model);
  const double parameters =
      (layer_parameters(model) - experts + experts / real(share.experts_over)) / real(share.tensor);
  times.attention = attention_times(kernels, model, share);
  for (const PassTimes& part : {times.attention, moving_times(kernels, model, share),
                                parameter_times(kernels, share, parameters)}) {
    times.all.forward += part.forward;
    times.all.backward += part.backward;
  }
  return times;
}

PassTimes head_times(const KernelTimes& kernels, const Transformer& model,
                     const LayerShare& share) {
  const double vocabulary =
      static_cast<double>(model.vocabulary) / static_cast<double>(share.vocabulary_over);
  const auto hidden = static_cast<double>(model.hidden);
  const double logits =
      share.tokens * (share.whole_logits ? static_cast<double>(model.vocabulary) : vocabulary);
  const bool pure = share.precision == StepPrecision::bf16_pure;
  const PassTimes casts = parameter_times(kernels, share, vocabulary * hidden);
  return {kernels.product(share.tokens, vocabulary, hidden) +
              kernels.moved((pure ? logit_bytes : fp32_logit_bytes) * logits) + casts.forward,
          kernels.backward_products(share.tokens, vocabulary, hidden) +
              kernels.moved((pure ? logit_backward_bytes : fp32_logit_bytes) * logits) +
              casts.backward};
}

PassTimes embedding_times(const KernelTimes& kernels, const Transformer& model,
                          const LayerShare& share) {
  const auto hidden = static_cast<double>(model.hidden);
  const double rows =
      static_cast<double>(model.vocabulary) / static_cast<double>(share.vocabulary_over);
  return {kernels.moved(norm_bytes * share.tokens * hidden),
          kernels.moved(embedding_row_bytes * rows * hidden +
                        embedding_token_bytes * share.tokens * hidden)};
}

}  // namespace collsim
