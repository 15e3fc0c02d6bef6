#include "tools/collsim/request/call_request.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"
#include "models/nccl/choice.h"
#include "models/nccl/settings/function.h"
#include "sim/algorithms/written_schedule.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/topologies/alpha_beta.h"
#include "sim/topologies/cluster_name.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/request/algorithm_plan.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/machine_request.h"
#include "tools/collsim/request/subject.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

template <typename Value>
std::optional<Value> given(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<Value>();
}

/// Throws InputError for more sizes than anybody could look at.
void require_few(const Sizes& sizes) {
  constexpr double max_sizes = 10'000;
  const double from = std::max(static_cast<double>(sizes.from.count), 1.0);
  const auto to = static_cast<double>(sizes.to.count);
  const double number = sizes.step.count > 0
                            ? (to - from) / static_cast<double>(sizes.step.count)
                            : std::log(std::max(to / from, 1.0)) / std::log(sizes.factor);
  if (number < max_sizes) return;
  const std::string way = sizes.step.count > 0 ? fmt::format("--stepbytes: {}", sizes.step.count)
                                               : fmt::format("--stepfactor: {}", sizes.factor);
  throw InputError(fmt::format("{} from {} to {} gives about {:.0f} sizes", way, sizes.from.count,
                               sizes.to.count, number),
                   fmt::format("a larger step, at most {:.0f} sizes", max_sizes));
}

void override_sizes(const po::variables_map& values, Sizes& sizes) {
  const auto minimum = given<Bytes>(values, "minbytes");
  if (minimum) sizes.from = *minimum;
  if (const auto maximum = given<Bytes>(values, "maxbytes")) {
    sizes.to = *maximum;
  } else if (minimum && sizes.to < sizes.from) {
    sizes.to = sizes.from;
  }
  if (sizes.to < sizes.from) {
    throw InputError(fmt::format("sizes from {} to {}", sizes.from.count, sizes.to.count),
                     "-e must be at least as large as -b");
  }
  if (const auto factor = given<double>(values, "stepfactor")) {
    if (!(*factor > 1 && *factor <= 1024)) {
      throw InputError(fmt::format("--stepfactor: {}", *factor), "more than 1, at most 1024");
    }
    sizes.factor = *factor;
    sizes.step = {};
  }
  if (const auto step = given<Bytes>(values, "stepbytes")) {
    if (step->count == 0) throw InputError("--stepbytes: 0", "1 or more bytes");
    sizes.step = *step;
  }
  require_few(sizes);
}

void override_schedule(const po::variables_map& values, bool algorithm_given, RunSpec& run) {
  if (const auto asked = given<ScheduleKind>(values, "schedule")) {
    // A scenario's algorithm belongs to its own schedule.
    if (run.schedule && run.schedule != asked && !algorithm_given) run.algorithm.clear();
    run.schedule = asked;
  }
  run.nccl_version = nccl_version_option(values).value_or(run.nccl_version);
  for (const auto& [name, value] : variables_option(values)) run.variables[name] = value;
  if (given<bool>(values, "in-place").value_or(false)) run.in_place = true;
  if (given<bool>(values, "graph").value_or(false)) run.graph = true;
  const bool under_nccl = values.count("nccl-version") != 0 || run.in_place;
  if (!run.schedule && under_nccl) run.schedule = ScheduleKind::nccl;
  for (const char* option : {"channels", "chunk"}) {
    if (values.count(option) == 0) continue;
    if (run.schedule == ScheduleKind::nccl || !run.variables.empty()) {
      throw InputError(fmt::format("--{} with NCCL's schedule, where NCCL chooses it", option),
                       "--env NCCL_MAX_NCHANNELS=..., --env NCCL_BUFFSIZE=..., or "
                       "--schedule textbook");
    }
    run.schedule = ScheduleKind::textbook;
  }
}

