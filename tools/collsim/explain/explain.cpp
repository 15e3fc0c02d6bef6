#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <iosfwd>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/nccl/symmetric_setting.h"
#include "models/nccl/user_registration.h"
#include "models/peer_kernels/registered_calls.h"
#include "models/scenario/scenario.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/explain/explanation.h"
#include "tools/collsim/explain/explanation_report.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

namespace {

const CandidateTime* chosen_candidate(const Explanation& explanation) {
  const auto found = std::find_if(explanation.candidates.begin(), explanation.candidates.end(),
                                  [](const CandidateTime& each) { return each.chosen; });
  return found == explanation.candidates.end() ? nullptr : &*found;
}

/// A variable that is a number, or what holds without it.
std::uint32_t variable_of(const CallCompiler& compiler, const char* name, std::uint32_t without) {
  const auto& variables = compiler.spec().run.variables;
  const auto found = variables.find(name);
  if (found == variables.end()) return without;
  return leading_number<std::uint32_t>(found->second).value_or(without);
}

/// The variable that switches it off, if one does.
std::string switched_off(const CallCompiler& compiler) {
  const char* const name =
      compiler.spec().run.graph ? "NCCL_GRAPH_REGISTER" : "NCCL_LOCAL_REGISTER";
  if (variable_of(compiler, name, 1) != 0) return {};
  return fmt::format("{}=0 switches it off", name);
}

std::string sentence_of(const UserRegistration& registration, const CandidateTime& chosen,
                        bool graph) {
  const std::string subject =
      graph ? "registered by the CUDA graph" : "registered with ncclCommRegister";
  if (!registration.why_not.empty()) {
    return fmt::format("user buffers {} change nothing: {}", subject, registration.why_not);
  }
  std::string text =
      fmt::format("user buffers {} save {} ({})", subject, registration.saves, registration.needs);
  if (registration.thread_blocks && *registration.thread_blocks < chosen.launch.channels) {
    text +=
        fmt::format(", and NCCL runs {} thread block{} in place of {}", *registration.thread_blocks,
                    *registration.thread_blocks == 1 ? "" : "s", chosen.launch.channels);
  }
  return text + "; what time that saves is not predicted (docs/decode.md has recorded ones)";
}

/// What registered user buffers would change of an explained call; nothing for calls that NCCL does
/// not choose how to run.
std::optional<UserRegistration> user_buffers_of(const CallCompiler& compiler,
                                                const Explanation& explanation) {
  const CandidateTime* const chosen = chosen_candidate(explanation);
  const auto function = compiler.nccl_function();
  if (chosen == nullptr || compiler.nccl() == nullptr || !function) return std::nullopt;
  const Nccl& nccl = *compiler.nccl();
  if (std::string off = switched_off(compiler); !off.empty()) {
    return UserRegistration{std::move(off), {}, {}, {}};
  }
  UnregisteredCall call;
  call.function = *function;
  call.algorithm = chosen->algorithm;
  call.protocol = chosen->protocol;
  call.version = nccl.version();
  call.compute_capability = nccl.system().min_compute_capability();
  call.nodes = nccl.nodes();
  call.node_ranks = nccl.ranks() / std::max(1U, nccl.nodes());
  call.stripes = nccl.stripes(NcclAlgorithm::nvls);
  call.in_place = compiler.spec().run.in_place;
  call.min_thread_blocks = variable_of(compiler, "NCCL_MIN_CTAS", call.min_thread_blocks);
  call.max_thread_blocks = variable_of(compiler, "NCCL_MAX_CTAS", call.max_thread_blocks);
  return user_registration(call);
}

/// As a sentence or two, with an empty line before.
void print_user_buffers(const CallCompiler& compiler, const Explanation& explanation,
                        std::ostream& out) {
  const auto registration = user_buffers_of(compiler, explanation);
  const std::string text =
      registration
          ? sentence_of(*registration, *chosen_candidate(explanation), compiler.spec().run.graph)
          : "user buffers: what registration changes is known of what NCCL tunes only";
  out << '\n' << wrapped(text, "", "  ");
}

/// As JSON has it; null where nothing is known.
Record user_buffers_record(const CallCompiler& compiler, const Explanation& explanation) {
  const auto registration = user_buffers_of(compiler, explanation);
  if (!registration) return {};
  Record record;
  record["applies"] = registration->why_not.empty();
  record["why_not"] = registration->why_not;
  record["saves"] = registration->saves;
  record["needs"] = registration->needs;
  record["thread_blocks"] =
      registration->thread_blocks ? Record(*registration->thread_blocks) : Record();
  return record;
}

/// One way to run the call.
struct ExplainedKernel {
  std::string kernel;
  Prediction prediction;
  std::optional<PeerCallParts> parts;  ///< none of NCCL
  std::string reason;                  ///< why the engine runs it; empty: it does not
};

struct ExplainedKernels {
  std::string engine;
  Bytes size;
  Rank ranks = 0;
  std::string choice;
  std::vector<ExplainedKernel> kernels;
  std::vector<std::string> absent;  ///< "multimem: no NVSwitch of the machine adds up"
};

std::vector<std::string> names_of(const KernelQuestion& question, const std::string& chosen) {
  constexpr std::array all{"one_shot", "two_shot", "multimem_one_shot", "multimem_two_shot",
                           "nccl"};
  if (question.kernels.front() == "auto") return {all.begin(), all.end()};
  std::vector<std::string> names = question.kernels;
  if (std::find(names.begin(), names.end(), chosen) == names.end()) names.push_back(chosen);
  return names;
}

ExplainedKernels explained(const CallRequest& request, const KernelQuestion& question, Bytes size) {
  PeerCalls calls = peer_calls_of(request, question, true, request.gpus);
  const PeerCallChoice choice = calls.choose(size);
  ExplainedKernels all{to_string(calls.engine()), size, calls.ranks(), choice.reason, {}, {}};
  for (const std::string& name : names_of(question, choice.kernel)) {
    if (const auto reason = calls.why_not(name)) {
      all.absent.push_back(fmt::format("{}: {}", name, *reason));
      continue;
    }
    const bool chosen = name == choice.kernel;
    ExplainedKernel each{name, chosen ? calls.predict(size) : calls.predict(name, size), {}, {}};
    if (name != "nccl") each.parts = chosen ? calls.chosen_parts(size) : calls.parts(name, size);
    if (chosen) each.reason = choice.reason;
    all.kernels.push_back(std::move(each));
  }
  std::sort(all.kernels.begin(), all.kernels.end(),
            [](const auto& a, const auto& b) { return a.prediction.time < b.prediction.time; });
  return all;
}

void print(const ExplainedKernels& all, const CallRequest& request, std::ostream& out) {
  fmt::print(out, "all_reduce of {} on {}, {} ranks, kernels of {}{}\n", to_string(all.size),
             request.topology.name(), all.ranks, all.engine,
             request.scenario.runs.front().graph ? ", in a CUDA graph" : "");
  fmt::print(out, "{}\n\n", all.choice);
  fmt::print(out, "  {:<18} {:>9} {:>9} {:>9} {:>9}\n", "kernel", "time (us)", "flags", "bytes",
             "launch");
  for (const ExplainedKernel& each : all.kernels) {
    fmt::print(out, "  {:<18} {:>9.2f}", each.kernel, in_microseconds(each.prediction.time));
    if (each.parts) {
      fmt::print(out, " {:>9.2f} {:>9.2f} {:>9.2f}", in_microseconds(each.parts->flags),
                 in_microseconds(each.parts->kernel - each.parts->flags),
                 in_microseconds(each.parts->launch));
    } else {
      fmt::print(out, " {:>29}", "by " + each.prediction.algorithm);
    }
    fmt::print(out, "{}\n", each.reason.empty() ? "" : "  <- runs");
  }
  for (const std::string& text : all.absent) fmt::print(out, "  {}\n", text);
  for (const ExplainedKernel& each : all.kernels) {
    if (each.reason.empty() || !each.parts) continue;
    fmt::print(out,
               "\n{}: its bytes take {:.2f} us at the line rate of the busiest port, of which its "
               "loads reach {:.0f} %\n",
               each.kernel, in_microseconds(each.parts->wire), 100 * each.parts->cost->port_share);
  }
}

Record document_of(const ExplainedKernels& all, const CallRequest& request) {
  Record kernels = Record::array();
  for (const ExplainedKernel& each : all.kernels) {
    Record record{{"kernel", each.kernel},
                  {"time_us", in_microseconds(each.prediction.time)},
                  {"runs", !each.reason.empty()}};
    const auto part = [&](const char* key, Seconds PeerCallParts::*member) {
      record[key] = each.parts ? Record(in_microseconds((*each.parts).*member)) : Record();
    };
    part("flags_us", &PeerCallParts::flags);
    part("wire_us", &PeerCallParts::wire);
    part("kernel_us", &PeerCallParts::kernel);
    part("launch_us", &PeerCallParts::launch);
    record["trust"] = to_string(each.prediction.trust);
    kernels.push_back(std::move(record));
  }
  Record document = context_of(request, nullptr);
  document["engine"] = all.engine;
  document["size_bytes"] = all.size.count;
  document["choice"] = all.choice;
  document["kernels"] = std::move(kernels);
  document["absent"] = all.absent;
  return document;
}

/// What an engine runs for one size, why, where its time goes, and what the others would take. The
/// request must outlive it.
Answer explain_kernels(const CallRequest& request, const KernelQuestion& question, Bytes size) {
  const ExplainedKernels all = explained(request, question, size);
  Answer answer;
  answer.draw([all, &request](std::ostream& out) { print(all, request, out); });
  answer.document = document_of(all, request);
  return answer;
}

/// What is said of a call with registered buffers.
struct ExplainedRegistered {
  std::string reason;   ///< why none of the kernels runs; empty: one does
  bool copies = false;  ///< copy engines do it
  std::optional<SymmetricChoice> choice;
  std::vector<Seconds> times;  ///< [candidate]
  Prediction runs;
  Prediction without;  ///< registered buffers
};

std::string sentence_of(const ExplainedRegistered& of) {
  if (of.copies) {
    return "Copy engines move the data (NCCL_CTA_POLICY=2): no kernel runs, and all "
           "multiprocessors are left to others.";
  }
  if (!of.choice) {
    return fmt::format("No kernel on symmetric memory runs: {}. NCCL runs {}.", of.reason,
                       of.runs.algorithm);
  }
  return fmt::format(
      "NCCL runs {} on {} thread block{}: of what it considers it has the least estimate with 2.5 "
      "% added for each thread block, and its rings and trees are not considered.",
      nccl_name(of.choice->chosen.kernel), of.choice->used_blocks,
      of.choice->used_blocks == 1 ? "" : "s");
}

void print(const ExplainedRegistered& of, const CallRequest& request, Bytes size,
           std::ostream& out) {
  fmt::print(out, "{} of {} on {}, {} ranks, both buffers registered as windows\n{}\n",
             to_string(request.scenario.collective), to_string(size), request.topology.name(),
             request.ranks, sentence_of(of));
  if (of.choice) {
    fmt::print(out, "\n  {:<26} {:>13} {:>15} {:>14}\n", "kernel", "thread blocks",
               "NCCL's own (us)", "predicted (us)");
    for (std::size_t i = 0; i < of.choice->candidates.size(); ++i) {
      const SymmetricCandidate& candidate = of.choice->candidates[i];
      fmt::print(out, "  {:<26} {:>13} {:>15.2f} {:>14.2f}{}\n", nccl_name(candidate.kernel),
                 candidate.thread_blocks, candidate.time, in_microseconds(of.times[i]),
                 candidate.kernel == of.choice->chosen.kernel ? "  <- runs" : "");
    }
  }
  fmt::print(out, "\npredicted: {:.2f} us; without registered buffers {:.2f} us by {}\n",
             in_microseconds(of.runs.time), in_microseconds(of.without.time), of.without.algorithm);
}

Record document_of(const ExplainedRegistered& of, const CallRequest& request, Bytes size) {
  Record document = context_of(request, &request.scenario.runs.front());
  document["size_bytes"] = size.count;
  document["choice"] = sentence_of(of);
  document["kernel"] = of.choice ? Record(nccl_name(of.choice->chosen.kernel)) : Record();
  document["thread_blocks"] = of.choice ? Record(of.choice->used_blocks) : Record();
  document["time_us"] = in_microseconds(of.runs.time);
  document["time_without_us"] = in_microseconds(of.without.time);
  document["candidates"] = Record::array();
  for (std::size_t i = 0; of.choice && i < of.choice->candidates.size(); ++i) {
    const SymmetricCandidate& candidate = of.choice->candidates[i];
    document["candidates"].push_back({{"kernel", nccl_name(candidate.kernel)},
                                      {"thread_blocks", candidate.thread_blocks},
                                      {"estimate_us", candidate.time},
                                      {"time_us", in_microseconds(of.times[i])}});
  }
  return document;
}

/// Which symmetric kernel NCCL runs where the buffers are registered, and why: its own times of all
/// that it considers, and what they are predicted to take; or why it runs none. Throws InputError
/// for a textbook's schedule.
Answer explain_registered(const CallRequest& request, Bytes size, std::ostream& err) {
  const RunSpec& run = request.scenario.runs.front();
  if (run.schedule != ScheduleKind::nccl) {
    throw InputError("--registered in a textbook schedule", "NCCL's schedule");
  }
  RegisteredCalls calls(spec_of(request, run), true);
  print_warnings(warnings_of_registered(calls.compiler().warnings()), err);
  ExplainedRegistered of;
  of.reason = calls.why_not(size).value_or("");
  of.copies = calls.uses_copy_engines();
  of.runs = calls.predict(size);
  of.without = calls.without(size);
  if (of.reason.empty() && !of.copies) {
    of.choice = calls.choose(size);
    for (const SymmetricCandidate& candidate : of.choice->candidates) {
      of.times.push_back(calls.time_of(candidate.kernel, candidate.thread_blocks, size));
    }
  }
  Answer answer;
  answer.draw([of, &request, size](std::ostream& out) { print(of, request, size, out); });
  answer.document = document_of(of, request, size);
  return answer;
}

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
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ExplainedCall& call = calls[i];
    answer.draw([&, with_user_buffers](std::ostream& out) {
      const Section section{&request, &call.compiler->spec().run, "native"};
      print_explanation(section, *call.compiler, call.explanation, out);
      if (with_user_buffers) print_user_buffers(*call.compiler, call.explanation, out);
    });
    Record record = explanation_record(request, request.scenario.runs[i], call.explanation);
    if (with_user_buffers) {
      record["user_buffers"] = user_buffers_record(*call.compiler, call.explanation);
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
        "Explains one call: the candidates and NCCL's choice, how the data is divided, where the "
        "time goes, the critical path through the machine, and the busiest resources.",
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
