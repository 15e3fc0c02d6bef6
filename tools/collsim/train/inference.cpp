#include "tools/collsim/train/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr double half_element = 2;
// What kernels that do little but move data read and write, in bytes of an element. Engines fuse
// them: a norm with the residual before it reads and writes both.
constexpr double fused_norm_bytes = 4 * half_element;
constexpr double turned_bytes = 2 * half_element;        // q and k rotated, k and v into the cache
constexpr double gated_middle_bytes = 3 * half_element;  // two read, one written
constexpr double plain_middle_bytes = 2 * half_element;
constexpr double sampled_bytes = 8;  // a logit in fp32: written, read
constexpr double causal_half = 0.5;
constexpr double attention_products = 4;  // flops of both, per token, key and width
/// Kernels of one half of a layer, about; norm, product, rotation, attention, product.
constexpr std::uint32_t kernels_of_half = 5;
/// Ops that a layer's issue is divided over: two runs of kernels, two calls.
constexpr double ops_of_layer = 4;
/// CUDA's context and libraries take about 1 GiB of a GPU, NCCL's buffers as much again.
constexpr double reserved_bytes = 2.0 * (1 << 30);

/// Sizes of a layer as one rank has them.
struct RankWidths {
  double hidden;
  double query;
  double keys_and_values;  ///< as a cache has them
  double middle;

  explicit RankWidths(const InferenceSetup& setup)
      : hidden(static_cast<double>(setup.model.hidden)),
        query(query_width(setup.model) / static_cast<double>(setup.tensor)),
        keys_and_values(cache_width(setup.model, setup.tensor)),
        middle(middle_width(setup.model) / static_cast<double>(setup.tensor)) {}
};

/// Tokens that a step computes on a replica.
double computed_tokens(const InferenceSetup& setup) {
  const bool decodes = setup.phase == InferencePhase::decode;
  return static_cast<double>(setup.batch * (decodes ? 1 + setup.guessed : setup.context) +
                             setup.chunk);
}

/// Makes the program of one step.
class InferenceWriter {
 public:
  InferenceWriter(const InferenceSetup& setup, const KernelTimes& kernels)
      : setup_(setup), kernels_(kernels), widths_(setup), rows_(computed_tokens(setup)) {}

  CallProgram write(Rank per_node);

 private:
  Seconds product(double m, double n, double k) const {
    return kernels_.best_product(m, n, k, setup_.fp8);
  }
  Seconds attention_time() const;
  Seconds scores_time(double result) const;
  Seconds network_time(double rows, std::int64_t ffn) const;
  Seconds feed_forward_time() const;
  void add_kernels(const char* name, Seconds time);
  void add_call(ProgramCallKind kind, double bytes);
  void add(ProgramOp op);

  const InferenceSetup& setup_;
  const KernelTimes& kernels_;
  RankWidths widths_;
  double rows_;
  CallProgram program_;
};

Seconds InferenceWriter::attention_time() const {
  const Transformer& model = setup_.model;
  const double result = result_width(model) / static_cast<double>(setup_.tensor);
  Seconds time = kernels_.between_products(fused_norm_bytes * rows_ * widths_.hidden);
  double turned = widths_.query + widths_.keys_and_values;
  if (model.kv_rank == 0) {
    time += product(rows_, turned, widths_.hidden);
  } else {
    // Decoding, what leads up from latent keys and values is multiplied into queries and results:
    // the same weights and the same products.
    LayerShare share;
    share.tokens = rows_;
    share.tensor = setup_.tensor;
    for (const LayerProduct& each : query_products(model, share)) {
      time += product(each.m, each.n, each.k);
    }
  }
  time += kernels_.between_products(turned_bytes * rows_ * turned) +
          product(rows_, widths_.hidden, result);
  return time + scores_time(result);
}