void override_runs(const po::variables_map& values, Scenario& scenario) {
  if (const auto names = given<std::string>(values, "algorithm")) {
    const RunSpec base = scenario.runs.empty() ? RunSpec{} : scenario.runs.front();
    scenario.runs.clear();
    for (const std::string& name : split(*names, ',')) {
      RunSpec run = base;
      run.algorithm = name;
      run.measured.reset();
      scenario.runs.push_back(run);
    }
  }
  if (scenario.runs.empty()) scenario.runs.emplace_back();
  const bool algorithm_given = values.count("algorithm") != 0;
  for (RunSpec& run : scenario.runs) override_schedule(values, algorithm_given, run);
  for (RunSpec& run : scenario.runs) {
    if (const auto protocol = given<Protocol>(values, "protocol")) run.protocol = protocol;
    run.reduction.type = given<Datatype>(values, "datatype").value_or(run.reduction.type);
    run.reduction.op = given<ReductionOp>(values, "op").value_or(run.reduction.op);
    if (const auto channels = count_option(values, "channels")) {
      run.channels = *channels;
      if (*channels > 64) throw InputError(fmt::format("--channels: {}", *channels), "1 to 64");
    }
    if (const auto chunk = given<Bytes>(values, "chunk")) {
      run.chunking.emplace().largest_chunk = *chunk;
    }
  }
}

/// Whether the machine is given by --alpha and --bandwidth.
bool is_two_numbers(const po::variables_map& values) {
  return values.count("alpha") != 0;
}

/// The GPUs of --rank-list, else the first ones.
std::vector<DeviceId> chosen_gpus(const po::variables_map& values, const CallRequest& request) {
  if (auto listed = listed_gpus(values, request.topology)) return *std::move(listed);
  // That machine has the ranks asked for, and no others.
  if (is_two_numbers(values)) return first_gpus(request.topology, *request.scenario.ranks, {});
  return wanted_gpus(request.topology, request.scenario.ranks, request.scenario.ranks_per_node);
}

/// Those of the topology where the scenario names none.
Calibration cost_of(const CallRequest& request) {
  return request.scenario.calibration
             ? with_transports(*request.scenario.calibration, request.topology)
             : calibration_for(request.topology);
}

/// Once scenario, topology, cost and GPUs are there: all that follows from them.
void settle(CallRequest& request) {
  request.ranks = static_cast<Rank>(request.gpus.size());
  request.faults =
      find_faults(request.scenario.faults, request.topology, request.ranks, request.scenario.seed);
  for (RunSpec& run : request.scenario.runs) {
    run = with_defaults(run, request.scenario.collective, request.topology);
  }
  if (request.scenario.collective == Collective::barrier) {
    request.scenario.sizes = {Bytes{0}, Bytes{0}, 2};  // it has no data
  }
  if (has_root(request.scenario.collective) && request.scenario.root >= request.ranks) {
    throw InputError(fmt::format("root {} of {} ranks", request.scenario.root, request.ranks),
                     fmt::format("0 to {}", request.ranks - 1));
  }
}

Machine machine_of(const po::variables_map& values, const Scenario& scenario) {
  if (!is_two_numbers(values)) return asked_machine(values, scenario.topology.string());
  if (!scenario.topology.empty()) {
    throw InputError("both a machine and --alpha with --bandwidth", "one of them");
  }
  if (!scenario.ranks) {
    throw InputError("--alpha and --bandwidth without --ranks", "also --ranks, such as --ranks 64");
  }
  if (*scenario.ranks > gpu_limit) {
    throw InputError(fmt::format("--ranks: {}", *scenario.ranks),
                     fmt::format("1 to {}", gpu_limit));
  }
  return {alpha_beta_machine(*scenario.ranks, quantity_option(values, "alpha", parse_time),
                             quantity_option(values, "bandwidth", parse_rate),
                             ranks_of_node(values, *scenario.ranks).value_or(1)),
          {}};
}

/// The scenario that the options name, or one of the machine that they name alone.
Scenario named_scenario(const po::variables_map& values) {
  Scenario scenario;
  if (const auto name = given<std::string>(values, "scenario")) {
    const Subject subject = find_subject(*name);
    if (subject.is_machine && values.count("topology") != 0) {
      throw InputError(
          fmt::format("two machines, '{}' and -t {}", *name, values["topology"].as<std::string>()),
          "one of them");
    }
    if (subject.is_machine) {
      scenario.topology = subject.file;
    } else {
      scenario = load_scenario(subject.file);
    }
  }
  if (const auto topology = given<std::string>(values, "topology")) {
    scenario.topology = find_machine(*topology);
  } else if (scenario.topology.empty() && !is_two_numbers(values)) {
    throw InputError("no machine",
                     "a machine or a scenario, such as hgx-h200, or --alpha and --bandwidth");
  }
  return scenario;
}

Scenario scenario_of(const GivenCommunicator& communicator) {
  Scenario scenario;
  scenario.ranks = communicator.ranks;
  scenario.ranks_per_node = communicator.ranks_per_node;
  scenario.runs = {communicator.run};
  return scenario;
}

