#include "tools/collsim/explain/kernel_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/nccl/symmetric_setting.h"
#include "models/peer_kernels/registered_calls.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/call_rows.h"

namespace collsim::command {

namespace {

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

Table kernel_table(const ExplainedKernels& all) {
  Table table;
  for (const ExplainedKernel& each : all.kernels) {
    const auto part = [&](Seconds PeerCallParts::*member) {
      return each.parts ? Record(in_microseconds((*each.parts).*member)) : Record();
    };
    NewRow add(table);
    add({"kernel", "kernel"}, each.kernel);
    add({"time_us", "time", "(us)"}, in_microseconds(each.prediction.time));
    add({"runs", "runs"}, !each.reason.empty());
    add({"flags_us", "flags", "(us)"}, part(&PeerCallParts::flags));
    add({"wire_us", "line rate", "(us)"}, part(&PeerCallParts::wire));
    add({"kernel_us", "in all", "(us)"}, part(&PeerCallParts::kernel));
    add({"launch_us", "launch", "(us)"}, part(&PeerCallParts::launch));
    add({"trust", "trust", "", 2, 1, wide_only}, to_string(each.prediction.trust));
  }
  return table;
}

}  // namespace

Answer explain_kernels(const CallRequest& request, const KernelQuestion& question, Bytes size) {
  const ExplainedKernels all = explained(request, question, size);
  Answer answer;
  answer.head({fmt::format("all_reduce of {} on {}, {} ranks, kernels of {}{}", to_string(all.size),
                           request.topology.name(), all.ranks, all.engine,
                           request.scenario.runs.front().graph ? ", in a CUDA graph" : ""),
               all.choice});
  AnswerSection kernels{"", {}, {}, {kernel_table(all)}};
  kernels.apart = true;
  for (const std::string& text : all.absent) kernels.after.emplace_back(text, "  ", "    ");
  for (const ExplainedKernel& each : all.kernels) {
    if (each.parts) continue;
    kernels.after.emplace_back(fmt::format("{}: by {}", each.kernel, each.prediction.algorithm),
                               "  ", "    ");
  }
  answer.sections.push_back(std::move(kernels));
  for (const ExplainedKernel& each : all.kernels) {
    if (each.reason.empty() || !each.parts) continue;
    answer.say(fmt::format(
        "{}: its bytes take {:.2f} us at the line rate of the busiest port, of "
        "which its loads reach {:.0f} %",
        each.kernel, in_microseconds(each.parts->wire), 100 * each.parts->cost->port_share));
  }
  answer.document = context_of(request, nullptr);
  answer.document["engine"] = all.engine;
  answer.document["size_bytes"] = all.size.count;
  answer.document["choice"] = all.choice;
  answer.document["kernels"] = kernel_table(all).rows;
  answer.document["absent"] = all.absent;
  return answer;
}

namespace {

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

Table candidate_table(const ExplainedRegistered& of) {
  Table table;
  for (std::size_t i = 0; of.choice && i < of.choice->candidates.size(); ++i) {
    const SymmetricCandidate& candidate = of.choice->candidates[i];
    NewRow add(table);
    add({"kernel", "kernel"}, nccl_name(candidate.kernel));
    add({"thread_blocks", "thread blocks"}, candidate.thread_blocks);
    add({"estimate_us", "NCCL's own", "(us)"}, candidate.time);
    add({"time_us", "predicted", "(us)"}, in_microseconds(of.times[i]));
  }
  return table;
}

Answer answer_of(const ExplainedRegistered& of, const CallRequest& request, Bytes size) {
  Answer answer;
  Table candidates = candidate_table(of);
  answer.document = context_of(request, &request.scenario.runs.front());
  answer.document["size_bytes"] = size.count;
  answer.document["choice"] = sentence_of(of);
  answer.document["kernel"] = of.choice ? Record(nccl_name(of.choice->chosen.kernel)) : Record();
  answer.document["thread_blocks"] = of.choice ? Record(of.choice->used_blocks) : Record();
  answer.document["time_us"] = in_microseconds(of.runs.time);
  answer.document["time_without_us"] = in_microseconds(of.without.time);
  answer.document["candidates"] = candidates.rows;
  answer.head({fmt::format("{} of {} on {}, {} ranks, both buffers registered as windows",
                           to_string(request.scenario.collective), to_string(size),
                           request.topology.name(), request.ranks),
               sentence_of(of)});
  answer.sections.push_back({"", {}, {}, {std::move(candidates)}});
  answer.sections.back().apart = true;
  answer.say(fmt::format("predicted: {:.2f} us; without registered buffers {:.2f} us by {}",
                         in_microseconds(of.runs.time), in_microseconds(of.without.time),
                         of.without.algorithm));
  return answer;
}

}  // namespace

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
  return answer_of(of, request, size);
}

}  // namespace collsim::command
