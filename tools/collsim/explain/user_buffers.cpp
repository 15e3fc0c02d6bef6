#include "tools/collsim/explain/user_buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number.h"

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

}  // namespace

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

Record add_user_buffers(const CallCompiler& compiler, const Explanation& explanation,
                        Answer& answer) {
  const auto registration = user_buffers_of(compiler, explanation);
  answer.say(
      {registration
           ? sentence_of(*registration, *chosen_candidate(explanation), compiler.spec().run.graph)
           : "user buffers: what registration changes is known of what NCCL tunes only",
       "", "  "});
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

}  // namespace collsim::command
