#include "tools/collsim/train/training_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "tools/collsim/train/pipeline_order.h"
#include "tools/collsim/train/tensor_calls.h"

namespace collsim {

namespace {

constexpr double parameter_element = 2;
constexpr double copied = 2;  // read and written
/// Kernels of a layer's pass, about: calls wait for the one that runs.
constexpr double kernels_of_layer = 12;
/// Layers whose parameters ZeRO 3 has gathered at a time: the one that runs and the next.
constexpr std::size_t gathered_layers = 2;

enum Stream : std::uint32_t {
  compute_stream,
  gather_stream,
  reduce_stream,
  receive_forward,
  send_forward,
  receive_backward,
  send_backward,
  context_stream,
};
constexpr std::array stream_names{"compute", "gather",    "reduce",      "from previous",
                                  "to next", "from next", "to previous", "context"};

Bytes bytes_of(double bytes) {
  return Bytes{std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes))};
}

using Index = std::uint32_t;

/// Makes the program of one step.
class StepWriter {
 public:
  StepWriter(const TrainingSetup& setup, const KernelTimes& kernels, std::int64_t microbatches,
             Rank per_node);

  CallProgram write();

 private:
  void add_communicators(std::int64_t stage);
  std::optional<Index> add_communicator(const char* name, std::int64_t stage, std::int64_t stride,
                                        std::int64_t ranks);
  void write_stage(std::int64_t stage);
  void write_pass(std::int64_t stage, const PipelinePass& pass);
  Index write_layers(std::int64_t stage, const PipelinePass& pass, std::vector<Index> after);
  /// A part of a backward pass: what it takes, and the tensors whose gradients it makes.
  struct BackwardPart {
    Seconds time;
    std::vector<double> tensors;  ///< elements of each
    LayerPart layers;
    bool of_experts = false;  ///< that are on several ranks
  };
  /// Gradients that the same ranks reduce, in buckets.
  struct GradientQueue {
    std::optional<Index> over{};
    std::vector<double> tensors{};  ///< bytes of each
    std::vector<std::size_t> ends{};
    std::size_t ready = 0;
    std::size_t next = 0;  ///< bucket
    std::size_t reduced = 0;
  };
  std::array<GradientQueue, 2> queues_of(const std::vector<BackwardPart>& parts) const;
  std::vector<BackwardPart> backward_parts(std::int64_t stage, const PipelinePass& pass) const;
  void write_overlapped_backward(std::int64_t stage, const PipelinePass& pass,
                                 std::vector<Index> after);
  void reduce_bucket(const std::optional<Index>& over, double bytes, Index ready);
  void reduce_ready(GradientQueue& queue, Index ready);
  void reduce(const RankParameters& parameters, double share);
  void write_end(std::int64_t stage);
  Index gather(const RankParameters& parameters, std::vector<Index> after);
  Seconds gathered_copies(const RankParameters& parameters) const;
  void write_gathered_layers(std::int64_t stage, const PipelinePass& pass,
                             std::vector<Index> after);
  std::int64_t sharers() const {
    return setup_.shard > 0 ? setup_.shard : setup_.data * setup_.context;
  }
  void write_sharded_stage();
  void write_optimizer(double parameters, std::vector<Index> after);
  Index add(ProgramOp op);
  Index call(ProgramCallKind kind, Index communicator, double bytes, Stream stream,
             std::vector<Index> after, std::uint32_t peer = 0);
  std::vector<ProgramCall> inner_calls(const LayerPart& part, bool backward) const;
  std::vector<ProgramCall> context_calls(double layers, bool backward) const;
  Index add_pass(ProgramOp op, const LayerPart& part, bool backward);
  void add_head_call(ProgramOp& op) const;
  Seconds layers_time(double layers, bool backward) const;
  Seconds ends_time(std::int64_t stage, const PipelinePass& pass) const;
  bool is_first(std::int64_t stage, const PipelinePass& pass) const {
    return stage == 0 && pass.chunk == 0;
  }
  bool is_last(std::int64_t stage, const PipelinePass& pass) const {
    return stage == setup_.pipeline - 1 && pass.chunk == setup_.interleave - 1;
  }

