#include "tools/collsim/hang/hang_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <set>

namespace collsim::command {

namespace {

using Ranks = std::vector<std::uint32_t>;

std::int64_t sum_of(const std::vector<std::int64_t>& elements) {
  return std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
}

/// "communicator 72 (EXPERT_MODEL_PARALLEL_GROUP)".
std::string communicator_words(const JobCommunicator& communicator) {
  std::string text = fmt::format("communicator {}", communicator.name);
  const bool says_more = !communicator.description.empty() &&
                         communicator.description != "undefined" &&
                         communicator.description != communicator.name;
  if (says_more) text += fmt::format(" ({})", communicator.description);
  return text;
}

/// "train.py:88 in step".
std::string frame_words(const FlightFrame& frame) {
  return fmt::format("{}:{} in {}", std::filesystem::path(frame.file).filename().string(),
                     frame.line, frame.function);
}

/// "all_reduce of 1048576 Float".
std::string shape_words(const FlightShape& shape) {
  const bool has_inputs = !shape.inputs.empty();
  const auto& elements = has_inputs ? shape.inputs : shape.outputs;
  const auto& types = has_inputs ? shape.input_types : shape.output_types;
  if (elements.empty()) return shape.operation;
  std::string text = fmt::format("{} of {}", shape.operation, sum_of(elements));
  if (!types.empty()) text += fmt::format(" {}", types.front());
  return text;
}

/// What the ranks of a call issued, by one of those that did.
const FlightEntry* any_entry(const JobCall& call) {
  for (const Participation& part : call.participants) {
    if (part.entry != nullptr) return part.entry;
  }
  return nullptr;
}

std::string operation_of(const JobCall& call) {
  if (call.is_exchange) {
    return fmt::format("the send from rank {} to rank {}", call.sender, call.receiver);
  }
  const FlightEntry* const entry = any_entry(call);
  return entry == nullptr ? "a call" : entry->shape.operation;
}

/// "all_reduce, call 5 of communicator 0 (default_pg)"
std::string call_words(const Job& job, std::size_t index) {
  const JobCall& call = job.calls[index];
  const std::string communicator = communicator_words(job.communicators[call.communicator]);
  if (call.is_exchange) return fmt::format("{} on {}", operation_of(call), communicator);
  return fmt::format("{}, call {} of {}", operation_of(call), call.sequence, communicator);
}

/// The same for ranks that do not agree which operation it is.
std::string number_words(const Job& job, std::size_t index) {
  const JobCall& call = job.calls[index];
  if (call.is_exchange) return call_words(job, index);
  return fmt::format("call {} of {}", call.sequence,
                     communicator_words(job.communicators[call.communicator]));
}

std::string have(const Ranks& ranks) {
  return ranks.size() == 1 ? "has" : "have";
}

std::string wait_words(const HangFinding& finding) {
  Ranks others;
  std::set_difference(finding.waiting.begin(), finding.waiting.end(), finding.suspects.begin(),
                      finding.suspects.end(), std::back_inserter(others));
  std::string text;
  if (!others.empty()) {
    text =
        fmt::format(" {} wait{} because of it.", rank_words(others), others.size() == 1 ? "s" : "");
    text[1] = 'R';
  }
  if (!finding.undumped.empty() && finding.verdict != HangVerdict::no_dump) {
    text += fmt::format(" The dump of {} is missing.", rank_words(finding.undumped));
  }
  return text;
}

std::string late_words(const Job& job, const HangFinding& finding) {
  const std::string call = call_words(job, finding.call);
  if (!finding.waited) return fmt::format("{} was waited for.", call);
  const bool is_open = !finding.waiting.empty();
  std::string text = fmt::format("{} {} {:.1f} s{}; a wait of {:g} s is a hang.", call,
                                 is_open ? "had been waited for" : "took", finding.waited->value,
                                 is_open ? " when the dumps were written" : " and completed",
                                 finding.timeout->value);
  if (!finding.suspects.empty() && finding.undumped.empty()) {
    text += fmt::format(" {} came last.", rank_words(finding.suspects));
  }
  return text;
}

std::string missing_words(const Job& job, const HangFinding& finding) {
  return fmt::format("{} left out {}.", rank_words(finding.suspects),
                     call_words(job, finding.call));
}

std::string cycle_words(const Job& job, const HangFinding& finding) {
  std::string text = "Ranks wait for each other: ";
  for (std::size_t i = 0; i < finding.groups.size(); ++i) {
    const HangGroup& group = finding.groups[i];
    text += fmt::format("{}{} in {}", i == 0 ? "" : "; ", rank_words(group.ranks),
                        call_words(job, group.call));
  }
  return text + ". None of them has issued what the others wait for.";
}

std::string cpu_words(const Job& job, const HangFinding& finding) {
  return fmt::format(
      "{} never issued {}. All that {} issued has completed, so {} Python program is stuck, "
      "slow or gone, not NCCL.",
      rank_words(finding.suspects), call_words(job, finding.call),
      finding.suspects.size() == 1 ? "it" : "they", finding.suspects.size() == 1 ? "its" : "their");
}

std::string gpu_words(const Job& job, const HangFinding& finding) {
  return fmt::format("{} {} issued {}, which others have completed, and {} not completed it.",
                     rank_words(finding.suspects), have(finding.suspects),
                     call_words(job, finding.call), have(finding.suspects));
}

std::string nccl_words(const Job& job, const HangFinding& finding) {
  const auto& parts = job.calls[finding.call].participants;
  const bool is_aborted = std::any_of(parts.begin(), parts.end(), [](const Participation& part) {
    return part.entry != nullptr && part.entry->is_completed;
  });
  return fmt::format("{} issued {}, alike, wait in nothing older, and do not complete it{}.",
                     rank_words(finding.suspects), call_words(job, finding.call),
                     is_aborted ? ": the watchdog aborted it after its timeout" : "");
}

std::string no_dump_words(const Job& job, const HangFinding& finding) {
  return fmt::format(
      "All ranks of {} that have a dump have issued it. The dump of {} is missing: its process "
      "died, or never came to the call.",
      call_words(job, finding.call), rank_words(finding.undumped));
}

std::string different_words(const Job& job, const HangFinding& finding) {
  return fmt::format("Ranks issued different calls as {}.", number_words(job, finding.call));
}

std::string order_words(const Job& job, const HangFinding& finding) {
  return fmt::format("Ranks issued {} and the next one in different order.",
                     number_words(job, finding.call));
}

std::string other_communicator_words(const Job& job, const HangFinding& finding) {
  return fmt::format("{} issued {} on another communicator.", rank_words(finding.suspects),
                     call_words(job, finding.call));
}

/// What is said of a verdict.
struct VerdictWords {
  HangVerdict verdict;
  std::string (*explanation)(const Job& job, const HangFinding& finding);
  std::string_view check;
};

constexpr std::string_view of_conditions =
    "conditions by which ranks take different ways to the lines above: a last batch, an exception, "
    "an `if rank == 0`, parameters without gradients";
constexpr std::string_view of_tensors =
    "tensors whose shape or type depends on the rank: uneven batches, mixed precision, a "
    "checkpoint of another configuration";
constexpr auto verdict_words = std::to_array<VerdictWords>({
    {HangVerdict::late, late_words,
     "what the last rank did before the call: loading data, saving a checkpoint, compiling; or a "
     "longer timeout in init_process_group"},
    {HangVerdict::missing_call, missing_words, of_conditions},
    {HangVerdict::other_operation, different_words, of_conditions},
    {HangVerdict::other_order, order_words, of_conditions},
    {HangVerdict::other_type, different_words, of_tensors},
    {HangVerdict::other_size, different_words, of_tensors},
    {HangVerdict::other_communicator, other_communicator_words,
     "the group= argument in the lines above"},
    {HangVerdict::cycle, cycle_words,
     "the order in which these ranks issue calls on different groups, and their group= arguments; "
     "all ranks must use one order"},
    {HangVerdict::cpu_side, cpu_words,
     "py-spy dump on those ranks; the data loader, file systems, locks, an exception, a killed "
     "process"},
    {HangVerdict::gpu, gpu_words,
     "Xid errors in dmesg and nvidia-smi -q on those ranks' hosts; kernels that precede the call "
     "in its stream; CUDA_LAUNCH_BLOCKING=1"},
    {HangVerdict::nccl, nccl_words,
     "the network and NVLink between these ranks: NCCL_DEBUG=WARN, ibstat, nvidia-smi nvlink -s, "
     "dmesg; a hang in the first call is often one of NICs or firewalls"},
    {HangVerdict::no_dump, no_dump_words,
     "the log and the exit code of the ranks without a dump: an exception, memory, a host that is "
     "gone"},
});

const VerdictWords* words_of(HangVerdict verdict) {
  const auto* const found =
      std::find_if(verdict_words.begin(), verdict_words.end(),
                   [&](const VerdictWords& each) { return each.verdict == verdict; });
  return found == verdict_words.end() ? nullptr : found;
}

std::string capital(std::string text) {
  if (text.starts_with("rank")) text.front() = 'R';
  return text;
}

}  // namespace

std::string rank_ranges(const Ranks& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string rank_words(const Ranks& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_ranges(ranks));
}

std::string short_call_words(const JobCall& call) {
  if (call.is_exchange) return fmt::format("send {}->{}", call.sender, call.receiver);
  return fmt::format("#{} {}", call.sequence, operation_of(call));
}

std::string headline_of(const Job& job, const HangAnalysis& analysis) {
  std::string verdict(to_string(analysis.verdict));
  if (analysis.findings.empty()) {
    return fmt::format("{}: {} dump{}, all calls are alike and have completed", verdict,
                       job.records.size(), job.records.size() == 1 ? "" : "s");
  }
  std::set<std::uint32_t> suspects;
  for (const HangFinding& finding : analysis.findings) {
    if (finding.verdict != analysis.verdict) continue;
    suspects.insert(finding.suspects.begin(), finding.suspects.end());
  }
  if (suspects.empty()) return verdict;
  return fmt::format("{}: {}", verdict, rank_words({suspects.begin(), suspects.end()}));
}

std::string explanation_of(const Job& job, const HangFinding& finding) {
  const VerdictWords* const words = words_of(finding.verdict);
  const std::string text = words == nullptr ? std::string() : words->explanation(job, finding);
  return capital(text) + wait_words(finding);
}

std::string group_words(const Job& job, const HangGroup& group) {
  std::string text = rank_words(group.ranks);
  if (group.entry == nullptr) {
    text += group.progress == Progress::completed ? ": completed, no longer in the dump"
                                                  : ": never issued";
    return text;
  }
  text += fmt::format(": {}", shape_words(group.entry->shape));
  if (!job.calls[group.call].is_exchange) {
    const JobCall& call = job.calls[group.call];
    text += fmt::format(", #{} of {}", call.sequence, job.communicators[call.communicator].name);
  }
  if (group.entry->frame) text += fmt::format(", {}", frame_words(*group.entry->frame));
  return text + (group.progress == Progress::completed ? ", completed" : ", not completed");
}

std::string_view check_of(HangVerdict verdict) {
  const VerdictWords* const words = words_of(verdict);
  return words == nullptr ? std::string_view() : words->check;
}

}  // namespace collsim::command
