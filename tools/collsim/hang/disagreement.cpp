#include "tools/collsim/hang/disagreement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace collsim {

namespace {

/// What ranks must have in common.
struct Common {
  std::string operation;
  std::string type;
  std::vector<std::int64_t> sizes;
  auto operator<=>(const Common&) const = default;
};

std::int64_t total(const std::vector<std::int64_t>& elements) {
  return std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
}

/// Which tensors have the same sizes on all ranks, by operation. Others have both.
bool has_equal_inputs(std::string_view operation) {
  static const std::set<std::string_view> differing{
      "all_to_all", "alltoall",       "alltoall_base", "all_to_all_single",
      "scatter",    "_broadcast_oop", "all_gather"};
  return !differing.contains(operation);
}

bool has_equal_outputs(std::string_view operation) {
  static const std::set<std::string_view> differing{
      "all_to_all", "alltoall",    "alltoall_base", "all_to_all_single",
      "gather",     "_reduce_oop", "reduce_scatter"};
  return !differing.contains(operation);
}

Common common_of(const FlightEntry& entry) {
  const FlightShape& shape = entry.shape;
  Common common{shape.operation, {}, {}};
  if (entry.sender) {  // of a send its input, of a receive its output
    const bool sends = shape.operation == "send";
    const auto& elements = sends || shape.outputs.empty() ? shape.inputs : shape.outputs;
    const auto& types =
        sends || shape.output_types.empty() ? shape.input_types : shape.output_types;
    return {"send and receive", types.empty() ? std::string() : types.front(), {total(elements)}};
  }
  const bool inputs = has_equal_inputs(shape.operation);
  const bool outputs = has_equal_outputs(shape.operation);
  if (inputs) common.sizes.push_back(total(shape.inputs));
  if (outputs) common.sizes.push_back(total(shape.outputs));
  const auto& types = inputs || shape.output_types.empty() ? shape.input_types : shape.output_types;
  const bool is_empty = total(shape.inputs) + total(shape.outputs) == 0;
  if (!types.empty() && !is_empty) common.type = types.front();
  return common;
}

std::map<Common, Agreeing> groups_of(const JobCall& call) {
  std::map<Common, Agreeing> groups;
  for (std::size_t i = 0; i < call.participants.size(); ++i) {
    const FlightEntry* const entry = call.participants[i].entry;
    if (entry != nullptr) groups[common_of(*entry)].push_back(i);
  }
  return groups;
}

HangVerdict verdict_of(const std::map<Common, Agreeing>& groups) {
  const Common& first = groups.begin()->first;
  HangVerdict verdict = HangVerdict::other_size;
  for (const auto& [common, group] : groups) {
    if (common.operation != first.operation) return HangVerdict::other_operation;
    if (common.type != first.type) verdict = HangVerdict::other_type;
  }
  return verdict;
}

/// The first part of a call of a communicator that lies so many calls behind another one.
const JobCall* call_after(const Job& job, std::size_t call, std::size_t distance) {
  const JobCall& first = job.calls[call];
  if (call + distance >= job.calls.size()) return nullptr;
  const JobCall& later = job.calls[call + distance];
  const bool follows = later.communicator == first.communicator && !later.is_exchange;
  return follows ? &later : nullptr;
}

const FlightEntry* entry_of(const JobCall* call, std::size_t participant) {
  return call == nullptr ? nullptr : call->participants[participant].entry;
}

/// Two calls that a rank issued in the other order.
bool is_swapped(const Job& job, std::size_t call, std::size_t usual, std::size_t other) {
  const JobCall* const next = call_after(job, call, 1);
  const FlightEntry* const usual_next = entry_of(next, usual);
  const FlightEntry* const other_next = entry_of(next, other);
  if (usual_next == nullptr || other_next == nullptr) return false;
  const JobCall& here = job.calls[call];
  return common_of(*here.participants[usual].entry) == common_of(*other_next) &&
         common_of(*here.participants[other].entry) == common_of(*usual_next);
}

/// A call that a rank left out: from there on it is one call ahead of the others, to its last.
bool is_left_out(const Job& job, std::size_t call, std::size_t usual, std::size_t other) {
  std::size_t compared = 0;
  for (std::size_t ahead = 0;; ++ahead) {
    const FlightEntry* const left = entry_of(call_after(job, call, ahead), other);
    const FlightEntry* const right = entry_of(call_after(job, call, ahead + 1), usual);
    if (left == nullptr || right == nullptr) break;
    if (common_of(*left) != common_of(*right)) return false;
    ++compared;
  }
  return compared > 0;
}

std::uint32_t rank_at(const Job& job, const JobCall& call, std::size_t participant) {
  return job.records[call.participants[participant].record].rank;
}

Disagreement disagreement_of(const Job& job, std::size_t index,
                             const std::map<Common, Agreeing>& groups) {
  const JobCall& call = job.calls[index];
  Disagreement found{index, verdict_of(groups), {}, {}, std::numeric_limits<std::int64_t>::max()};
  for (const auto& [common, group] : groups) found.groups.push_back(group);
  std::stable_sort(found.groups.begin(), found.groups.end(),
                   [](const Agreeing& a, const Agreeing& b) {
                     return a.size() != b.size() ? a.size() > b.size() : a < b;
                   });
  const bool has_majority = found.groups[0].size() > found.groups[1].size();
  for (std::size_t i = has_majority ? 1 : 0; i < found.groups.size(); ++i) {
    for (const std::size_t each : found.groups[i]) {
      found.suspects.push_back(rank_at(job, call, each));
    }
  }
  std::sort(found.suspects.begin(), found.suspects.end());
  for (const Participation& each : call.participants) {
    if (each.entry == nullptr) continue;
    found.first_issued_ns = std::min(found.first_issued_ns, each.entry->created_ns);
  }
  const std::size_t usual = found.groups[0].front();
  const std::size_t other = found.groups[1].front();
  if (call.is_exchange) return found;
  if (is_swapped(job, index, usual, other)) {
    found.verdict = HangVerdict::other_order;
  } else if (has_majority && is_left_out(job, index, usual, other)) {
    found.verdict = HangVerdict::missing_call;
  }
  return found;
}

/// Where a rank's dump has calls before and after one that others issued.
bool has_gap(const JobCall& call, const MemberState& state, const Participation& part) {
  return part.progress == Progress::absent && call.sequence <= state.issued;
}

/// A call that is missing in the middle of a rank's dump.
Disagreement gap_of(const Job& job, std::size_t index) {
  const JobCall& call = job.calls[index];
  Disagreement found{index, HangVerdict::missing_call, {{}, {}}, {}, 0};
  if (call.is_exchange) return found;
  for (std::size_t i = 0; i < call.participants.size(); ++i) {
    const Participation& part = call.participants[i];
    if (has_gap(call, job.states[call.communicator][i], part)) {
      found.groups[1].push_back(i);
      found.suspects.push_back(rank_at(job, call, i));
    } else if (part.entry != nullptr) {
      found.groups[0].push_back(i);
      found.first_issued_ns = part.entry->created_ns;
    }
  }
  return found;
}

}  // namespace

bool agree(const FlightEntry& a, const FlightEntry& b) {
  return common_of(a) == common_of(b);
}

std::vector<Disagreement> find_disagreements(const Job& job) {
  std::vector<Disagreement> found;
  std::set<std::tuple<std::size_t, bool, std::uint32_t, std::uint32_t>> done;
  for (std::size_t i = 0; i < job.calls.size(); ++i) {
    const JobCall& call = job.calls[i];
    const auto series = std::tuple(call.communicator, call.is_exchange, call.sender, call.receiver);
    if (done.contains(series)) continue;
    const auto groups = groups_of(call);
    if (groups.size() > 1) {
      found.push_back(disagreement_of(job, i, groups));
      done.insert(series);
      continue;
    }
    const Disagreement gap = gap_of(job, i);
    if (gap.suspects.empty()) continue;
    found.push_back(gap);
    done.insert(series);
  }
  std::stable_sort(found.begin(), found.end(), [](const Disagreement& a, const Disagreement& b) {
    return a.first_issued_ns < b.first_issued_ns;
  });
  return found;
}

}  // namespace collsim
