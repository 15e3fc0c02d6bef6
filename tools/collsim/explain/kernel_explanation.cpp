#include "tools/collsim/explain/kernel_explanation.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

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

}  // namespace

Answer explain_kernels(const CallRequest& request, const KernelQuestion& question, Bytes size) {
  const ExplainedKernels all = explained(request, question, size);
  Answer answer;
  answer.draw([all, &request](std::ostream& out) { print(all, request, out); });
  answer.document = document_of(all, request);
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
  Answer answer;
  answer.draw([of, &request, size](std::ostream& out) { print(of, request, size, out); });
  answer.document = document_of(of, request, size);
  return answer;
}

}  // namespace collsim::command
