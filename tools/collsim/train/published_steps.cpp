#include "tools/collsim/train/published_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text_file.h"
#include "sim/base/units.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/train/software.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim {

namespace {

/// Of anything that a row counts.
constexpr std::int64_t max_count = 10'000'000;

/// Software of runs before this year had no fused attention.
constexpr std::int64_t flash_attention_year = 2023;

std::optional<double> number_of(const YamlValue& value) {
  const auto number = parse_number<double>(value.string());
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Whether the key says true, as YAML and Python write it; nothing where there is none.
std::optional<bool> truth_in(const YamlMapping& keys, std::string_view key) {
  const auto found = keys.find(key);
  if (!found) return std::nullopt;
  if (found->string() == "True") return true;
  return found->string() != "False" && found->boolean();
}

std::string text_in(const YamlMapping& keys, std::string_view key) {
  const auto found = keys.find(key);
  return found && found->is_scalar() ? found->string() : std::string();
}

bool has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// Why a row cannot be predicted.
struct UnusableRow {
  std::string why;
};

/// Keys that change how a model computes, and are not read, leave its rows out.
void require_known_shape(const YamlMapping& keys) {
  constexpr std::array<std::string_view, 3> others{"params", "active_params", "attention"};
  for (const auto& [key, value] : keys.entries()) {
    const std::string name = key.string();
    if (is_shape_key(name) || std::find(others.begin(), others.end(), name) != others.end())
      continue;
    throw UnusableRow{fmt::format("a model with '{}'", name)};
  }
}

/// Latent attention, of which tables of steps name the kind alone: the ranks are those of the
/// shipped model of that name.
void complete_latent_attention(Transformer& model) {
  for (const Transformer& each : load_transformers()) {
    if (each.name != model.name || each.kv_rank == 0) continue;
    model.query_rank = each.query_rank;
    model.kv_rank = each.kv_rank;
    model.rope_dim = each.rope_dim;
    model.head_dim = each.head_dim;
    model.value_dim = each.value_dim;
    model.dense_layers = each.dense_layers;
    return;
  }
  throw UnusableRow{"latent attention of unknown ranks"};
}

Transformer read_row_shape(const YamlMapping& keys) {
  require_known_shape(keys);
  const auto said = [&](const char* key) { return keys.integer_or(key, 0, max_count, 0) > 0; };
  if (!keys.find("hidden") || !keys.find("layers") || !keys.find("heads") ||
      (!keys.find("ffn") && !keys.find("moe_ffn"))) {
    throw UnusableRow{"no transformer"};
  }
  if (!said("seq") || !said("vocab") || !said("layers") || !said("hidden") || !said("heads") ||
      (!said("ffn") && !said("moe_ffn"))) {
    throw UnusableRow{"no length of a sequence, or no vocabulary"};
  }
  if (keys.integer_or("experts", 0, max_count, 1) > 1 && !said("topk"))
    throw UnusableRow{"experts, of how many is not said"};
  Transformer model = read_shape(keys);
  model.name = text_in(keys, "name");
  if (text_in(keys, "attention") == "MLA" && model.kv_rank == 0) complete_latent_attention(model);
  return model;
}

StepPrecision read_numbers(const std::string& precision, const std::string& notes) {
  // Recipes of fp8 differ in their scales: of a tensor ("fp8-cs", current scaling), of 128 elements
  // ("fp8-block"), of 32 ("mxfp8").
  if (precision.starts_with("fp8") || precision == "mxfp8") return StepPrecision::fp8;
  if (precision == "fp16") return StepPrecision::fp16;
  if (precision == "bf16-pure") return StepPrecision::bf16_pure;
  if (precision == "amp") return StepPrecision::amp;
  if (precision == "bf16") {
    return has(notes, "mode PURE") ? StepPrecision::bf16_pure : StepPrecision::bf16;
  }
  throw UnusableRow{fmt::format("precision {}", precision)};
}

/// Which attention the software of a run had: as its notes say; else that of its time, or its own.
AttentionKind attention_of(const std::string& notes, const TrainingSetup& setup, std::int64_t year,
                           AttentionKind own) {
  if (has(notes, "flash_attentionv1")) return AttentionKind::flash1;
  if (has(notes, "flash_attention2")) return AttentionKind::flash2;
  if (has(notes, "kernel: fused")) return AttentionKind::fused;
  if (has(notes, "kernel: torch")) return AttentionKind::eager;
  if (year < flash_attention_year || setup.precision == StepPrecision::fp16) {
    return AttentionKind::fused;
  }
  return own;
}

void read_layout(const YamlMapping& keys, TrainingSetup& setup) {
  for (const char* const key : {"tp", "pp", "dp"}) {
    if (!keys.find(key)) throw UnusableRow{"no layout"};
  }
  const auto positive = [&](const char* key) {
    return std::max<std::int64_t>(1, keys.integer_or(key, 0, max_count, 1));
  };
  setup.tensor = positive("tp");
  setup.pipeline = positive("pp");
  setup.data = positive("dp");
  setup.context = positive("cp");
  setup.expert = positive("ep");
  setup.interleave = setup.pipeline > 1 ? positive("interleave") : 1;
  setup.zero = keys.integer_or("zero", 0, max_count, 0);
  if (setup.zero > 3) throw UnusableRow{"unknown ZeRO"};
  const std::int64_t shard = keys.integer_or("fsdp", 0, max_count, 0);
  if (setup.zero == 3 && shard > 0 && shard < setup.data) setup.shard = shard;
}

/// What a word of an option's list means; what is wrong with it is said at its place.
template <typename Meaning>
Meaning at_place(const YamlValue& word, Meaning (*find)(std::string_view, std::string_view),
                 const char* key) {
  try {
    return find(key, word.string());
  } catch (const InputError&) {
    word.fail(fmt::format("{}: '{}'", key, word.string()),
              fmt::format("a word of `collsim train --{}`", key));
  }
}

/// What our own recordings say of the software; other sources have no such key.
void read_software(const YamlMapping& keys, TrainingSetup& setup) {
  if (const auto overlap = keys.find("overlap")) setup.overlap_gradients = overlap->boolean();
  if (const auto copies = keys.find("copies")) {
    setup.copies_buckets = true;
    setup.copies_back = copies->boolean();
  }
  if (const auto vocabulary = keys.find("whole_vocabulary")) {
    setup.whole_vocabulary = vocabulary->boolean();
  }
  if (const auto bucket = keys.find("bucket")) setup.bucket = bucket->bytes();
  if (const auto reshard = keys.find("reshard")) setup.reshard = reshard->boolean();
  if (const auto attention = keys.find("attention")) {
    setup.attention = at_place(*attention, find_attention, "attention");
  }
  if (const auto order = keys.find("order")) {
    const std::string name = order->string();
    if (name != "gpipe" && name != "1f1b") order->fail(fmt::format("'{}'", name), "gpipe or 1f1b");
    if (name == "gpipe") setup.order = PipelineOrder::gpipe;
  }
}

/// The software of a row: as it says, or a word of its source; else what its GPU's time had.
TrainingSoftware software_of(const YamlMapping& keys, std::string_view gpu,
                             const std::vector<TrainingSoftware>& known) {
  const TrainingSoftware* const named =
      software_in(known, text_in(keys, "source"), text_in(keys, "notes"));
  if (named != nullptr) return *named;
  const bool recent = !gpu.starts_with("A100") && !gpu.starts_with("V100");
  return find_software(known, "software", recent ? "nemo" : "megatron");
}

/// What a row's software is, and what its notes say of it.
void guess_software(const YamlMapping& keys, TrainingSoftware software, TrainingSetup& setup) {
  const std::string notes = text_in(keys, "notes");
  const YamlMapping parallel = keys.at("parallel").free_mapping();
  software.sequence_parallel = truth_in(parallel, "sp").value_or(software.sequence_parallel);
  if (truth_in(parallel, "async_tp").value_or(false)) software.tensor_overlap = TensorOverlap::all;
  apply_software(software, setup);
  setup.attention =
      attention_of(notes, setup, keys.integer_or("year", 0, max_count, flash_attention_year),
                   software.attention);
  setup.eager_norms = has(notes, "kernel:") && !has(notes, "RMS");
  setup.reshard = !has(notes, "SHARD_GRAD_OP");
}

void read_batches(const YamlMapping& keys, TrainingSetup& setup) {
  setup.micro_batch = std::max<std::int64_t>(1, keys.integer_or("micro_batch", 0, max_count, 1));
  setup.global_batch = keys.integer_or("global_batch", 0, max_count, 0);
  // Where batches do not divide, as in rows that round them, the nearest that does.
  const std::int64_t together = setup.micro_batch * setup.data;
  setup.global_batch =
      std::max<std::int64_t>(1, (setup.global_batch + together / 2) / together) * together;
}

Seconds read_time(const YamlMapping& keys) {
  const auto measured = keys.at("measured").free_mapping();
  const auto time = measured.find("step_s");
  if (!time) throw UnusableRow{"no time of a step"};
  constexpr double quickest = 1e-6;  // one kernel takes longer
  constexpr double slowest = 1e7;    // four months
  const auto seconds = number_of(*time);
  if (!seconds || *seconds < quickest || *seconds > slowest) {
    time->fail(fmt::format("step_s: '{}'", time->string()), "seconds from 1e-6 to 1e7");
  }
  return Seconds{*seconds};
}

/// What PyTorch had allocated at most, in bytes.
double read_peak(const YamlMapping& keys) {
  constexpr double gib = 1 << 30;
  constexpr double most = 1e4;
  const auto peak = keys.at("measured").free_mapping().find("peak_gib");
  if (!peak) return 0;
  const auto number = number_of(*peak);
  if (number && *number > 0 && *number < most) return gib * *number;
  peak->fail(fmt::format("peak_gib: '{}'", peak->string()), "GiB above 0 and below 10,000");
}

/// That the layout is one, of all GPUs.
void require_layout(const TrainingSetup& setup, std::int64_t gpus) {
  const double ranks = static_cast<double>(setup.tensor) * static_cast<double>(setup.pipeline) *
                       static_cast<double>(setup.data) * static_cast<double>(setup.context);
  if (ranks != static_cast<double>(gpus)) {
    throw UnusableRow{"a layout of other than all GPUs"};
  }
  try {
    check_setup(setup);
  } catch (const InputError&) {
    throw UnusableRow{"a layout that cannot be"};
  }
}

/// The network between nodes, and how many GPUs each has.
void read_network(const YamlMapping& keys, PublishedStep& step) {
  const std::int64_t nodes = std::max<std::int64_t>(1, keys.integer_or("nodes", 0, max_count, 1));
  if (step.gpus % nodes != 0) {
    keys.at("nodes").fail(fmt::format("{} GPUs in {} nodes", step.gpus, nodes), "equal nodes");
  }
  step.network = text_in(keys, "interconnect");
  if (step.network.empty()) return;
  try {
    step.wires = read_interconnect(step.network, nodes > 1 ? step.gpus / nodes : 0);
  } catch (const QuantityError& error) {
    keys.at("interconnect").fail(error.wrong(), error.accepted());
  }
}

PublishedStep read_step(const YamlMapping& keys, const std::vector<TrainingSoftware>& known) {
  PublishedStep step;
  step.id = keys.at("id").string();
  step.group = keys.at("group").string();
  step.gpu = text_in(keys, "gpu");
  step.gpus = keys.integer_or("gpus", 0, max_count, 1);
  read_network(keys, step);
  const std::string kind = text_in(keys, "kind");
  if (!kind.empty() && kind != "pretrain")
    throw UnusableRow{fmt::format("{}, not pretraining", kind)};
  if (has(text_in(keys, "notes"), "LoRA")) throw UnusableRow{"most weights are frozen (LoRA)"};
  TrainingSetup& setup = step.setup;
  setup.model = read_row_shape(keys.at("model").free_mapping());
  read_layout(keys.at("parallel").free_mapping(), setup);
  step.measured = read_time(keys);
  step.peak = read_peak(keys);
  setup.precision = read_numbers(text_in(keys, "precision"), text_in(keys, "notes"));
  if (const auto recompute = keys.find("recompute")) {
    setup.recompute = at_place(*recompute, find_recompute, "recompute");
  }
  guess_software(keys, software_of(keys, step.gpu, known), setup);
  if (const auto software = keys.find("software")) read_software(software->free_mapping(), setup);
  step.machine = text_in(keys, "machine");
  if (step.machine.empty() && node_of(step.gpu).empty()) {
    throw UnusableRow{fmt::format("no node of {} is known", step.gpu)};
  }
  if (const auto variables = keys.find("nccl")) {
    const YamlMapping named = variables->free_mapping();
    for (const auto& [name, value] : named.entries()) {
      step.variables[name.string()] = value.string();
    }
  }
  read_batches(keys, setup);
  require_layout(setup, step.gpus);
  return step;
}

}  // namespace

std::string_view node_of(std::string_view gpu) {
  using Node = std::pair<std::string_view, std::string_view>;
  constexpr std::array nodes{Node{"A100", "dgx-a100"},  Node{"H100", "dgx-h100"},
                             Node{"H200", "dgx-h200"},  Node{"H800", "hgx-h800"},
                             Node{"B200", "dgx-b200"},  Node{"B300", "hgx-b300"},
                             Node{"V100", "dgx-1-v100"}};
  for (const auto& [name, node] : nodes) {
    if (gpu.starts_with(name)) return node;
  }
  return {};
}

PublishedSteps load_published_steps(const std::filesystem::path& path) {
  TextFile text = read_text_file(path, "a file of published steps");
  // Files of published steps are older than ours, and begin with their own version.
  constexpr std::string_view own = "\nversion: 1\n";
  const std::size_t place = text.content.find(own);
  if (place != std::string::npos && !has(text.content, "\ncollsim:")) {
    text.content.replace(place, own.size(), "\ncollsim: steps/1\n");
  }
  const YamlMapping root = read_yaml(text, "steps").mapping({"entries"});
  const std::vector<TrainingSoftware> known = load_software();
  PublishedSteps steps;
  for (const YamlValue& entry : root.at("entries").sequence()) {
    try {
      steps.steps.push_back(read_step(entry.free_mapping(), known));
    } catch (const UnusableRow& reason) {
      ++steps.left_out[reason.why];
    }
  }
  return steps;
}

}  // namespace collsim
