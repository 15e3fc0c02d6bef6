#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "models/scenario/scenario.h"
#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/explain/explanation.h"
#include "tools/collsim/explain/explanation_report.h"
#include "tools/collsim/explain/kernel_explanation.h"
#include "tools/collsim/explain/user_buffers.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

namespace {

Bytes only_size(const CallRequest& request) {
  if (request.scenario.collective == Collective::barrier) return {};
  return sizes_of(request).front();
}

/// One run and its explanation. The compiler keeps what both refer to.
struct ExplainedCall {
  std::unique_ptr<CallCompiler> compiler;
  Explanation explanation;
};

std::vector<ExplainedCall> explain_calls(const CallRequest& request, std::ostream& err) {
  std::vector<ExplainedCall> calls;
  for (const RunSpec& run : request.scenario.runs) {
    auto compiler = std::make_unique<CallCompiler>(spec_of(request, run));
    warn(*compiler, err);
    const Waiting waiting(err, "explaining " + to_string(only_size(request)));
    Explanation explanation = explain(*compiler, only_size(request), Engine::native);
    calls.push_back({std::move(compiler), std::move(explanation)});
  }
  return calls;
}

Answer answer_of(const CallRequest& request, const std::vector<ExplainedCall>& calls,
                 bool with_user_buffers) {
  Answer answer;
  answer.document = Record::array();
  for (const ExplainedCall& call : calls) {
    const Section section{&request, &call.compiler->spec().run, "native"};
    Record record = add_explanation(section, *call.compiler, call.explanation, answer);
    if (with_user_buffers) {
      record["user_buffers"] = add_user_buffers(*call.compiler, call.explanation, answer);
    }
    answer.document.push_back(std::move(record));
  }
  return answer;
}

std::vector<Mode> explained_modes() {
  std::vector<Mode> modes = call_modes("minbytes", "user-buffers", "");
  modes.push_back(kernel_mode("minbytes"));
  modes.push_back(registered_mode("minbytes"));
  return modes;
}

int run_explain(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(explain_subcommand, args, out);
  if (!values) return exit_ok;
  const bool registered = asks_for_registered(*values);
  const auto question = kernel_question(*values);
  const bool with_user_buffers = (*values)["user-buffers"].as<bool>();
  if (registered || question) {
    heed_only(*values, explain_subcommand, {registered ? "--registered" : "--kernels"});
  }
  const CallRequest request =
      question ? read_kernel_request(*values, err) : read_request(*values, err);
  if (values->count("minbytes") == 0 && request.scenario.collective != Collective::barrier) {
    throw InputError("explain: no size", "-b SIZE");
  }
  if (registered) {
    write_answer(request.format, explain_registered(request, only_size(request), err), out);
    return exit_ok;
  }
  if (question) {
    write_answer(request.format, explain_kernels(request, *question, only_size(request)), out);
    return exit_ok;
  }
  heed_schedules(explain_subcommand, *values, request);
  const std::vector<ExplainedCall> calls = explain_calls(request, err);
  write_answer(request.format, answer_of(request, calls, with_user_buffers), out);
  return exit_ok;
}

}  // namespace

const Subcommand explain_subcommand{
    .name = "explain",
    .summary = "explain one call: what NCCL chooses and why, and where the time goes",
    .usages = {"[MACHINE|SCENARIO] -b SIZE [options]"},
    .answers =
        "Says why a call takes as long as it does: the candidates and NCCL's choice, how the data "
        "is divided, where the time goes, the critical path through the machine, and the busiest "
        "resources.",
    .manual = std::string(call_manual),
    .examples = {"explain hgx-h200 -b 4M", "explain dgx-h100-x4 -c all_to_all -b 64M",
                 "explain hgx-h200 -a tree -b 64K --format json"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes env fault kernels user-buffers format",
    .modes = explained_modes(),
    .formats = {Format::table, Format::json},
    .run = run_explain,
};

}  // namespace collsim::command
