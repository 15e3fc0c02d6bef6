#include "tools/collsim/expect/expectation.h"

#include <fmt/format.h>

#include <deque>
#include <ostream>
#include <utility>

#include "models/calibration/error_table.h"
#include "models/nccl/settings/version.h"
#include "models/recordings/log_facts.h"
#include "models/recordings/readers.h"
#include "models/recordings/recording.h"
#include "sim/base/file_format.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/cluster_name.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/expect/tuning_query.h"
#include "tools/collsim/request/machine_guess.h"
#include "tools/collsim/request/machine_request.h"
#include "tools/collsim/request/recorded_input.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// The recording in a text; nothing where it has none.
std::optional<Recording> find_recording(const TextFile& text) {
  try {
    return read_recording(text);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The machine of -t, if it is given.
std::optional<Topology> named_machine(const po::variables_map& values) {
  if (!values.contains("topology")) return std::nullopt;
  return asked_machine(values, find_machine(values["topology"].as<std::string>()).string())
      .topology;
}

/// The machine of a log: that of -t, or what the log shows, with the nodes and the network that a
/// person says.
Topology machine_of(const po::variables_map& values, const Recording& recording,
                    const LogFacts& facts, std::ostream& err) {
  if (auto named = named_machine(values)) return std::move(*named);
  MachineHints hints;
  hints.nodes = count_option(values, "nodes");
  if (values.contains("fabric")) hints.fabric = values["fabric"].as<std::string>();
  GuessedMachine guessed = guessed_machine(recording, facts, hints);
  report_guess(recording, guessed, err);
  return std::move(guessed.topology);
}

/// A communicator as the first argument describes it.
struct DescribedCommunicator {
  std::optional<GivenCommunicator> given{};  ///< nothing where that is a machine or a scenario
  TuningQuery tuning{};                      ///< empty where it does not say what it will run
};

/// The communicator of a log: its machine, ranks, release and variables. Nothing where the text is
/// none.
std::optional<GivenCommunicator> communicator_of_log(const po::variables_map& values,
                                                     const TextFile& text, std::ostream& err) {
  LogFacts facts = read_log_facts(text);
  std::optional<Recording> found = find_recording(text);
  if (!found && !facts.any) return std::nullopt;
  Recording none;
  none.file = text.name;
  Recording recording = std::move(found).value_or(std::move(none));
  join_trays(recording, facts);
  Topology topology = machine_of(values, recording, facts, err);
  const RunShape shape = shape_of(recording, facts);
  RunSpec run;
  run.variables = facts.variables;
  const std::string release = release_in(recording, facts);
  if (!release.empty()) run.nccl_version = nearest_nccl_version(release);
  return GivenCommunicator{std::move(topology), run, shape.nodes * shape.per_node, shape.per_node};
}

DescribedCommunicator described_communicator(const po::variables_map& values, std::ostream& err) {
  if (!values.contains("scenario")) return {};
  const auto& argument = values["scenario"].as<std::string>();
  if (!is_readable_kind(argument)) return {};
  const TextFile text = read_text_file(argument, "a machine or a log");
  if (own_kind(text.content).value_or("recording") != "recording") return {};
  if (!is_tuning_query(text.content)) return {communicator_of_log(values, text, err), {}};
  TuningQuery tuning = read_tuning_query(text);
  auto machine = named_machine(values);
  if (!machine) {
    throw InputError(SourcePosition{text.name}, "it names no machine",
                     "-t MACHINE beside it, such as -t dgx-h100-x4");
  }
  GivenCommunicator given{std::move(*machine), {}, tuning.ranks, tuning.ranks_per_node};
  return {std::move(given), std::move(tuning)};
}

/// The options as a question about one collective has them.
po::variables_map about(const po::variables_map& values, Collective collective) {
  po::variables_map one = values;
  one.erase("collective");
  one.insert({"collective", po::variable_value(std::string(to_string(collective)), false)});
  return one;
}

std::optional<Seconds> scaled(Seconds time, const std::optional<ErrorRange>& range,
                              double ErrorRange::*share) {
  if (!range) return std::nullopt;
  return Seconds{time.value * ((*range).*share)};
}

ExpectedCall expected(const CallRequest& request, Prediction prediction) {
  const auto range =
      error_range(request.errors, prediction.trust, prediction.medium, prediction.size);
  ExpectedCall call{request.scenario.collective, std::move(prediction)};
  call.low = scaled(call.prediction.time, range, &ErrorRange::low);
  call.high = scaled(call.prediction.time, range, &ErrorRange::high);
  return call;
}

void require_one_run(const CallRequest& request) {
  if (request.scenario.runs.size() == 1) return;
  throw InputError(
      fmt::format("expect: {} algorithms, where one runs", request.scenario.runs.size()),
      "one algorithm, or none for NCCL's choice; `collsim run` compares several");
}

}  // namespace

double ExpectedCall::busbw(Rank ranks) const {
  if (prediction.size.count == 0) return 0;
  return (prediction.size / prediction.time).value * busbw_factor(collective, ranks);
}

Expectation expect_calls(const po::variables_map& values,
                         const std::vector<Collective>& collectives, const Method& method,
                         std::ostream& err) {
  const DescribedCommunicator described = described_communicator(values, err);
  const bool chooses = described.tuning.choices.empty();
  const std::string other = "a communicator that does not say what it will run";
  require_heeded(values, {{"algorithm", chooses, other}, {"protocol", chooses, other}});
  std::ostream silent(nullptr);
  Expectation expectation;
  expectation.method = method.is_estimate ? "analytic" : "native";
  std::deque<Predictor> predictors;
  for (const Collective collective : collectives) {
    const bool is_first = predictors.empty();
    CallRequest request =
        read_request(about(values, collective), is_first ? err : silent, described.given);
    require_one_run(request);
    if (is_first) expectation.request = request;
    CallSpec spec = spec_of(request, request.scenario.runs.front());
    spec.topology = &expectation.request.topology;
    // Ranks, release and variables are the same, and so is what was found for the first.
    const CallCompiler* const same_ranks = is_first ? nullptr : &predictors.front().compiler();
    Predictor& predictor =
        predictors.emplace_back(CallCompiler(std::move(spec), same_ranks), method);
    for (const Bytes size : sizes_of(request)) {
      const auto choice = described.tuning.choice(collective, size);
      if (choice) require_runs(predictor.compiler(), choice->algorithm);
      expectation.calls.push_back(expected(request, predictor.predict(size, choice)));
    }
  }
  return expectation;
}

}  // namespace collsim::command