/// What tokens and the keys and values before them take.
Seconds InferenceWriter::scores_time(double result) const {
  const Transformer& model = setup_.model;
  const auto context = static_cast<double>(setup_.context);
  const auto of_prompt = [&](double rows) {
    const double flops = attention_products / 2 * rows * context * (widths_.query + result);
    return kernels_.attention(attended_share(model, setup_.context) * flops, false, false);
  };
  if (setup_.phase == InferencePhase::prefill) return of_prompt(rows_);
  // A chunk is attended as the mean of all chunks of its prompt.
  const Seconds chunk = setup_.chunk > 0 ? of_prompt(static_cast<double>(setup_.chunk)) : Seconds{};
  const auto sequences = static_cast<double>(setup_.batch);
  const double cached = sequences * cached_tokens(model, setup_.context);
  const Seconds time =
      chunk + kernels_.cached_attention(half_element * widths_.keys_and_values * cached);
  if (model.kv_rank == 0) return time;
  const double tokens = static_cast<double>(1 + setup_.guessed) * cached;
  // All heads read the same latent keys and values, so that multiplying may take longer.
  const double heads = static_cast<double>(model.heads) / static_cast<double>(setup_.tensor);
  const double width = heads * static_cast<double>(2 * model.kv_rank + model.rope_dim);
  return std::max(
      time, chunk + kernels_.attention(attention_products / 2 * tokens * width, false, false));
}

/// Both products of a feed-forward network.
Seconds InferenceWriter::network_time(double rows, std::int64_t ffn) const {
  if (ffn == 0) return {};
  const double width = static_cast<double>(ffn) / static_cast<double>(setup_.tensor);
  return product(rows, (setup_.model.gated ? 2 : 1) * width, widths_.hidden) +
         product(rows, widths_.hidden, width);
}

Seconds InferenceWriter::feed_forward_time() const {
  const Transformer& model = setup_.model;
  const double with_experts = expert_layers_share(model);
  Seconds networks = (1 - with_experts) * network_time(rows_, model.ffn);
  if (with_experts > 0) {
    const auto experts = static_cast<double>(model.experts);
    const auto active = static_cast<double>(model.active_experts);
    // Of E experts, n tokens that choose a of them each miss one with probability (1 - a / E)^n.
    const double met = experts * (1 - std::pow(1 - active / experts, rows_));
    const double rows = std::max(1.0, rows_ * active / met);
    networks += with_experts * (met * network_time(rows, expert_width(model)) +
                                network_time(rows_, model.shared_ffn));
  }
  const double middle = model.gated ? gated_middle_bytes : plain_middle_bytes;
  return kernels_.between_products(fused_norm_bytes * rows_ * widths_.hidden) + networks +
         kernels_.between_products(middle * rows_ * widths_.middle);
}

void InferenceWriter::add(ProgramOp op) {
  if (!setup_.graph) op.host = (1 / ops_of_layer) * kernels_.constants().host_forward;
  program_.groups.back().ops.push_back(std::move(op));
}

void InferenceWriter::add_kernels(const char* name, Seconds time) {
  ProgramOp op;
  op.name = name;
  op.compute = time;
  op.kernels = kernels_of_half;
  add(std::move(op));
}

void InferenceWriter::add_call(ProgramCallKind kind, double bytes) {
  if (setup_.tensor < 2) return;
  ProgramOp op;
  op.name = to_string(kind);
  op.calls = {{0, kind, Bytes{std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes))}}};
  add(std::move(op));
}

CallProgram InferenceWriter::write(Rank per_node) {
  const Transformer& model = setup_.model;
  program_.name = model.name;
  RankGroup group;
  group.name = "all";
  for (std::int64_t i = 0; i < setup_.ranks(); ++i) group.ranks.push_back(static_cast<Rank>(i));
  group.streams = {"compute"};
  if (setup_.tensor > 1) {
    ProgramCommunicator tensor;
    tensor.name = "tp";
    tensor.groups = {0};
    tensor.ranks.assign(group.ranks.begin(), group.ranks.begin() + setup_.tensor);
    program_.communicators.push_back(std::move(tensor));
  }
  program_.groups.push_back(std::move(group));
  const double activations = half_element * rows_ * widths_.hidden;
  add_kernels("embedding", kernels_.moved(2 * activations));
  add_call(ProgramCallKind::all_reduce, activations);
  const Seconds attention = attention_time();
  const Seconds feed_forward = feed_forward_time();
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add_kernels("attention", attention);
    add_call(ProgramCallKind::all_reduce, activations);
    add_kernels("feed-forward", feed_forward);
    add_call(ProgramCallKind::all_reduce, activations);
  }
  // Of each sequence its last token, and those that are guessed.
  const auto sequences = static_cast<double>(setup_.batch * (1 + setup_.guessed));
  const auto vocabulary = static_cast<double>(model.vocabulary);
  add_kernels("head",
              kernels_.moved(fused_norm_bytes * sequences * widths_.hidden) +
                  kernels_.best_product(sequences, vocabulary / static_cast<double>(setup_.tensor),
                                        widths_.hidden));
  add_call(ProgramCallKind::all_gather, half_element * sequences * vocabulary);
  add_kernels("sampling", kernels_.moved(sampled_bytes * sequences * vocabulary));
  count_alike(program_, per_node);
  return std::move(program_);
}

