#include "models/workload/transformer.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/yaml/yaml_reader.h"

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

constexpr std::int64_t max_dimension = 1'000'000'000;

Transformer read_transformer(const YamlValue& value) {
  const YamlMapping keys =
      value.mapping({"name", "layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary",
                     "sequence", "gated", "experts", "active_experts", "source"});
  const auto number = [&](std::string_view key, std::int64_t otherwise) {
    const auto found = keys.find(key);
    return found ? found->integer(1, max_dimension) : otherwise;
  };
  Transformer model;
  model.name = keys.at("name").string();
  model.layers = keys.at("layers").integer(1, max_dimension);
  model.hidden = keys.at("hidden").integer(1, max_dimension);
  model.heads = keys.at("heads").integer(1, max_dimension);
  model.kv_heads = number("kv_heads", model.heads);
  model.ffn = keys.at("ffn").integer(1, max_dimension);
  model.vocabulary = keys.at("vocabulary").integer(1, max_dimension);
  model.sequence = keys.at("sequence").integer(1, max_dimension);
  if (const auto gated = keys.find("gated")) model.gated = gated->boolean();
  model.experts = number("experts", 1);
  model.active_experts = number("active_experts", 1);
  return model;
}

double head_size(const Transformer& model) {
  return static_cast<double>(model.hidden) / static_cast<double>(model.heads);
}

bool in_fp8(StepPrecision precision) {
  return precision == StepPrecision::fp8;
}

/// Widths of a layer as one rank has them.
struct LayerWidths {
  double hidden;
  double query;
  double query_key_value;
  double ffn;
  double ffn_tokens;
  double norm_tokens;
  double residual;  ///< bytes of an element of the residual stream, as a multiple of 16 bits

  LayerWidths(const Transformer& model, const LayerShare& share)
      : hidden(static_cast<double>(model.hidden)),
        query(hidden / static_cast<double>(share.tensor)),
        query_key_value((hidden + key_value_width(model)) / static_cast<double>(share.tensor)),
        ffn(static_cast<double>(model.ffn) / static_cast<double>(share.tensor)),
        ffn_tokens(share.tokens * static_cast<double>(model.active_experts)),
        norm_tokens(share.sequence_parallel ? share.tokens / static_cast<double>(share.tensor)
                                            : share.tokens),
        residual(share.precision == StepPrecision::amp ? 2 : 1) {}
};

/// m, n, k of the four products of a layer's forward pass.
std::array<std::array<double, 3>, 4> layer_products(const Transformer& model,
                                                    const LayerShare& share) {
  const LayerWidths widths(model, share);
  const double gate = model.gated ? 2 : 1;
  return {{{share.tokens, widths.query_key_value, widths.hidden},
           {share.tokens, widths.hidden, widths.query},
           {widths.ffn_tokens, widths.ffn * gate, widths.hidden},
           {widths.ffn_tokens, widths.hidden, widths.ffn}}};
}

PassTimes attention_times(const KernelTimes& kernels, const Transformer& model,
                          const LayerShare& share) {
  const LayerWidths widths(model, share);
  const auto sequence = static_cast<double>(share.sequence);
  const double flops = two_products * share.tokens * sequence * widths.query;
  if (share.attention == AttentionKind::fused || share.attention == AttentionKind::eager) {
    const double scores = share.tokens * sequence * static_cast<double>(model.heads) /
                          static_cast<double>(share.tensor);
    const double bytes =
        share.attention == AttentionKind::fused ? fused_score_bytes : eager_score_bytes;
    const Seconds forward = kernels.batched_products(flops) + kernels.moved(scores * bytes);
    return {forward, 2 * forward};
  }
  const bool first = share.attention == AttentionKind::flash1;
  return {kernels.attention(causal * flops, false, first),
          kernels.attention(causal * backward_products * flops, true, first)};
}

/// Norms, residuals, activations and so on.
PassTimes moving_times(const KernelTimes& kernels, const Transformer& model,
                       const LayerShare& share) {
  const LayerWidths widths(model, share);
  const double elements = widths.norm_tokens * widths.hidden;
  const double middle = widths.ffn_tokens * widths.ffn;
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
  add(activation_bytes / 2 * (2 + gate) * middle, activation_bytes / 2 * (2 + 2 * gate) * middle);
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

std::vector<Transformer> load_transformers() {
  const YamlMapping file =
      load_yaml(shipped_file("transformers", "models/data"), "transformers").mapping({"models"});
  std::vector<Transformer> models;
  for (const YamlValue& each : file.at("models").sequence()) {
    models.push_back(read_transformer(each));
  }
  return models;
}

Transformer find_transformer(std::string_view name) {
  std::vector<std::string> names;
  for (Transformer& model : load_transformers()) {
    if (model.name == name) return model;
    names.push_back(std::move(model.name));
  }
  throw InputError(fmt::format("--model: no model '{}'", name), names_instead_of(name, names));
}

double key_value_width(const Transformer& model) {
  return 2 * static_cast<double>(model.kv_heads) * head_size(model);
}

double ffn_parameters(const Transformer& model) {
  return (model.gated ? 3.0 : 2.0) * static_cast<double>(model.hidden) *
         static_cast<double>(model.ffn);
}

double layer_parameters(const Transformer& model) {
  const auto hidden = static_cast<double>(model.hidden);
  return hidden * hidden + hidden * (hidden + key_value_width(model)) +
         static_cast<double>(model.experts) * ffn_parameters(model);
}

double embedding_parameters(const Transformer& model) {
  return static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
}

double all_parameters(const Transformer& model) {
  return static_cast<double>(model.layers) * layer_parameters(model) +
         2 * embedding_parameters(model);
}

double flops_per_token(const Transformer& model, std::int64_t sequence) {
  constexpr double per_parameter = 6;
  const double idle =
      static_cast<double>(model.experts - model.active_experts) * ffn_parameters(model);
  const double met = static_cast<double>(model.layers) * (layer_parameters(model) - idle) +
                     embedding_parameters(model);
  return per_parameter *
         (met + static_cast<double>(model.layers) * static_cast<double>(model.hidden) *
                    static_cast<double>(sequence));
}

ProductTimes product_times(const KernelTimes& kernels, const Transformer& model,
                           const LayerShare& share) {
  ProductTimes times;
  const bool fp8 = in_fp8(share.precision);
  const auto shapes = layer_products(model, share);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& [m, n, k] = shapes[i];
    times[i] = {kernels.product(m, n, k, fp8), kernels.backward_products(m, n, k, fp8)};
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
  const double parameters = layer_parameters(model) / static_cast<double>(share.tensor) /
                            static_cast<double>(share.experts_over);
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
  const double logits = share.tokens * vocabulary;
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