  const TrainingSetup& setup_;
  const KernelTimes& kernels_;
  std::int64_t microbatches_;
  Rank per_node_;
  LayerTimes layer_;
  ProductTimes products_;
  PassTimes head_;
  PassTimes embedding_;
  RankParameters layer_parameters_;
  double embedding_parameters_;
  CallProgram program_;
  // Of the stage that is written.
  std::optional<Index> tensor_, context_, data_, copies_, expert_;
  std::optional<Index> experts_data_;  // of ranks with the same experts
  std::vector<Index> reductions_;
  std::optional<Index> last_compute_;
  std::optional<Index> last_send_;
  std::optional<Index> exchange_;  // of keys and values, which the next pass waits for
  std::vector<Index> next_links_;  // communicators of stage s and s + 1
};

StepWriter::StepWriter(const TrainingSetup& setup, const KernelTimes& kernels,
                       std::int64_t microbatches, Rank per_node)
    : setup_(setup), kernels_(kernels), microbatches_(microbatches), per_node_(per_node) {
  const LayerShare share = layer_share(setup);
  layer_ = layer_times(kernels, setup.model, share);
  products_ = product_times(kernels, setup.model, share);
  head_ = head_times(kernels, setup.model, share);
  embedding_ = embedding_times(kernels, setup.model, share);
  embedding_parameters_ = rank_vocabulary_parameters(setup);
  layer_parameters_ = rank_layer_parameters(setup);
}

Index StepWriter::add(ProgramOp op) {
  auto& ops = program_.groups.back().ops;
  ops.push_back(std::move(op));
  return static_cast<Index>(ops.size() - 1);
}

Index StepWriter::call(ProgramCallKind kind, Index communicator, double bytes, Stream stream,
                       std::vector<Index> after, std::uint32_t peer) {
  ProgramOp op;
  op.name = to_string(kind);
  op.stream = stream;
  op.calls = {{communicator, kind, bytes_of(bytes), peer}};
  op.after = std::move(after);
  return add(std::move(op));
}

std::optional<Index> StepWriter::add_communicator(const char* name, std::int64_t stage,
                                                  std::int64_t stride, std::int64_t ranks) {
  if (ranks < 2) return std::nullopt;
  const std::int64_t first = stage * setup_.ranks() / setup_.pipeline;
  ProgramCommunicator communicator;
  communicator.name = name;
  communicator.groups = {static_cast<std::uint32_t>(stage)};
  for (std::int64_t i = 0; i < ranks; ++i) {
    communicator.ranks.push_back(static_cast<Rank>(first + i * stride));
  }
  program_.communicators.push_back(std::move(communicator));
  return static_cast<Index>(program_.communicators.size() - 1);
}

void StepWriter::add_communicators(std::int64_t stage) {
  const std::int64_t replicas = setup_.data * setup_.context;
  const std::int64_t shard = setup_.zero >= 3 && setup_.shard > 0 ? setup_.shard : replicas;
  tensor_ = add_communicator("tp", stage, 1, setup_.tensor);
  context_ = add_communicator("cp", stage, setup_.tensor, setup_.context);
  data_ = add_communicator("dp", stage, setup_.tensor, shard);
  copies_ = add_communicator("copies", stage, setup_.tensor * shard, replicas / shard);
  expert_ = add_communicator("ep", stage, setup_.tensor, setup_.expert);
  // Where each rank has all experts, their gradients are among the others.
  const std::int64_t alike = setup_.expert > 1 ? replicas / setup_.expert : 1;
  experts_data_ = add_communicator("dp", stage, setup_.tensor * setup_.expert, alike);
}

std::vector<ProgramCall> StepWriter::inner_calls(const LayerPart& part, bool backward) const {
  std::vector<ProgramCall> calls;
  const double layers = part.layers();
  const LayerShare share = layer_share(setup_);
  const double bytes = activation_element * share.tokens * static_cast<double>(setup_.model.hidden);
  // Two places in a layer, forward, backward and once more where all is computed again.
  const double times = 2 * layers * (backward && setup_.recompute == Recompute::full ? 2 : 1);
  const auto count = static_cast<std::uint32_t>(std::lround(times));
  if (tensor_) calls = tensor_calls(setup_, products_, *tensor_, part, backward);
  if (expert_ && count > 0) {
    const double routed = bytes * static_cast<double>(setup_.model.active_experts) /
                          (setup_.sequence_parallel ? static_cast<double>(setup_.tensor) : 1);
    calls.push_back({*expert_, ProgramCallKind::all_to_all, bytes_of(routed), 0, count});
  }
  if (context_ && setup_.gathers_context && count > 0) {
    for (const ProgramCall& each : context_calls(layers, backward)) calls.push_back(each);
  }
  return calls;
}

