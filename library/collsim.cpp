#include <fmt/format.h>

#include <collsim/collsim.hpp>
#include <utility>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"
#include "models/nccl/settings/function.h"
#include "models/predict/predictor.h"
#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"

namespace collsim::api {

struct LoadedMachine {
  Topology topology;
  Calibration cost;
};

namespace {

Collective read_collective(std::string_view name) {
  if (const auto collective = find_collective(name)) return *collective;
  throw InputError(fmt::format("there is no collective '{}'", name),
                   names_instead_of(name, collective_names()));
}

Engine read_engine(std::string_view name) {
  if (const auto engine = find_engine(name)) return *engine;
  throw InputError(fmt::format("there is no engine '{}'", name),
                   names_instead_of(name, engine_names()));
}

ScheduleKind read_schedule(std::string_view name) {
  for (const ScheduleKind kind : {ScheduleKind::textbook, ScheduleKind::nccl}) {
    if (to_string(kind) == name) return kind;
  }
  throw InputError(fmt::format("there is no schedule '{}'", name), "textbook or nccl");
}

Protocol read_protocol(std::string_view name) {
  if (const auto protocol = find_nccl_protocol(name)) return *protocol;
  throw InputError(fmt::format("there is no protocol '{}'", name), "LL, LL128 or Simple");
}

RunSpec run_of(const Call& call) {
  RunSpec run;
  if (!call.schedule.empty()) run.schedule = read_schedule(call.schedule);
  if (!call.protocol.empty()) run.protocol = read_protocol(call.protocol);
  run.algorithm = call.algorithm;
  run.variables = call.variables;
  return run;
}

CallCompiler make_compiler(const LoadedMachine& machine, const Call& call) {
  const Collective collective = read_collective(call.collective);
  const Rank ranks = call.ranks.value_or(static_cast<Rank>(machine.topology.gpus().size()));
  if (has_root(collective) && call.root >= ranks) {
    throw InputError(fmt::format("root {} of {} ranks", call.root, ranks),
                     "a rank; they count from 0");
  }
  return CallCompiler({&machine.topology, machine.cost, collective, run_of(call),
                       first_gpus(machine.topology, ranks), call.root});
}

Bytes whole_elements(std::int64_t bytes, const CallCompiler& compiler) {
  if (bytes < 0) throw InputError(fmt::format("a call of {} bytes", bytes), "0 or more");
  if (compiler.spec().collective == Collective::barrier) return Bytes{0};
  const Bytes element = size_of(compiler.spec().run.reduction.type);
  return Bytes{bytes / element.count * element.count};
}

Prediction published(const collsim::Prediction& made, const CallCompiler& compiler) {
  Prediction result;
  result.bytes = made.size.count;
  result.time_us = in_microseconds(made.time);
  result.algbw_gb_s = in_gigabytes_per_second(made.size / made.time);
  result.busbw_gb_s =
      result.algbw_gb_s * busbw_factor(compiler.spec().collective, compiler.ranks());
  result.bound_us = in_microseconds(made.bounds.largest());
  result.algorithm = made.algorithm;
  result.protocol = to_string(made.protocol);
  result.channels = made.channels;
  result.trust = to_string(made.trust);
  if (made.nccl_estimate) result.nccl_estimate_us = in_microseconds(*made.nccl_estimate);
  return result;
}

std::vector<Prediction> predict(const Machine& machine, const Call& call,
                                const std::vector<std::int64_t>& sizes, const Method& method) {
  if (!machine.loaded) throw InputError("a machine that was not loaded", "one of load_machine()");
  Predictor predictor(make_compiler(*machine.loaded, call), method);
  std::vector<Prediction> predictions;
  predictions.reserve(sizes.size());
  for (const std::int64_t bytes : sizes) {
    const Bytes size = whole_elements(bytes, predictor.compiler());
    predictions.push_back(published(predictor.predict(size), predictor.compiler()));
  }
  return predictions;
}

template <typename Kinds>
std::vector<std::string> names_of(const Kinds& kinds) {
  std::vector<std::string> names;
  for (const auto kind : kinds) names.emplace_back(to_string(kind));
  return names;
}

constexpr std::string_view topologies = "topologies";
constexpr std::string_view calibrations = "models/data/calibrations";

}  // namespace

Machine load_machine(std::string_view topology, std::string_view calibration) {
  collsim::Machine read = collsim::load_machine(topology);
  Calibration cost = calibration.empty()
                         ? calibration_for(read.topology)
                         : with_transports(named_calibration(calibration), read.topology);
  if (auto warning = calibration_warning(cost)) read.warnings.push_back(std::move(*warning));
  auto loaded =
      std::make_shared<LoadedMachine>(LoadedMachine{std::move(read.topology), std::move(cost)});
  return {std::string(loaded->topology.name()), loaded->cost.name,
          static_cast<std::uint32_t>(loaded->topology.gpus().size()), std::move(read.warnings),
          loaded};
}

std::vector<Prediction> simulate(const Machine& machine, const Call& call,
                                 const std::vector<std::int64_t>& sizes, std::string_view engine) {
  const Engine chosen = read_engine(engine);
  load_engine(chosen);
  Method method = by_simulation();
  method.simulation.engine = chosen;
  return predict(machine, call, sizes, method);
}

std::vector<Prediction> estimate(const Machine& machine, const Call& call,
                                 const std::vector<std::int64_t>& sizes) {
  return predict(machine, call, sizes, by_formulas());
}

std::vector<std::string> collective_names() {
  return names_of(all_collectives());
}

std::vector<std::string> algorithm_names(std::string_view collective) {
  return collsim::algorithm_names(read_collective(collective));
}

std::vector<std::string> engine_names() {
  return names_of(all_engines());
}

std::vector<std::string> machine_names() {
  return shipped_names(topologies);
}

std::vector<std::string> calibration_names() {
  return shipped_names(calibrations);
}

}  // namespace collsim::api