void require(bool holds, const std::string& wrong, const std::string& accepted) {
  if (!holds) throw InputError(wrong, accepted);
}

}  // namespace

void check_inference(const InferenceSetup& setup) {
  const Transformer& model = setup.model;
  require(model.heads % setup.tensor == 0,
          fmt::format("--tp {}: '{}' has {} heads", setup.tensor, model.name, model.heads),
          "a number that divides them");
}

double tokens_of_step(const InferenceSetup& setup) {
  double tokens = 1;
  double right = 1;
  for (std::int64_t i = 0; i < setup.guessed; ++i) tokens += right *= setup.accepted;
  return tokens;
}

double cache_bytes_per_token(const InferenceSetup& setup) {
  return half_element * cache_width(setup.model, setup.tensor) *
         static_cast<double>(setup.model.layers);
}

InferenceMemory inference_memory(const InferenceSetup& setup) {
  const auto tensor = static_cast<double>(setup.tensor);
  const Transformer& model = setup.model;
  const double ends = vocabulary_matrices(model) * embedding_parameters(model);
  InferenceMemory memory;
  memory.weights =
      ((setup.fp8 ? 1 : half_element) * (all_parameters(model) - ends) + half_element * ends) /
      tensor;
  memory.cache = cache_bytes_per_token(setup) * static_cast<double>(setup.batch) *
                 cached_tokens(model, setup.context);
  const RankWidths widths(setup);
  const double gate = model.gated ? 2 : 1;
  // What a layer has at a time: the residual, its norm, the feed-forward network's middle; logits.
  memory.other =
      reserved_bytes +
      half_element * computed_tokens(setup) * (2 * widths.hidden + gate * widths.middle) +
      sampled_bytes * static_cast<double>(setup.batch) * static_cast<double>(model.vocabulary);
  return memory;
}

CallProgram inference_program(const InferenceSetup& setup, const KernelTimes& kernels,
                              Rank per_node) {
  return InferenceWriter(setup, kernels).write(per_node);
}

InferencePrediction predict_inference(StepMachine& machine, const InferenceSetup& setup) {
  check_inference(setup);
  require(setup.ranks() <= std::int64_t{machine.gpus()},
          fmt::format("{} replicas of {} ranks", setup.replicas, setup.tensor),
          fmt::format("at most the machine's {} GPUs", machine.gpus()));
  const ProgramSchedule times =
      machine.schedule(inference_program(setup, machine.kernels(), machine.per_node()));
  const GroupSchedule& group = times.groups.front();
  InferencePrediction step;
  const Seconds added = setup.phase == InferencePhase::decode ? setup.engine.token : Seconds{};
  step.time = times.time + added;
  step.computes = group.computes;
  step.waits = group.waits + added;
  for (const auto& [name, time] : group.exposed) step.exposed += time;
  step.memory = inference_memory(setup);
  const double usable = usable_memory * static_cast<double>(machine.kernels().gpu().holds.count);
  step.fits = step.memory.all() <= usable;
  const double of_sequence =
      cache_bytes_per_token(setup) * cached_tokens(setup.model, setup.context) +
      (step.memory.other - reserved_bytes) / static_cast<double>(setup.batch);
  step.max_sequences = static_cast<std::int64_t>(
      std::max(0.0, (usable - step.memory.weights - reserved_bytes) / of_sequence));
  if (setup.phase == InferencePhase::prefill) {
    step.tokens_per_second =
        static_cast<double>(setup.replicas) * computed_tokens(setup) / step.time.value;
    return step;
  }
  step.tokens_per_user = tokens_of_step(setup) / step.time.value;
  step.tokens_per_second = static_cast<double>(setup.replicas * setup.batch) * step.tokens_per_user;
  if (setup.chunk > 0) {
    const std::int64_t steps = (setup.context + setup.chunk - 1) / setup.chunk;
    step.prompt = static_cast<double>(steps) * step.time;
  }
  return step;
}

}  // namespace collsim
