#include "tools/collsim/train/faulted_ranks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace collsim {

namespace {

/// The largest call on a communicator, if there is one.
std::optional<ProgramCall> largest_call(const CallProgram& program, std::uint32_t communicator) {
  std::optional<ProgramCall> largest;
  const auto look = [&](const std::vector<ProgramCall>& calls) {
    for (const ProgramCall& call : calls) {
      if (call.communicator != communicator) continue;
      if (!largest || call.bytes > largest->bytes) largest = call;
    }
  };
  for (const RankGroup& group : program.groups) {
    for (const ProgramOp& op : group.ops) {
      look(op.calls);
      look(op.inner);
    }
  }
  return largest;
}

/// By how many ranks the communicators like one lie after the first of them. The one of its group
/// that begins at the group's first rank has ranks a stride apart; between two strides there are
/// others, and after its last rank they begin anew. Links of two groups are one for each rank.
std::vector<Rank> shifts_of(const CallProgram& program, const ProgramCommunicator& communicator) {
  std::vector<Rank> shifts;
  const auto size = static_cast<Rank>(program.groups[communicator.groups.front()].ranks.size());
  const auto members = static_cast<Rank>(communicator.ranks.size());
  const bool is_link = communicator.groups.size() > 1;
  const Rank stride = is_link ? size : communicator.ranks[1] - communicator.ranks[0];
  const Rank span = is_link ? size : stride * members;
  for (Rank first = 0; first + span <= size; first += span) {
    for (Rank i = 0; i < stride; ++i) shifts.push_back(first + i);
  }
  return shifts;
}

bool meets_fault(const ProgramCommunicator& communicator, const FaultedRanks& faulted) {
  return faulted.between_switches ||
         std::any_of(communicator.ranks.begin(), communicator.ranks.end(),
                     [&](Rank rank) { return faulted.near[rank]; });
}

ProgramCommunicator moved(const ProgramCommunicator& communicator, Rank by) {
  ProgramCommunicator other = communicator;
  for (Rank& rank : other.ranks) rank += by;
  return other;
}

}  // namespace

FaultedRanks faulted_ranks(const MachineCalls& calls) {
  FaultedRanks faulted;
  faulted.any = !calls.faults.empty();
  if (!faulted.any) return faulted;
  const Topology& topology = *calls.topology;
  std::vector<bool> nodes(topology.node_count(), false);
  for (const LinkFault& fault : calls.faults.links) {
    for (const LinkId id : fault.links) {
      const Link link = topology.link(id);
      bool of_node = false;
      for (const DeviceId end : {link.from, link.to}) {
        if (topology.node_of(end) < 0) continue;
        nodes[static_cast<std::size_t>(topology.node_of(end))] = true;
        of_node = true;
      }
      if (!of_node) faulted.between_switches = true;
    }
  }
  for (const DeviceId gpu : calls.gpus) {
    faulted.near.push_back(nodes[static_cast<std::size_t>(std::max(0, topology.node_of(gpu)))]);
  }
  return faulted;
}

void move_to_slowest(CallProgram& program, const FaultedRanks& faulted, CallCosts& costs) {
  for (std::uint32_t i = 0; i < program.communicators.size(); ++i) {
    const ProgramCommunicator first = program.communicators[i];
    const auto call = largest_call(program, i);
    if (!call || first.ranks.size() < 2) continue;
    Seconds slowest = costs.cost_of(first, *call).alone;
    for (const Rank shift : shifts_of(program, first)) {
      ProgramCommunicator other = moved(first, shift);
      if (shift == 0 || !meets_fault(other, faulted)) continue;
      const Seconds time = costs.cost_of(other, *call).alone;
      if (time <= slowest) continue;
      slowest = time;
      program.communicators[i] = std::move(other);
    }
  }
}

}  // namespace collsim
