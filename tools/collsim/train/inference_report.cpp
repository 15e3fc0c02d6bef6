#include "tools/collsim/train/inference_report.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "tools/collsim/train/step_range.h"

namespace collsim::command {

namespace {

constexpr double one_milli = 1e-3;
constexpr double one_giga = 1e9;
constexpr double per_million = 1e6;
constexpr double hour = 3600;
constexpr double hundred = 100;

double million_tokens(const InferenceSetup& setup, const InferencePrediction& step,
                      const StepPrice& price) {
  return price.per_hour * static_cast<double>(setup.ranks()) / hour * per_million /
         step.tokens_per_second;
}

}  // namespace

Record inference_record(const std::string& machine, const InferenceSetup& setup,
                        const InferencePrediction& step, const std::optional<StepPrice>& price) {
  const bool decodes = setup.phase == InferencePhase::decode;
  Record row;
  row["machine"] = machine;
  row["model"] = setup.model.name;
  row["phase"] = decodes ? "decode" : "prefill";
  row["gpus"] = setup.ranks();
  row["tp"] = setup.tensor;
  row["replicas"] = setup.replicas;
  row["batch"] = setup.batch;
  row["context"] = setup.context;
  row["precision"] = setup.fp8 ? "fp8" : "bf16";
  row["graph"] = setup.graph;
  row["time_ms"] = step.time.value / one_milli;
  row["time_low_ms"] =
      decodes ? Record(decoding_range.low * step.time.value / one_milli) : Record();
  row["time_high_ms"] =
      decodes ? Record(decoding_range.high * step.time.value / one_milli) : Record();
  row["compute_ms"] = step.computes.value / one_milli;
  row["exposed_tp_ms"] = step.exposed.value / one_milli;
  row["wait_ms"] = step.waits.value / one_milli;
  row["communication_share"] = step.exposed.value / step.time.value;
  row["tokens_per_s"] = step.tokens_per_second;
  row["tokens_per_user_s"] = decodes ? Record(step.tokens_per_user) : Record(nullptr);
  row["weights_GB"] = step.memory.weights / one_giga;
  row["cache_GB"] = step.memory.cache / one_giga;
  row["memory_GB"] = step.memory.all() / one_giga;
  row["fits"] = step.fits;
  row["max_sequences"] = step.max_sequences;
  row["cost_per_million_tokens"] =
      price ? Record(million_tokens(setup, step, *price)) : Record(nullptr);
  return row;
}

void add_inference(const std::string& machine, const InferenceSetup& setup,
                   const InferencePrediction& step, const std::optional<StepPrice>& price,
                   Answer& answer) {
  const bool decodes = setup.phase == InferencePhase::decode;
  const double time = step.time.value / one_milli;
  answer.head({fmt::format("{} on {} GPU{} of {}: tp {}, {} replica{}", setup.model.name,
                           setup.ranks(), setup.ranks() == 1 ? "" : "s", machine, setup.tensor,
                           setup.replicas, setup.replicas == 1 ? "" : "s"),
               fmt::format("{} of {} sequence{} of {} tokens on each; {}, {}",
                           decodes ? "decoding" : "prefill", setup.batch,
                           setup.batch == 1 ? "" : "s", setup.context, setup.fp8 ? "fp8" : "bf16",
                           setup.graph ? "in a CUDA graph" : "issued by the host")});
  const auto part = [&](const char* name, Seconds of) {
    return Fact{name, fmt::format("{:>6.1f} %", hundred * of.value / step.time.value),
                of.value / one_milli, "ms", 3};
  };
  std::vector<Fact> times{part(decodes ? "a token" : "until the first token", step.time)};
  if (decodes) {
    times.push_back({"8 of 10 such tokens took", "", decoding_range.low * time,
                     fmt::format("to {:.3f} ms", decoding_range.high * time), 3});
  }
  times.push_back(part("kernels", step.computes));
  times.push_back(part("exposed tp", step.exposed));
  if (step.waits.value > 0) times.push_back(part("waits for the host", step.waits));
  answer.figures(std::move(times));
  std::vector<Fact> rates{
      {decodes ? "tokens a second" : "prompt tokens a second", "", step.tokens_per_second, "", 0}};
  if (decodes) rates.push_back({"tokens a second and user", "", step.tokens_per_user});
  const InferenceMemory& memory = step.memory;
  rates.push_back({"memory of a GPU",
                   fmt::format("weights {:.1f}, keys and values {:.1f}", memory.weights / one_giga,
                               memory.cache / one_giga),
                   memory.all() / one_giga, step.fits ? "GB:" : "GB (too much):"});
  rates.push_back({"sequences that fit", "", step.max_sequences});
  if (price) rates.push_back(token_fact(million_tokens(setup, step, *price), *price));
  answer.figures(std::move(rates));
}

}  // namespace collsim::command