/// Context parallelism: each rank gets keys and values of the whole sequence, once more for the
/// backward pass, which adds up their gradients. In a ring as many bytes pass as are gathered.
std::vector<ProgramCall> StepWriter::context_calls(double layers, bool backward) const {
  const double tokens = layer_share(setup_).tokens * static_cast<double>(setup_.context);
  const double bytes = activation_element * tokens * key_value_width(setup_.model) /
                       static_cast<double>(setup_.tensor);
  std::vector<ProgramCall> calls;
  // Of half a layer, half of it: what is computed between two calls may be less than a layer.
  const auto add = [&](ProgramCallKind kind, double times) {
    const double count = setup_.gathers_context ? std::max(1.0, std::round(times)) : 1;
    calls.push_back(
        {*context_, kind, bytes_of(bytes * times / count), 0, static_cast<std::uint32_t>(count)});
  };
  add(ProgramCallKind::all_gather,
      layers * (backward && setup_.recompute == Recompute::full ? 2 : 1));
  if (backward) add(ProgramCallKind::reduce_scatter, layers);
  return calls;
}

/// Adds the kernels of so many layers, with their calls. A ring of context parallelism runs beside
/// them (Ring Attention, arXiv:2310.01889), and what comes next waits for both.
Index StepWriter::add_pass(ProgramOp op, const LayerPart& part, bool backward) {
  for (const ProgramCall& each : inner_calls(part, backward)) op.inner.push_back(each);
  if (setup_.software.copies_sequences && setup_.sequence_parallel) {
    for (const ProgramCall& each : op.inner) {
      if (each.communicator != tensor_) continue;
      op.compute += each.count * kernels_.put_in_order(static_cast<double>(each.bytes.count));
    }
  }
  if (exchange_) op.after.push_back(*exchange_);
  const bool exchanges = context_ && !setup_.gathers_context && part.layers() > 0;
  if (!exchanges) return add(std::move(op));
  ProgramOp exchange;
  exchange.name = "keys and values";
  exchange.stream = context_stream;
  exchange.calls = context_calls(part.layers(), backward);
  exchange.after = op.after;
  if (last_compute_) exchange.after.push_back(*last_compute_);
  exchange_ = add(std::move(exchange));
  return add(std::move(op));
}

/// Of so many layers, no less than the host takes to issue them.
Seconds StepWriter::layers_time(double layers, bool backward) const {
  const Seconds host = host_of_layer(setup_, kernels_.constants(), backward);
  if (!backward) return layers * std::max(layer_.all.forward, host);
  Seconds time = layer_.all.backward;
  if (setup_.recompute == Recompute::full) {
    time += layer_.all.forward;
  } else if (setup_.recompute == Recompute::selective) {
    time += layer_.attention.forward;
  }
  return layers * std::max(time, host);
}

/// Logits that each tensor-parallel rank has whole are gathered in the forward pass.
void StepWriter::add_head_call(ProgramOp& op) const {
  const LayerShare share = layer_share(setup_);
  if (!tensor_ || !share.whole_logits) return;
  const double logits = share.tokens * static_cast<double>(setup_.model.vocabulary);
  op.inner.push_back(
      {*tensor_, ProgramCallKind::all_gather, bytes_of(activation_element * logits), 0, 1});
}

/// Of the embedding and the head, where the chunk has them.
Seconds StepWriter::ends_time(std::int64_t stage, const PipelinePass& pass) const {
  Seconds time;
  if (is_first(stage, pass)) time += pass.backward ? embedding_.backward : embedding_.forward;
  if (is_last(stage, pass)) time += pass.backward ? head_.backward : head_.forward;
  return time;
}

