#include "models/workload/published_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// Of anything that a row counts.
constexpr std::int64_t max_count = 10'000'000;

/// Software of runs before this year had no fused attention.
constexpr std::int64_t flash_attention_year = 2023;

std::optional<double> number_of(const YamlValue& value) {
  const std::string text = value.string();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

/// The count of that key, or `otherwise` where there is none or another kind of value.
std::int64_t count_in(const YamlMapping& keys, std::string_view key, std::int64_t otherwise) {
  const auto found = keys.find(key);
  if (!found || !found->is_scalar()) return otherwise;
  const auto number = number_of(*found);
  if (!number || *number < 0 || *number > static_cast<double>(max_count)) return otherwise;
  return static_cast<std::int64_t>(*number);
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

Transformer read_shape(const YamlMapping& keys) {
  Transformer model;
  model.name = text_in(keys, "name");
  if (!keys.find("hidden") || !keys.find("layers") || !keys.find("heads") || !keys.find("ffn")) {
    throw UnusableRow{"no transformer"};
  }
  model.layers = count_in(keys, "layers", 0);
  model.hidden = count_in(keys, "hidden", 0);
  model.heads = count_in(keys, "heads", 0);
  model.kv_heads = count_in(keys, "kv_heads", model.heads);
  model.ffn = count_in(keys, "ffn", 0);
  model.vocabulary = count_in(keys, "vocab", 0);
  model.sequence = count_in(keys, "seq", 0);
  model.gated = text_in(keys, "gated") == "true" || text_in(keys, "gated") == "True";
  model.experts = std::max<std::int64_t>(1, count_in(keys, "experts", 1));
  model.active_experts = std::max<std::int64_t>(1, count_in(keys, "topk", 1));
  if (model.sequence < 1 || model.vocabulary < 1 || model.layers < 1 || model.hidden < 1 ||
      model.heads < 1 || model.ffn < 1) {
    throw UnusableRow{"no length of a sequence, or no vocabulary"};
  }
  return model;
}

StepPrecision read_numbers(const std::string& precision, const std::string& notes) {
  if (precision == "fp8") return StepPrecision::fp8;
  if (precision == "fp16") return StepPrecision::fp16;
  if (precision == "bf16-pure") return StepPrecision::bf16_pure;
  if (precision == "amp") return StepPrecision::amp;
  if (precision == "bf16") {
    return has(notes, "mode PURE") ? StepPrecision::bf16_pure : StepPrecision::bf16;
  }
  throw UnusableRow{fmt::format("precision {}", precision)};
}

/// Which attention the software of a run had: as its notes say; else that of its time.
AttentionKind attention_of(const std::string& notes, const TrainingSetup& setup,
                           std::int64_t year) {
  if (has(notes, "flash_attentionv1")) return AttentionKind::flash1;
  if (has(notes, "flash_attention2")) return AttentionKind::flash2;
  if (has(notes, "kernel: fused")) return AttentionKind::fused;
  if (has(notes, "kernel: torch")) return AttentionKind::eager;
  if (year < flash_attention_year || setup.precision == StepPrecision::fp16) {
    return AttentionKind::fused;
  }
  // MosaicML's models are benchmarked with Triton's kernel, which ALiBi needs.
  return setup.model.name.starts_with("mpt") ? AttentionKind::flash1 : AttentionKind::flash2;
}

void read_layout(const YamlMapping& keys, TrainingSetup& setup) {
  for (const char* const key : {"tp", "pp", "dp"}) {
    const auto found = keys.find(key);
    if (!found || !number_of(*found)) throw UnusableRow{"no layout"};
  }
  const auto positive = [&](const char* key) {
    return std::max<std::int64_t>(1, count_in(keys, key, 1));
  };
  setup.tensor = positive("tp");
  setup.pipeline = positive("pp");
  setup.data = positive("dp");
  setup.context = positive("cp");
  setup.expert = positive("ep");
  setup.interleave = setup.pipeline > 1 ? positive("interleave") : 1;
  setup.zero = count_in(keys, "zero", 0);
  if (setup.zero > 3) throw UnusableRow{"unknown ZeRO"};
  const std::int64_t shard = count_in(keys, "fsdp", 0);
  if (setup.zero == 3 && shard > 0 && shard < setup.data) setup.shard = shard;
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
    setup.attention = find_attention("attention", attention->string());
  }
  if (const auto order = keys.find("order"); order && order->string() == "gpipe") {
    setup.order = PipelineOrder::gpipe;
  }
}

/// What notes and the time of a row say of its software, where it does not say it itself.
void guess_software(const YamlMapping& keys, std::string_view gpu, TrainingSetup& setup) {
  const std::string notes = text_in(keys, "notes");
  setup.attention = attention_of(notes, setup, count_in(keys, "year", flash_attention_year));
  setup.eager_norms = has(notes, "kernel:") && !has(notes, "RMS");
  const bool recent = !gpu.starts_with("A100") && !gpu.starts_with("V100");
  const std::string sequence_parallel = text_in(keys.at("parallel").free_mapping(), "sp");
  setup.sequence_parallel = sequence_parallel.empty()
                                ? recent
                                : sequence_parallel == "true" || sequence_parallel == "True";
  if (setup.tensor == 1) setup.sequence_parallel = false;
  setup.overlap_gradients = recent;
  // NVIDIA's recipes for these GPUs cut products into pieces (ub_tp_comm_overlap).
  if (recent && setup.sequence_parallel) setup.tensor_overlap = TensorOverlap::all;
  setup.reshard = !has(notes, "SHARD_GRAD_OP");
  // Megatron (with "scatter/gather") and DeepSpeed send a part from each tensor-parallel rank.
  // Another framework is named by the kernels that its rows compare.
  setup.whole_messages = has(notes, "kernel:");
}

void read_batches(const YamlMapping& keys, TrainingSetup& setup) {
  setup.micro_batch = std::max<std::int64_t>(1, count_in(keys, "micro_batch", 1));
  setup.global_batch = count_in(keys, "global_batch", 0);
  // Where batches do not divide, as in rows that round them, the nearest that does.
  const std::int64_t together = setup.micro_batch * setup.data;
  setup.global_batch =
      std::max<std::int64_t>(1, (setup.global_batch + together / 2) / together) * together;
}

Seconds read_time(const YamlMapping& keys) {
  const auto measured = keys.at("measured").free_mapping();
  const auto time = measured.find("step_s");
  const auto seconds = time ? number_of(*time) : std::nullopt;
  constexpr double quickest = 1e-6;  // one kernel takes longer
  constexpr double slowest = 1e7;    // four months
  if (!seconds || *seconds < quickest || *seconds > slowest) throw UnusableRow{"no time of a step"};
  return Seconds{*seconds};
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

PublishedStep read_step(const YamlMapping& keys) {
  PublishedStep step;
  step.id = keys.at("id").string();
  step.group = keys.at("group").string();
  step.gpu = text_in(keys, "gpu");
  step.gpus = count_in(keys, "gpus", 1);
  step.network = text_in(keys, "interconnect");
  const std::string kind = text_in(keys, "kind");
  if (!kind.empty() && kind != "pretrain")
    throw UnusableRow{fmt::format("{}, not pretraining", kind)};
  if (has(text_in(keys, "notes"), "LoRA")) throw UnusableRow{"most weights are frozen (LoRA)"};
  TrainingSetup& setup = step.setup;
  setup.model = read_shape(keys.at("model").free_mapping());
  read_layout(keys.at("parallel").free_mapping(), setup);
  step.measured = read_time(keys);
  setup.precision = read_numbers(text_in(keys, "precision"), text_in(keys, "notes"));
  const std::string recompute = text_in(keys, "recompute");
  if (recompute == "full") setup.recompute = Recompute::full;
  if (recompute == "selective") setup.recompute = Recompute::selective;
  guess_software(keys, step.gpu, setup);
  if (const auto software = keys.find("software")) {
    // What says all of its software is sequence parallel where it says so, and calls wait.
    setup.tensor_overlap = TensorOverlap::none;
    if (!keys.at("parallel").free_mapping().find("sp")) setup.sequence_parallel = false;
    read_software(software->free_mapping(), setup);
  }
  step.machine = text_in(keys, "machine");
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

PublishedSteps load_published_steps(const std::filesystem::path& path) {
  TextFile text = read_text_file(path, "a file of published steps");
  // Files of published steps are older than ours, and begin with their own version.
  constexpr std::string_view own = "\nversion: 1\n";
  const std::size_t place = text.content.find(own);
  if (place != std::string::npos && !has(text.content, "\ncollsim:")) {
    text.content.replace(place, own.size(), "\ncollsim: steps/1\n");
  }
  const YamlMapping root = read_yaml(text, "steps").mapping({"entries"});
  PublishedSteps steps;
  for (const YamlValue& entry : root.at("entries").sequence()) {
    try {
      steps.steps.push_back(read_step(entry.free_mapping()));
    } catch (const UnusableRow& reason) {
      ++steps.left_out[reason.why];
    }
  }
  return steps;
}

}  // namespace collsim
