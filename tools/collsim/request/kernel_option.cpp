#include "tools/collsim/request/kernel_option.h"

#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "tools/collsim/core/numbers.h"

namespace collsim::command {

namespace po = boost::program_options;

bool asks_for_registered(const po::variables_map& values) {
  return values["registered"].as<bool>();
}

std::vector<std::string> kernels_named(const po::variables_map& values) {
  if (values.count("algorithm") == 0) return {};
  return split(values["algorithm"].as<std::string>(), ',');
}

std::optional<KernelQuestion> kernel_question(const po::variables_map& values) {
  if (values.count("kernels") == 0) return std::nullopt;
  KernelQuestion question{parse_engine_release(values["kernels"].as<std::string>()), {}};
  if (values.count("small-call") != 0) {
    question.small_call =
        quantity_above_0("small-call", values["small-call"].as<std::string>(), parse_time);
  }
  question.kernels = kernels_named(values);
  if (question.kernels.empty()) question.kernels = {"auto"};
  return question;
}

namespace {

/// Errors of peer kernels beside those of NCCL's calls.
void add_errors(CallRequest& request) {
  for (ErrorClass& each : load_peer_kernels().errors) {
    request.errors.classes.push_back(std::move(each));
  }
}

}  // namespace

CallRequest read_registered_request(const po::variables_map& values, std::ostream& err) {
  CallRequest request = read_request(values, err);
  add_errors(request);
  return request;
}

CallRequest read_kernel_request(const po::variables_map& values, std::ostream& err) {
  po::variables_map of_nccl = values;
  of_nccl.erase("algorithm");
  CallRequest request = read_request(of_nccl, err);
  add_errors(request);
  RunSpec run = request.scenario.runs.front();
  if (run.schedule != ScheduleKind::nccl) {
    throw InputError("--kernels on a machine of two numbers", "a machine with GPUs");
  }
  run.algorithm = "auto";
  request.scenario.runs = {std::move(run)};
  return request;
}

PeerCalls peer_calls_of(const CallRequest& request, const KernelQuestion& question, bool simulated,
                        const std::vector<DeviceId>& gpus) {
  CallSpec spec = spec_of(request, request.scenario.runs.front());
  spec.gpus = gpus;
  return {spec, question.engine, simulated, question.small_call};
}

}  // namespace collsim::command