/// Reduces gradients to the ranks that hold them, and among copies.
void StepWriter::reduce_bucket(const std::optional<Index>& over, double bytes, Index ready) {
  if (bytes <= 0) return;
  const auto kind =
      setup_.zero >= 1 ? ProgramCallKind::reduce_scatter : ProgramCallKind::all_reduce;
  if (over) {
    ready = call(kind, *over, bytes, reduce_stream, {ready});
    reductions_.push_back(ready);
  }
  if (!copies_) return;
  const double part = bytes / static_cast<double>(setup_.shard);
  reductions_.push_back(call(ProgramCallKind::all_reduce, *copies_, part, reduce_stream, {ready}));
}

/// A share of the gradients of so many parameters, once the last pass is done.
void StepWriter::reduce(const RankParameters& parameters, double share) {
  const double bytes = share * gradient_bytes_of(setup_.precision);
  reduce_bucket(data_, bytes * parameters.dense, *last_compute_);
  reduce_bucket(experts_data_, bytes * parameters.experts, *last_compute_);
}

/// The last backward pass through a chunk, in half layers: the feed-forward network's comes first.
std::vector<StepWriter::BackwardPart> StepWriter::backward_parts(std::int64_t stage,
                                                                 const PipelinePass& pass) const {
  const std::int64_t layers = chunk_layers(setup_, stage, pass.chunk);
  const double ffn = feed_forward_parameters(setup_.model) / layer_parameters(setup_.model);
  const bool spread = layer_parameters_.experts > 0;
  const double of_ffn = spread ? layer_parameters_.experts : ffn * layer_parameters_.dense;
  const double others = layer_parameters_.all() - of_ffn;
  std::vector<BackwardPart> parts;
  if (is_last(stage, pass)) parts.push_back({head_.backward, {embedding_parameters_}, {}});
  for (std::int64_t i = 0; i < layers; ++i) {
    const Seconds time = layers_time(1, true);
    const std::size_t matrices = setup_.model.gated ? 3 : 2;
    parts.push_back({ffn * time,
                     std::vector<double>(matrices, of_ffn / static_cast<double>(matrices)),
                     {0, 1},
                     spread});
    parts.push_back({(1 - ffn) * time, {others / 4, others * 3 / 4}, {1, 0}});
  }
  if (is_first(stage, pass)) parts.push_back({embedding_.backward, {embedding_parameters_}, {}});
  return parts;
}

/// The gradients of a backward pass: of all data-parallel ranks, and of experts.
std::array<StepWriter::GradientQueue, 2> StepWriter::queues_of(
    const std::vector<BackwardPart>& parts) const {
  const double element = gradient_bytes_of(setup_.precision);
  std::array<GradientQueue, 2> queues{GradientQueue{data_}, GradientQueue{experts_data_}};
  for (const BackwardPart& part : parts) {
    std::vector<double>& tensors = queues[part.of_experts ? 1 : 0].tensors;
    for (const double parameters : part.tensors) tensors.push_back(element * parameters);
  }
  for (GradientQueue& each : queues) {
    each.ends = gradient_buckets(each.tensors, static_cast<double>(setup_.bucket.count));
  }
  return queues;
}

/// Reduces the buckets that are full.
void StepWriter::reduce_ready(GradientQueue& queue, Index ready) {
  for (; queue.next < queue.ends.size() && queue.ends[queue.next] <= queue.ready; ++queue.next) {
    double bytes = 0;
    for (; queue.reduced < queue.ends[queue.next]; ++queue.reduced) {
      bytes += queue.tensors[queue.reduced];
    }
    reduce_bucket(queue.over, bytes, ready);
  }
}

/// The last backward pass through a chunk, with a reduction for each bucket whose gradients are
/// there.
void StepWriter::write_overlapped_backward(std::int64_t stage, const PipelinePass& pass,
                                           std::vector<Index> after) {
  const std::vector<BackwardPart> parts = backward_parts(stage, pass);
  std::array<GradientQueue, 2> queues = queues_of(parts);
  for (const BackwardPart& part : parts) {
    ProgramOp op;
    op.name = fmt::format("B{}", pass.microbatch + 1);
    op.compute = part.time;
    double fresh = 0;
    for (const double parameters : part.tensors) {
      fresh += gradient_bytes_of(setup_.precision) * parameters;
    }
    if (setup_.copies_buckets) op.compute += kernels_.moved(copied * fresh);
    op.kernels = static_cast<std::uint32_t>(kernels_of_layer);
    op.after = std::exchange(after, {});
    last_compute_ = add_pass(std::move(op), part.layers, true);
    GradientQueue& queue = queues[part.of_experts ? 1 : 0];
    queue.ready += part.tensors.size();
    reduce_ready(queue, *last_compute_);
  }
}