Scenario read_scenario(const po::variables_map& values,
                       const std::optional<GivenCommunicator>& communicator) {
  Scenario scenario = communicator ? scenario_of(*communicator) : named_scenario(values);
  if (const auto collective = asked_collective(values)) scenario.collective = *collective;
  if (const auto ranks = count_option(values, "ranks")) scenario.ranks = ranks;
  if (const auto ranks = count_option(values, "ranks-per-node")) scenario.ranks_per_node = ranks;
  if (values.count("root") != 0) scenario.root = bounded_option(values, "root", 0, gpu_limit);
  if (const auto calibration = given<std::string>(values, "calibration")) {
    scenario.calibration = named_calibration(*calibration);
  }
  for (const std::string& fault :
       given<std::vector<std::string>>(values, "fault").value_or(std::vector<std::string>())) {
    scenario.faults.push_back(parse_fault(fault));
  }
  if (values.count("seed") != 0) {
    scenario.seed = bounded_option(values, "seed", 0, 1'000'000'000);
  }
  override_sizes(values, scenario.sizes);
  override_runs(values, scenario);
  return scenario;
}

}  // namespace

CallRequest read_request(const po::variables_map& values, std::ostream& err,
                         const std::optional<GivenCommunicator>& communicator) {
  CallRequest request;
  if (values.contains("format")) request.format = format_option(values);
  request.wide = given<bool>(values, "wide").value_or(false);
  request.nccl_estimate = given<bool>(values, "nccl-estimate").value_or(false);
  request.errors = load_error_table();
  request.scenario = read_scenario(values, communicator);
  Machine machine =
      communicator ? Machine{communicator->topology, {}} : machine_of(values, request.scenario);
  request.topology = std::move(machine.topology);
  request.cost = cost_of(request);
  if (auto warning = calibration_warning(request.cost)) machine.warnings.push_back(*warning);
  print_warnings(machine.warnings, err);
  request.gpus = chosen_gpus(values, request);
  settle(request);
  const std::vector<Fault>& faults = request.scenario.faults;
  const bool random = std::any_of(faults.begin(), faults.end(),
                                  [](const Fault& each) { return each.jitter.value > 0; });
  require_heeded(values, {{"seed", random, "a fault with jitter"},
                          {"root", has_root(request.scenario.collective),
                           "broadcast, reduce, gather or scatter"}});
  return request;
}

CallRequest question_about(Scenario scenario, Topology topology, ErrorTable errors) {
  CallRequest request;
  request.scenario = std::move(scenario);
  request.topology = std::move(topology);
  request.errors = std::move(errors);
  request.cost = cost_of(request);
  request.gpus =
      wanted_gpus(request.topology, request.scenario.ranks, request.scenario.ranks_per_node);
  settle(request);
  return request;
}

CallSpec spec_of(const CallRequest& request, const RunSpec& run) {
  const Scenario& scenario = request.scenario;
  return {&request.topology, request.cost,  scenario.collective, run,
          request.gpus,      scenario.root, request.faults};
}

std::vector<Bytes> sizes_of(const CallRequest& request) {
  return expand(request.scenario.sizes, size_of(request.scenario.runs.front().reduction.type));
}

void require_runs(const CallCompiler& compiler, NcclAlgorithm algorithm) {
  const auto function = compiler.nccl_function();
  if (compiler.nccl() == nullptr || !function) return;
  const auto reason = compiler.nccl()->why_not(*function, algorithm, Protocol::simple);
  if (!reason) return;
  throw InputError(fmt::format("NCCL cannot run {} by {} here: {}", nccl_name(*function),
                               nccl_name(algorithm), *reason),
                   "algorithms that it can run; see `collsim explain`");
}

void warn(const CallCompiler& compiler, std::ostream& err) {
  print_warnings(compiler.warnings(), err);
  const CallSpec& spec = compiler.spec();
  if (compiler.is_nccl() || !names_schedule_file(spec.run.algorithm)) return;
  const Plan plan =
      make_plan(spec.collective, spec.run.algorithm, compiler.placement(), 1, spec.root);
  if (const auto fault = written_fault(plan, compiler.placement())) {
    print_warning(
        fmt::format("{} is no {}: {}", spec.run.algorithm, to_string(spec.collective), fault->text),
        err);
  }
}

}  // namespace collsim::command
