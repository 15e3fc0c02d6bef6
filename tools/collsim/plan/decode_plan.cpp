#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/peer_kernels/engine_release.h"
#include "models/peer_kernels/peer_calls.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/plan/subjects.h"
#include "tools/collsim/train/inference.h"
#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/transformer.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// What is asked of machines that decode a model by tensor parallelism, inside one node.
struct DecodePlanRequest {
  std::vector<Alternative> alternatives{};  ///< of each one node
  Transformer model{};
  std::vector<std::uint32_t> tensor{};   ///< ranks that share each matrix
  std::vector<std::uint32_t> batches{};  ///< sequences that get a token at a time
  std::int64_t context = 1024;           ///< tokens that the cache holds of each
  EngineRelease engine{};                ///< whose all-reduces run
  RunSpec run{};                         ///< as for a single call: NCCL's version, variables
};

/// One machine, one number of ranks, one batch.
struct DecodePlanRow {
  std::size_t alternative = 0;
  std::uint32_t tensor = 1;
  std::uint32_t batch = 1;
  Bytes size{};             ///< of an all-reduce
  std::string kernel{};     ///< that the engine runs for it; empty where one rank has no calls
  Seconds call{};           ///< one all-reduce
  Seconds communication{};  ///< all calls of a token: 2 L + 1 all-reduces, logits by NCCL
  Seconds by_nccl{};        ///< the same, were every call NCCL's
  Seconds kernels{};        ///< that a GPU computes for a token
  double memory = 0;        ///< bytes that a GPU holds
  bool fits = true;         ///< into its memory
  bool best = false;        ///< the quickest token of its batch, of those that fit
  Seconds token() const { return communication + kernels; }
};

/// The answer, by alternative, batch and ranks.
struct DecodePlan {
  std::vector<DecodePlanRow> rows{};
  std::set<std::string> warnings{};  ///< of machines and ranks that are left out
};

constexpr std::int64_t bytes_of_activation = 2;  // bf16

/// Predicts a token of every machine, number of ranks and batch, from CUDA graphs. Ranks that a
/// node has too few GPUs for, or that do not divide the model's heads, are left out with a warning;
/// so are machines whose GPUs have no known kernels. Throws InputError where nothing is left.
class DecodePlanner {
 public:
  explicit DecodePlanner(const DecodePlanRequest& request)
      : request_(request), table_(load_kernel_table()) {}

  DecodePlan plan();

 private:
  void add_machine(std::size_t number);
  void add_ranks(std::size_t number, const Topology& topology, std::uint32_t tensor);
  void add_calls(const CallSpec& spec, DecodePlanRow& row);
  void find_best();

  const DecodePlanRequest& request_;
  KernelTable table_;
  DecodePlan plan_;
};

/// An all-reduce follows the embedding and each half of a layer; an all-gather joins the logits.
void DecodePlanner::add_calls(const CallSpec& spec, DecodePlanRow& row) {
  PeerCalls calls(spec, request_.engine, false);
  CallSpec gathering = spec;
  gathering.collective = Collective::all_gather;
  Predictor gather(std::move(gathering), by_formulas());
  const Bytes logits{bytes_of_activation * row.batch * request_.model.vocabulary};
  const Seconds of_logits = gather.predict(logits).time;
  const auto all_reduces = static_cast<double>(2 * request_.model.layers + 1);
  const Prediction call = calls.predict(row.size);
  row.kernel = calls.choose(row.size).kernel;
  row.call = call.time;
  row.communication = all_reduces * call.time + of_logits;
  row.by_nccl = all_reduces * calls.predict("nccl", row.size).time + of_logits;
}

void DecodePlanner::add_ranks(std::size_t number, const Topology& topology, std::uint32_t tensor) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.run = request_.run;
  spec.run.schedule = ScheduleKind::nccl;
  spec.run.algorithm = "auto";
  spec.run.graph = true;
  spec.gpus = first_gpus(topology, tensor);
  MachineCalls machine_calls;
  machine_calls.topology = &topology;
  machine_calls.gpus = spec.gpus;
  machine_calls.run = spec.run;
  StepMachine machine(machine_calls, table_);
  for (const std::uint32_t batch : request_.batches) {
    InferenceSetup setup;
    setup.model = request_.model;
    setup.tensor = tensor;
    setup.batch = batch;
    setup.context = request_.context;
    const InferencePrediction step = predict_inference(machine, setup);
    DecodePlanRow row;
    row.alternative = number;
    row.tensor = tensor;
    row.batch = batch;
    row.size = Bytes{bytes_of_activation * batch * request_.model.hidden};
    row.kernels = step.computes;
    row.memory = step.memory.all();
    row.fits = step.fits;
    if (tensor > 1) add_calls(spec, row);
    plan_.rows.push_back(std::move(row));
  }
}

void DecodePlanner::add_machine(std::size_t number) {
  const Topology topology = compose(request_.alternatives[number].parts, 1);
  const auto gpus = static_cast<std::uint32_t>(topology.gpus().size());
  for (const std::uint32_t tensor : request_.tensor) {
    if (tensor > gpus) {
      plan_.warnings.insert(fmt::format("{}: a node has {} GPUs, too few for --tp {}",
                                        describe(request_.alternatives[number]), gpus, tensor));
    } else if (request_.model.heads % tensor != 0) {
      plan_.warnings.insert(fmt::format("--tp {} does not divide the {} heads of '{}'", tensor,
                                        request_.model.heads, request_.model.name));
    } else {
      add_ranks(number, topology, tensor);
    }
  }
}