Index StepWriter::write_layers(std::int64_t stage, const PipelinePass& pass,
                               std::vector<Index> after) {
  ProgramOp op;
  op.name = fmt::format("{}{}", pass.backward ? 'B' : 'F', pass.microbatch + 1);
  const auto layers = static_cast<double>(chunk_layers(setup_, stage, pass.chunk));
  op.compute = layers_time(layers, pass.backward) + ends_time(stage, pass);
  if (is_last(stage, pass) && !pass.backward) add_head_call(op);
  op.kernels = static_cast<std::uint32_t>(std::lround(kernels_of_layer * layers));
  op.after = std::move(after);
  return add_pass(std::move(op), {layers, layers}, pass.backward);
}

void StepWriter::write_pass(std::int64_t stage, const PipelinePass& pass) {
  const LayerShare share = layer_share(setup_);
  const double message =
      activation_element * share.tokens * static_cast<double>(setup_.model.hidden) /
      (setup_.whole_messages && !setup_.sequence_parallel ? 1 : static_cast<double>(setup_.tensor));
  const auto stages = static_cast<std::uint32_t>(setup_.pipeline);
  const auto here = static_cast<std::uint32_t>(stage);
  const std::uint32_t next = (here + 1) % stages;
  const std::uint32_t previous = (here + stages - 1) % stages;
  const bool starts = pass.backward ? is_last(stage, pass) : is_first(stage, pass);
  const bool ends = pass.backward ? is_first(stage, pass) : is_last(stage, pass);
  std::vector<Index> after;
  if (!starts) {
    const std::uint32_t from = pass.backward ? next : previous;
    after.push_back(call(ProgramCallKind::receive, next_links_[pass.backward ? here : previous],
                         message, pass.backward ? receive_backward : receive_forward, {}, from));
  }
  // Megatron's 1F1B waits for each message; interleaved and GPipe go on.
  const bool waits = setup_.interleave == 1 && setup_.order != PipelineOrder::gpipe;
  if (waits && last_send_) after.push_back(*last_send_);
  // ZeRO 2 keeps its part of the gradients alone, so that each microbatch's are reduced.
  const bool reduces = pass.backward && (setup_.zero == 2 || pass.microbatch == microbatches_ - 1);
  if (reduces && (setup_.overlap_gradients || setup_.zero >= 3) && (data_ || copies_)) {
    write_overlapped_backward(stage, pass, std::move(after));
  } else if (setup_.zero >= 3 && data_ && !pass.backward && pass.microbatch == 0) {
    write_gathered_layers(stage, pass, std::move(after));
  } else {
    if (setup_.zero == 2 && !reductions_.empty()) after.push_back(reductions_.back());
    last_compute_ = write_layers(stage, pass, std::move(after));
    const auto chunks = static_cast<double>(setup_.interleave);
    if (reduces && setup_.zero == 2) {
      reduce(rank_parameters(setup_, stage), 1 / chunks);
    }
  }
  if (ends) return;
  const std::uint32_t to = pass.backward ? previous : next;
  last_send_ = call(ProgramCallKind::send, next_links_[pass.backward ? previous : here], message,
                    pass.backward ? send_backward : send_forward, {*last_compute_}, to);
}

void StepWriter::write_optimizer(double parameters, std::vector<Index> after) {
  ProgramOp op;
  op.name = "optimizer";
  const bool wide = setup_.precision != StepPrecision::bf16_pure;
  op.compute = kernels_.optimizer(optimizer_bytes_of(setup_.precision) * parameters, wide);
  if (setup_.copies_back && data_) {  // out of the buckets
    op.compute += kernels_.moved(copied * gradient_bytes_of(setup_.precision) * parameters);
  }
  op.after = std::move(after);
  if (exchange_) op.after.push_back(*exchange_);
  last_compute_ = add(std::move(op));
}

