#include "tools/collsim/plan/decode_plan.h"

#include <fmt/format.h>

#include <utility>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/peer_kernels/peer_calls.h"
#include "sim/base/input_error.h"
#include "tools/collsim/train/inference.h"

namespace collsim {

namespace {

constexpr std::int64_t bytes_of_activation = 2;  // bf16

/// Plans decoding machine by machine.
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

}  // namespace

DecodePlan plan_decode(const DecodePlanRequest& request) {
  return DecodePlanner(request).plan();
}

}  // namespace collsim
