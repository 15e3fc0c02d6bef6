#include "tools/collsim/train/transformer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/base/text_file.h"

namespace collsim {

namespace {

constexpr std::int64_t max_dimension = 1'000'000'000;
/// A step's program has some ops for each layer.
constexpr std::int64_t max_layers = 10'000;
/// Of configurations, which say how many positions a model has, and not with which it is trained:
/// models of longer contexts are trained on up to so many nearly always.
constexpr std::int64_t usual_sequence = 8192;

/// A dimension, and the keys that it has: ours first, then those of configurations.
struct ShapeKey {
  std::int64_t Transformer::*value;
  std::int64_t least;
  std::string_view names;
};
constexpr std::array shape_keys{
    ShapeKey{&Transformer::layers, 1, "layers num_hidden_layers n_layer num_layers n_layers"},
    ShapeKey{&Transformer::hidden, 1, "hidden hidden_size n_embd n_embed d_model"},
    ShapeKey{&Transformer::heads, 1, "heads num_attention_heads n_head num_heads n_heads"},
    ShapeKey{&Transformer::kv_heads, 1,
             "kv_heads num_key_value_heads num_kv_heads kv_n_heads multi_query_group_num"},
    ShapeKey{&Transformer::ffn, 1,
             "ffn intermediate_size_mlp intermediate_size n_inner ffn_dim ffn_hidden_size"},
    ShapeKey{&Transformer::vocabulary, 1, "vocabulary vocab vocab_size padded_vocab_size"},
    ShapeKey{&Transformer::sequence, 1,
             "sequence seq max_position_embeddings n_positions n_ctx max_seq_len seq_length"},
    ShapeKey{&Transformer::head_dim, 1, "head_dim kv_channels"},
    ShapeKey{&Transformer::value_dim, 1, "v_head_dim"},
    ShapeKey{&Transformer::experts, 0,
             "experts num_local_experts n_routed_experts num_experts moe_num_experts"},
    ShapeKey{&Transformer::active_experts, 0,
             "active_experts topk num_experts_per_tok num_experts_per_token experts_per_token "
             "moe_top_k moe_topk"},
    ShapeKey{&Transformer::expert_ffn, 1, "moe_ffn moe_intermediate_size"},
    ShapeKey{&Transformer::shared_ffn, 0, "shared_ffn shared_expert_intermediate_size"},
    ShapeKey{&Transformer::dense_layers, 0, "dense_layers first_k_dense_replace"},
    ShapeKey{&Transformer::query_rank, 0, "q_lora_rank"},
    ShapeKey{&Transformer::kv_rank, 0, "kv_lora_rank"},
    ShapeKey{&Transformer::rope_dim, 0, "qk_rope_head_dim"},
    ShapeKey{&Transformer::window, 0, "window sliding_window"},
    ShapeKey{&Transformer::window_layers, 0, "window_layers"},
};
/// Keys that say something else, or the same in another way.
constexpr std::string_view other_keys =
    "name source gated tied tie_word_embeddings shared_experts n_shared_experts num_shared_experts "
    "qk_nope_head_dim sliding_window_pattern";
/// Keys of models that are more than attention and a feed-forward network, layer by layer.
constexpr std::string_view foreign_keys =
    "is_encoder_decoder hybrid_override_pattern attn_layer_period linear_num_value_heads "
    "mamba_d_state "
    "ssm_cfg block_configs";

std::string_view names_of(std::int64_t Transformer::*value) {
  return std::find_if(shape_keys.begin(), shape_keys.end(),
                      [&](const ShapeKey& each) { return each.value == value; })
      ->names;
}

bool is_word_of(std::string_view text, std::string_view word) {
  const auto words = split(text, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The mappings in which a model's keys stand, the first before the next.
class ShapeReader {
 public:
  explicit ShapeReader(std::vector<YamlMapping> places) : places_(std::move(places)) {}

  Transformer read() const;

 private:
  std::optional<YamlValue> find(std::string_view names) const;
  std::int64_t count(std::string_view names, std::int64_t otherwise) const;
  bool truth(std::string_view names, bool otherwise) const;
  [[noreturn]] void fail_missing(std::string_view key, const std::string& accepted) const;
  void require(const Transformer& model) const;
  void read_heads(Transformer& model) const;
  void read_network(Transformer& model) const;
  void read_experts(Transformer& model) const;
  std::int64_t dense_layers(const Transformer& model) const;
  std::int64_t window_layers(const Transformer& model) const;

  std::vector<YamlMapping> places_;
};

/// A value of one of the names that is not null.
std::optional<YamlValue> ShapeReader::find(std::string_view names) const {
  const auto words = split(names, ' ');
  for (const YamlMapping& place : places_) {
    for (const std::string& name : words) {
      auto value = place.find(name);
      if (value && (value->is_scalar() || value->is_sequence())) return value;
    }
  }
  return std::nullopt;
}

std::int64_t ShapeReader::count(std::string_view names, std::int64_t otherwise) const {
  const auto value = find(names);
  return value ? value->integer(0, max_dimension) : otherwise;
}

/// As YAML and JSON write it, or Python.
bool ShapeReader::truth(std::string_view names, bool otherwise) const {
  const auto value = find(names);
  if (!value) return otherwise;
  const std::string text = value->string();
  return text == "True" || (text != "False" && value->boolean());
}

void ShapeReader::fail_missing(std::string_view key, const std::string& accepted) const {
  places_.front().value().fail(fmt::format("key '{}' is missing", key), accepted);
}

void ShapeReader::require(const Transformer& model) const {
  for (const auto needed : {&Transformer::layers, &Transformer::hidden, &Transformer::heads,
                            &Transformer::ffn, &Transformer::vocabulary, &Transformer::sequence}) {
    if (model.*needed > 0) continue;
    const auto names = split(names_of(needed), ' ');
    fail_missing(names.front(), fmt::format("one of {}", fmt::join(names, ", ")));
  }
}

void ShapeReader::read_heads(Transformer& model) const {
  if (model.kv_heads == 0) model.kv_heads = truth("multi_query", false) ? 1 : model.heads;
  if (model.kv_rank == 0) return;
  const auto nope = find("qk_nope_head_dim");
  if (!nope) fail_missing("qk_nope_head_dim", "it with kv_lora_rank, qk_rope_head_dim, v_head_dim");
  model.head_dim = nope->integer(0, max_dimension) + model.rope_dim;
  model.kv_heads = model.heads;
}

void ShapeReader::read_network(Transformer& model) const {
  const auto activation =
      find("hidden_act hidden_activation activation_function hidden_activation_function");
  const auto said = find("gated");
  if (said) {
    model.gated = truth("gated", false);
  } else if (!activation && find("model_type architectures")) {
    fail_missing("hidden_act", "silu, or 'gated', true where the network has three matrices");
  } else if (activation) {
    const std::string name = activation->string();
    model.gated = name == "silu" || name == "swish" || name == "swiglu";
    if (!model.gated) {
      activation->fail(fmt::format("'{}' does not say how many matrices the network has", name),
                       "'gated: true' (three) or 'gated: false' (two) beside it");
    }
  }
  if (model.ffn == 0) model.ffn = model.expert_ffn;
  if (model.ffn == 0) model.ffn = count("ffn_of_hidden", 0) * model.hidden;
  model.tied = truth("tied tie_word_embeddings", false);
}

/// Of layers without experts: the first ones, or all but every so many-th.
std::int64_t ShapeReader::dense_layers(const Transformer& model) const {
  std::int64_t dense = model.dense_layers;
  if (const auto dense_ones = find("mlp_only_layers"); dense_ones && dense_ones->is_sequence()) {
    dense += std::ssize(dense_ones->sequence());
  }
  const auto every = find("decoder_sparse_step interleave_moe_layer_step moe_layer_freq");
  if (!every) return dense;
  if (every->is_sequence()) {
    const auto layers = every->sequence();
    return std::count_if(layers.begin(), layers.end(),
                         [](const YamlValue& each) { return each.string() == "0"; });
  }
  const std::int64_t step = every->integer(1, max_dimension);
  return dense + (model.layers - dense) - (model.layers - dense) / step;
}

void ShapeReader::read_experts(Transformer& model) const {
  if (model.experts < 2) {
    model.experts = model.active_experts = 1;
    model.expert_ffn = model.shared_ffn = model.dense_layers = 0;
    return;
  }
  if (model.active_experts == 0)
    fail_missing("num_experts_per_tok", "experts that a token goes to");
  if (model.active_experts > model.experts) {
    find(names_of(&Transformer::active_experts))
        ->fail(fmt::format("{} of {} experts", model.active_experts, model.experts), "at most all");
  }
  if (model.expert_ffn == 0) {
    model.expert_ffn = count("intermediate_size ffn_hidden_size", model.ffn);
  }
  const std::int64_t shared = count("shared_experts n_shared_experts num_shared_experts", 0);
  if (model.shared_ffn == 0) model.shared_ffn = shared * model.expert_ffn;
  model.dense_layers = std::min(model.layers, dense_layers(model));
}

/// Of layers with a window: those that a list names, all but every so many-th, or all.
std::int64_t ShapeReader::window_layers(const Transformer& model) const {
  if (model.window == 0 || !truth("use_sliding_window", true)) return 0;
  if (model.window_layers > 0) return std::min(model.window_layers, model.layers);
  if (const auto types = find("layer_types"); types && types->is_sequence()) {
    const auto layers = types->sequence();
    return std::count_if(layers.begin(), layers.end(), [](const YamlValue& each) {
      return each.string() == "sliding_attention";
    });
  }
  const std::int64_t pattern = count("sliding_window_pattern _sliding_window_pattern", 0);
  return pattern > 0 ? model.layers - model.layers / pattern : model.layers;
}

Transformer ShapeReader::read() const {
  Transformer model;
  for (const ShapeKey& each : shape_keys) {
    const auto value = find(each.names);
    const std::int64_t most = each.value == &Transformer::layers ? max_layers : max_dimension;
    model.*each.value = value ? value->integer(each.least, most) : 0;
  }
  read_network(model);
  require(model);
  read_heads(model);
  read_experts(model);
  model.window_layers = window_layers(model);
  if (model.window_layers == 0) model.window = 0;
  return model;
}

std::vector<Transformer> models_of(const YamlMapping& file) {
  std::string known(other_keys);
  for (const ShapeKey& each : shape_keys)
    known += fmt::format(" {}", split(each.names, ' ').front());
  const auto names = split(known, ' ');
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<Transformer> models;
  for (const YamlValue& each : file.at("models").sequence()) {
    const YamlMapping shape = each.mapping(keys);
    models.push_back(read_shape(shape));
    models.back().name = shape.at("name").string();
  }
  return models;
}

YamlMapping shipped_models() {
  return load_yaml(shipped_file("transformers", "models/data"), "transformers")
      .mapping({"models", "families", "counted"});
}

double read_parameters(const YamlValue& value) {
  constexpr double max_parameters = 1e14;
  const std::string text = value.string();
  const double number = parse_number<double>(text).value_or(0);
  if (number >= 1 && number <= max_parameters) return number;
  value.fail(fmt::format("'{}' is not a number of parameters", text), "such as 25.6e6 or 175e9");
}

/// What configurations of a kind leave out (models/data/transformers.yaml).
std::optional<YamlMapping> model_family(const std::string& type) {
  const auto families = shipped_models().find("families");
  if (!families) return std::nullopt;
  for (const YamlValue& each : families->sequence()) {
    const YamlMapping family = each.free_mapping();
    for (const YamlValue& name : family.at("types").sequence()) {
      if (name.string() == type) return family;
    }
  }
  return std::nullopt;
}

/// A config.json. What has several parts has the model of its text in one of them.
Transformer read_config(const YamlValue& root) {
  std::vector<YamlMapping> places{root.free_mapping()};
  const YamlMapping whole = places.front();
  for (const char* const part : {"text_config", "llm_config", "language_config"}) {
    const auto inner = whole.find(part);
    if (inner && inner->is_mapping()) places.insert(places.begin(), inner->free_mapping());
  }
  for (const char* const part : {"ffn_config", "attn_config"}) {
    const auto inner = whole.find(part);
    if (inner && inner->is_mapping()) places.push_back(inner->free_mapping());
  }
  std::string type;
  for (std::size_t i = places.size(); i-- > 0;) {
    if (const auto named = places[i].find("model_type")) type = named->string();
    for (const auto& [key, value] : places[i].entries()) {
      const bool set = value.is_sequence() || value.is_mapping() ||
                       (value.is_scalar() && value.string() != "false");
      if (!set || !is_word_of(foreign_keys, key.string())) continue;
      key.fail(fmt::format("a model with '{}'", key.string()),
               "layers of attention and a feed-forward network alone");
    }
  }
  if (auto family = model_family(type)) places.push_back(*std::move(family));
  Transformer model = ShapeReader(std::move(places)).read();
  model.sequence = std::min(model.sequence, usual_sequence);
  return model;
}

bool names_file(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const std::string_view path = name.substr(0, colon);
  return name.find('/') != std::string_view::npos || path.ends_with(".yaml") ||
         path.ends_with(".yml") || path.ends_with(".json");
}

/// The one of that name, or the only one where it is empty.
Transformer named_model(std::vector<Transformer> models, std::string_view name,
                        const std::string& of) {
  std::vector<std::string> names;
  for (Transformer& model : models) {
    if (model.name == name || (name.empty() && models.size() == 1)) return std::move(model);
    names.push_back(model.name);
  }
  throw InputError(name.empty()
                       ? fmt::format("--model {}: the file has {} models", of, models.size())
                       : fmt::format("--model: no model '{}'", name),
                   names_instead_of(name, names));
}

Transformer read_model_file(std::string_view name) {
  std::filesystem::path path(name);
  std::string_view inner;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && !std::filesystem::exists(path)) {
    path = name.substr(0, colon);
    inner = name.substr(colon + 1);
  }
  if (std::filesystem::is_directory(path)) path /= "config.json";
  Transformer model =
      read_transformer(read_text_file(path, "a file of models, or a config.json"), inner);
  if (!model.name.empty()) return model;
  const std::filesystem::path whole = std::filesystem::absolute(path);
  model.name = whole.filename() == "config.json" ? whole.parent_path().filename().string()
                                                 : whole.stem().string();
  return model;
}

}  // namespace

std::vector<Transformer> load_transformers() {
  return models_of(shipped_models());
}

Transformer find_transformer(std::string_view name) {
  if (names_file(name)) return read_model_file(name);
  return named_model(load_transformers(), name, "");
}

std::vector<CountedModel> load_counted_models() {
  std::vector<CountedModel> models;
  for (const YamlValue& each : shipped_models().at("counted").sequence()) {
    const YamlMapping keys = each.mapping({"name", "parameters", "source"});
    models.push_back({keys.at("name").string(), read_parameters(keys.at("parameters")),
                      keys.at("source").string()});
  }
  return models;
}

CountedModel count_parameters(const std::string& name) {
  for (CountedModel& each : load_counted_models()) {
    if (each.name == name) return std::move(each);
  }
  return {name, all_parameters(find_transformer(name)), "by its shape"};
}

Transformer read_transformer(const TextFile& text, std::string_view name) {
  const std::size_t first = text.content.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text.content[first] == '{') return read_config(read_json(text));
  return named_model(models_of(read_yaml(text, "transformers").mapping({"models"})), name,
                     text.name);
}

Transformer read_shape(const YamlMapping& keys) {
  return ShapeReader({keys}).read();
}

bool is_shape_key(std::string_view name) {
  return is_word_of(other_keys, name) ||
         std::any_of(shape_keys.begin(), shape_keys.end(),
                     [&](const ShapeKey& each) { return is_word_of(each.names, name); });
}

}  // namespace collsim