/// Gradients that are not reduced yet, the optimizer, and parameters that it has sharded.
void StepWriter::write_end(std::int64_t stage) {
  const RankParameters parameters = rank_parameters(setup_, stage);
  if (!setup_.overlap_gradients && setup_.zero < 2) reduce(parameters, 1);
  const bool shards = setup_.zero >= 1;
  write_optimizer(shards ? sharded(setup_, parameters, sharers()) : parameters.all(), reductions_);
  if (!shards || setup_.zero >= 3) return;
  // Parameters are gathered beside the next forward pass, but for those of its first layer.
  const double exposed =
      setup_.overlap_gradients ? 1 / static_cast<double>(setup_.model.layers) : 1;
  const Index updated = *last_compute_;
  for (const auto& [over, all] :
       {std::pair{data_, parameters.dense}, std::pair{experts_data_, parameters.experts}}) {
    if (!over || all <= 0) continue;
    call(ProgramCallKind::all_gather, *over, exposed * parameter_element * all, gather_stream,
         {updated});
  }
}

void StepWriter::write_stage(std::int64_t stage) {
  for (const PipelinePass& pass : passes_of(setup_, microbatches_, stage)) write_pass(stage, pass);
  write_end(stage);
}

/// Gathers parameters that ranks share.
Index StepWriter::gather(const RankParameters& parameters, std::vector<Index> after) {
  if (experts_data_ && parameters.experts > 0) {
    call(ProgramCallKind::all_gather, *experts_data_, parameter_element * parameters.experts,
         gather_stream, after);
  }
  return call(ProgramCallKind::all_gather, *data_, parameter_element * parameters.dense,
              gather_stream, std::move(after));
}

/// FSDP2 copies its shard into the call's buffer, and what was gathered out of it.
Seconds StepWriter::gathered_copies(const RankParameters& parameters) const {
  return kernels_.moved(copied * parameter_element *
                        (parameters.all() + sharded(setup_, parameters, sharers())));
}

/// The first forward pass through a chunk of a pipeline under ZeRO 3. Its layers are gathered one
/// after the other, each while the one before it runs, and stay whole until the last backward pass
/// has ended: PyTorch's pipelines neither gather nor reduce for each microbatch
/// (torch.distributed.pipelining.stage, set_requires_gradient_sync).
void StepWriter::write_gathered_layers(std::int64_t stage, const PipelinePass& pass,
                                       std::vector<Index> after) {
  const std::int64_t layers = chunk_layers(setup_, stage, pass.chunk);
  std::vector<Index> gathered;
  for (std::int64_t i = 0; i < layers; ++i) gathered.push_back(gather(layer_parameters_, {}));
  for (std::int64_t i = 0; i < layers; ++i) {
    ProgramOp op;
    op.name = fmt::format("F{}", pass.microbatch + 1);
    op.compute = layers_time(1, false) + gathered_copies(layer_parameters_);
    if (i == 0) op.compute += ends_time(stage, pass);
    if (i == layers - 1 && is_last(stage, pass)) add_head_call(op);
    op.kernels = static_cast<std::uint32_t>(kernels_of_layer);
    op.after = std::exchange(after, {});
    op.after.push_back(gathered[static_cast<std::size_t>(i)]);
    last_compute_ = add_pass(std::move(op), {1, 1}, false);
  }
}

