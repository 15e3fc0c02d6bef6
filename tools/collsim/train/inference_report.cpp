#include "tools/collsim/train/inference_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "models/workload/step_range.h"

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

void print_inference(const std::string& machine, const InferenceSetup& setup,
                     const InferencePrediction& step, const std::optional<StepPrice>& price,
                     std::ostream& out) {
  const bool decodes = setup.phase == InferencePhase::decode;
  fmt::print(out, "{} on {} GPU{} of {}: tp {}, {} replica{}\n", setup.model.name, setup.ranks(),
             setup.ranks() == 1 ? "" : "s", machine, setup.tensor, setup.replicas,
             setup.replicas == 1 ? "" : "s");
  fmt::print(out, "{} of {} sequence{} of {} tokens on each; {}, {}\n\n",
             decodes ? "decoding" : "prefill", setup.batch, setup.batch == 1 ? "" : "s",
             setup.context, setup.fp8 ? "fp8" : "bf16",
             setup.graph ? "in a CUDA graph" : "issued by the host");
  const auto line = [&](const char* name, Seconds time) {
    fmt::print(out, "  {:<28}{:>12.3f} ms {:>6.1f} %\n", name, time.value / one_milli,
               hundred * time.value / step.time.value);
  };
  line(decodes ? "a token" : "until the first token", step.time);
  if (decodes) {
    fmt::print(out, "  {:<28}{:>12.3f} to {:.3f} ms\n", "8 of 10 such tokens took",
               decoding_range.low * step.time.value / one_milli,
               decoding_range.high * step.time.value / one_milli);
  }
  line("kernels", step.computes);
  line("exposed tp", step.exposed);
  if (step.waits.value > 0) line("waits for the host", step.waits);
  fmt::print(out, "\n  {:<28}{:>12.0f}\n", decodes ? "tokens a second" : "prompt tokens a second",
             step.tokens_per_second);
  if (decodes) {
    fmt::print(out, "  {:<28}{:>12.1f}\n", "tokens a second and user", step.tokens_per_user);
  }
  const InferenceMemory& memory = step.memory;
  fmt::print(out, "  {:<28}{:>12.1f} GB{}: weights {:.1f}, keys and values {:.1f}\n",
             "memory of a GPU", memory.all() / one_giga, step.fits ? "" : " (too much)",
             memory.weights / one_giga, memory.cache / one_giga);
  fmt::print(out, "  {:<28}{:>12}\n", "sequences that fit", step.max_sequences);
  if (price) {
    fmt::print(out, "  {:<28}{:>12.4f} {} ({} a GPU and hour: {})\n", "a million tokens",
               million_tokens(setup, step, *price), price->currency, price->per_hour,
               price->source);
  }
}

}  // namespace collsim::command