void DecodePlanner::find_best() {
  for (const std::uint32_t batch : request_.batches) {
    DecodePlanRow* best = nullptr;
    for (DecodePlanRow& row : plan_.rows) {
      if (row.batch != batch || !row.fits) continue;
      if (best == nullptr || row.token() < best->token()) best = &row;
    }
    if (best != nullptr) best->best = true;
  }
}

DecodePlan DecodePlanner::plan() {
  for (std::size_t i = 0; i < request_.alternatives.size(); ++i) {
    const std::size_t first = plan_.rows.size();
    try {
      add_machine(i);
    } catch (const InputError& error) {
      plan_.rows.resize(first);
      if (request_.alternatives.size() == 1) throw;
      plan_.warnings.insert(
          fmt::format("{} is left out: {}", describe(request_.alternatives[i]), error.what()));
    }
  }
  if (plan_.rows.empty()) {
    throw InputError(fmt::format("no machine can decode '{}' so", request_.model.name),
                     "other --tp, or other machines");
  }
  find_best();
  return std::move(plan_);
}

constexpr double bytes_of_gigabyte = 1e9;
constexpr std::uint32_t max_tensor = 1024;
constexpr std::uint32_t max_batch = 1U << 16;
constexpr std::uint32_t max_context = 1U << 24;

Table decode_table(const DecodePlanRequest& request, const DecodePlan& plan) {
  Table table;
  for (const DecodePlanRow& row : plan.rows) {
    const auto of_calls = [&](Seconds time) {
      return row.tensor > 1 ? Record(in_microseconds(time)) : Record();
    };
    const double token = in_microseconds(row.token());
    NewRow add(table);
    add({"machine", "machine"}, describe(request.alternatives[row.alternative]));
    add({"tp", "tp"}, row.tensor);
    add({"batch", "batch"}, row.batch);
    add({"size_bytes", "all-reduce", "(B)", 0, 1, wide_only}, row.size.count);
    add({"kernel", "kernel"}, row.tensor > 1 ? Record(row.kernel) : Record());
    add({"call_us", "call", "(us)"}, of_calls(row.call));
    add({"communication_us", "comm.", "(us)", 1}, in_microseconds(row.communication));
    add({"by_nccl_us", "by NCCL", "(us)", 1}, of_calls(row.by_nccl));
    add({"kernels_us", "kernels", "(us)", 0, 1, wide_only}, in_microseconds(row.kernels));
    add({"token_us", "token", "(us)", 0}, token);
    add({"token_low_us", "low", "(us)", 0, 1, wide_only}, decoding_range.low * token);
    add({"token_high_us", "high", "(us)", 0, 1, wide_only}, decoding_range.high * token);
    add({"memory_GB", "memory", "(GB)", 1, 1, wide_only}, row.memory / bytes_of_gigabyte);
    add.data("fits", row.fits);
    add({"mark", ""}, row.best ? "best" : row.fits ? "" : "too big");
  }
  return table;
}

std::string decode_title(const DecodePlanRequest& request) {
  return fmt::format("{} decodes in bf16, {} tokens of context, all-reduces of {} in CUDA graphs",
                     request.model.name, request.context, to_string(request.engine));
}

/// A line for each machine and batch, over the ranks.
Chart decode_chart(const std::vector<Record>& records, std::string title, const std::string& key) {
  Chart chart{std::move(title), {}, {"ranks", AxisScale::counts}, {"us", AxisScale::logarithmic}};
  for (const Record& record : records) {
    const std::string name = fmt::format("{}, batch {}", record["machine"].get<std::string>(),
                                         json_text(record["batch"]));
    ChartSeries& line = line_called(name, chart);
    if (record[key].get<double>() > 0) line.points.push_back({record["tp"], record[key]});
  }
  return chart;
}

Answer decode_answer(const DecodePlanRequest& request, const DecodePlan& plan,
                     const std::string& command) {
  Answer answer{decode_title(request), command};
  add_ranges_and_version(answer);
  answer.head({comment(answer.title)});
  const auto all_reduces = 2 * request.model.layers + 1;
  Table table = decode_table(request, plan);
  answer.sections.push_back(
      {"",
       {decode_chart(table.rows, "A token's communication", "communication_us"),
        decode_chart(table.rows, "A token", "token_us")},
       {comment(fmt::format(
           "comm.: {} all-reduces and an all-gather of the logits for a token; token: with the "
           "kernels beside them, of which 8 of 10 took {:g} to {:g} times as long; best: the "
           "quickest token of a batch",
           all_reduces, decoding_range.low, decoding_range.high))},
       {std::move(table)}});
  return answer;
}

DecodePlanRequest read_decode_plan(const po::variables_map& values) {
  DecodePlanRequest request;
  if (!values.contains("model")) throw InputError("plan serve: no model", "--model NAME");
  request.model = find_transformer(values["model"].as<std::string>());
  request.tensor = parse_numbers("tp", values["tp"].as<std::string>(), 1, max_tensor);
  request.batches = parse_numbers("batch", values["batch"].as<std::string>(), 1, max_batch);
  request.context = bounded_option(values, "context", 1, max_context);
  request.engine = parse_engine_release(values["kernels"].as<std::string>());
  return request;
}

}  // namespace

PlannedAnswer plan_decoding(std::vector<Alternative> alternatives, RunSpec run,
                            const po::variables_map& values, const std::string& command) {
  DecodePlanRequest request = read_decode_plan(values);
  request.alternatives = std::move(alternatives);
  request.run = std::move(run);
  DecodePlan plan = DecodePlanner(request).plan();
  return {decode_answer(request, plan, command), std::move(plan.warnings)};
}

}  // namespace collsim::command