/// ZeRO 3, layer by layer, as FSDP2: a layer is gathered while the one before it runs; gradients
/// are reduced while the next backward pass runs. The embedding and the head are gathered once.
void StepWriter::write_sharded_stage() {
  const auto layers = static_cast<std::size_t>(setup_.model.layers);
  const double wide = setup_.precision == StepPrecision::bf16_pure
                          ? parameter_element
                          : gradient_bytes_of(setup_.precision);
  const RankParameters ends{vocabulary_matrices(setup_.model) * embedding_parameters_, 0};
  std::vector<Index> ran;  // computations of layers, in order
  const auto gather_next = [&](const RankParameters& parameters) {
    std::vector<Index> after;
    if (ran.size() >= gathered_layers) after.push_back(ran[ran.size() - gathered_layers]);
    return gather(parameters, std::move(after));
  };
  const auto reduce_shards = [&](const RankParameters& parameters) {
    reduce_bucket(data_, wide * parameters.dense, *last_compute_);
    reduce_bucket(experts_data_, wide * parameters.experts, *last_compute_);
  };
  const auto compute = [&](const char* name, Seconds time, std::optional<Index> gathering,
                           bool backward, double of_layers, bool of_head = false) {
    ProgramOp op;
    op.name = name;
    op.compute = time;
    if (of_head) add_head_call(op);
    if (gathering) op.compute += gathered_copies(of_layers > 0 ? layer_parameters_ : ends);
    op.kernels = static_cast<std::uint32_t>(kernels_of_layer);
    if (gathering) op.after = {*gathering};
    last_compute_ = add_pass(std::move(op), {of_layers, of_layers}, backward);
    return *last_compute_;
  };
  std::optional<Index> root;
  if (data_) root = gather_next(ends);
  const Seconds copying = kernels_.moved(copied * wide * layer_parameters_.all());
  for (std::int64_t i = 0; i < microbatches_; ++i) {
    compute("embedding", embedding_.forward, i == 0 ? root : std::nullopt, false, 0);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const bool whole = !data_ || (!setup_.reshard && i > 0);
      const auto gathering = whole ? std::nullopt : std::optional(gather_next(layer_parameters_));
      ran.push_back(compute("F", layers_time(1, false), gathering, false, 1));
    }
    compute("head", head_.forward + head_.backward, std::nullopt, false, 0, true);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto gathering = data_ && setup_.reshard && layer > 0
                                 ? std::optional(gather_next(layer_parameters_))
                                 : std::nullopt;
      ran.push_back(compute("B", layers_time(1, true) + copying, gathering, true, 1));
      reduce_shards(layer_parameters_);
    }
    compute("embedding", embedding_.backward + kernels_.moved(copied * wide * ends.dense),
            std::nullopt, false, 0);
  }
  reduce_shards(ends);
  write_optimizer(sharded(setup_, rank_parameters(setup_), sharers()), reductions_);
}

CallProgram StepWriter::write() {
  program_.name = setup_.model.name;
  const std::int64_t of_stage = setup_.ranks() / setup_.pipeline;
  if (setup_.pipeline > 1) {
    for (std::int64_t stage = 0; stage < setup_.pipeline; ++stage) {
      const std::int64_t next = (stage + 1) % setup_.pipeline;
      ProgramCommunicator link;
      link.name = "pp";
      link.ranks = {static_cast<Rank>(stage * of_stage), static_cast<Rank>(next * of_stage)};
      link.groups = {static_cast<std::uint32_t>(stage), static_cast<std::uint32_t>(next)};
      next_links_.push_back(static_cast<Index>(program_.communicators.size()));
      program_.communicators.push_back(std::move(link));
    }
  }
  for (std::int64_t stage = 0; stage < setup_.pipeline; ++stage) {
    RankGroup group;
    group.name = setup_.pipeline > 1 ? fmt::format("stage {}", stage) : "all";
    for (std::int64_t i = 0; i < of_stage; ++i) {
      group.ranks.push_back(static_cast<Rank>(stage * of_stage + i));
    }
    group.streams.assign(stream_names.begin(), stream_names.end());
    program_.groups.push_back(std::move(group));
    reductions_.clear();
    last_compute_.reset();
    last_send_.reset();
    exchange_.reset();
    add_communicators(stage);
    if (setup_.zero >= 3 && setup_.pipeline == 1) {
      write_sharded_stage();
    } else {
      write_stage(stage);
    }
  }
  count_alike(program_, per_node_);
  return std::move(program_);
}

}  // namespace

Seconds host_of_layer(const TrainingSetup& setup, const KernelConstants& constants, bool backward) {
  const double slower = setup.tensor > 1 ? setup.software.tensor_host : 1;
  const bool again = backward && setup.recompute == Recompute::full;
  return slower * ((backward ? constants.host_backward : constants.host_forward) +
                   (again ? constants.host_forward : Seconds{}));
}

CallProgram training_program(const TrainingSetup& setup, const KernelTimes& kernels,
                             std::int64_t microbatches, Rank per_node) {
  return StepWriter(setup, kernels, microbatches, per_node).write();
}

}  // namespace collsim
