#include "tools/collsim/report/kernel_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "models/nccl/symmetric_setting.h"
#include "models/peer_kernels/registered_calls.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

namespace {

void write_kernel_rows(const CallRequest& request, const KernelQuestion& question, bool simulated,
                       CallPrinter& printer) {
  PeerCalls calls = peer_calls_of(request, question, simulated, request.gpus);
  for (const std::string& kernel : question.kernels) {
    // The column of the algorithm is as wide as what it may show.
    RunSpec run = request.scenario.runs.front();
    if (kernel != "auto" && kernel != "nccl") run.algorithm = kernel;
    // Nothing is printed of what may not be answered.
    std::vector<Prediction> answers;
    for (const Bytes size : sizes_of(request)) {
      answers.push_back(kernel == "auto" ? calls.predict(size) : calls.predict(kernel, size));
    }
    std::string by = fmt::format("kernels of {}", to_string(calls.engine()));
    if (!calls.taken_over().empty()) {
      by += fmt::format(", costs taken over: {}", fmt::join(calls.taken_over(), "; "));
    }
    printer.begin({&request, &run, kernel == "nccl" ? "analytic" : by});
    for (Prediction& answer : answers) printer.add({std::move(answer), {}});
    printer.end();
  }
}

void write_registered_rows(const CallRequest& request, bool simulated, CallPrinter& printer,
                           std::ostream& err) {
  for (const RunSpec& run : request.scenario.runs) {
    if (run.schedule != ScheduleKind::nccl) {
      throw InputError("--registered in a textbook schedule", "NCCL's schedule");
    }
    RegisteredCalls calls(spec_of(request, run), simulated);
    print_warnings(warnings_of_registered(calls.compiler().warnings()), err);
    printer.begin({&request, &calls.compiler().spec().run, "registered windows"});
    for (const Bytes size : sizes_of(request)) printer.add({calls.predict(size), {}});
    printer.end();
  }
}

}  // namespace

bool answer_kernel_question(const boost::program_options::variables_map& values,
                            const Subcommand& subcommand, std::span<const std::string> args,
                            std::ostream& out, std::ostream& err) {
  const bool registered = asks_for_registered(values);
  const auto question = registered ? std::nullopt : kernel_question(values);
  if (!registered && !question) return false;
  heed_only(values, subcommand, {registered ? "--registered" : "--kernels"});
  const bool simulated = subcommand.name == "run";
  const CallRequest request =
      registered ? read_registered_request(values, err) : read_kernel_request(values, err);
  const auto printer = make_call_printer(request.format, command_text(subcommand.name, args), out);
  if (registered) {
    write_registered_rows(request, simulated, *printer, err);
  } else {
    write_kernel_rows(request, *question, simulated, *printer);
  }
  printer->finish();
  return true;
}

}  // namespace collsim::command
