#include "models/program/call_program.h"

#include <algorithm>
#include <array>
#include <utility>

namespace collsim {

namespace {

constexpr std::array program_calls{
    std::pair{ProgramCallKind::all_reduce, std::string_view("all_reduce")},
    std::pair{ProgramCallKind::all_gather, std::string_view("all_gather")},
    std::pair{ProgramCallKind::reduce_scatter, std::string_view("reduce_scatter")},
    std::pair{ProgramCallKind::broadcast, std::string_view("broadcast")},
    std::pair{ProgramCallKind::reduce, std::string_view("reduce")},
    std::pair{ProgramCallKind::all_to_all, std::string_view("all_to_all")},
    std::pair{ProgramCallKind::send, std::string_view("send")},
    std::pair{ProgramCallKind::receive, std::string_view("receive")},
};

}  // namespace

std::string_view to_string(ProgramCallKind kind) {
  return program_calls[static_cast<std::size_t>(kind)].second;
}

std::optional<ProgramCallKind> find_program_call(std::string_view name) {
  for (const auto& [kind, known] : program_calls) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::string program_call_names() {
  std::string names;
  for (const auto& [kind, name] : program_calls) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

Collective collective_of(ProgramCallKind kind) {
  switch (kind) {
    case ProgramCallKind::all_reduce:
      return Collective::all_reduce;
    case ProgramCallKind::all_gather:
      return Collective::all_gather;
    case ProgramCallKind::reduce_scatter:
      return Collective::reduce_scatter;
    case ProgramCallKind::broadcast:
      return Collective::broadcast;
    case ProgramCallKind::reduce:
      return Collective::reduce;
    case ProgramCallKind::all_to_all:
      return Collective::all_to_all;
    case ProgramCallKind::send:
    case ProgramCallKind::receive:
      break;
  }
  return Collective::scatter;
}

Rank ranks_of(const CallProgram& program) {
  std::size_t ranks = 0;
  for (const RankGroup& group : program.groups) ranks += group.ranks.size();
  return static_cast<Rank>(ranks);
}

Rank place_of_group(const CallProgram& program, std::uint32_t communicator, std::uint32_t group) {
  const std::vector<Rank>& own = program.groups[group].ranks;
  const std::vector<Rank>& all = program.communicators[communicator].ranks;
  const auto found = std::find_first_of(all.begin(), all.end(), own.begin(), own.end());
  return found == all.end() ? 0 : static_cast<Rank>(found - all.begin());
}

void launch_calls_apart(CallProgram& program, Seconds launch) {
  for (RankGroup& group : program.groups) {
    for (std::size_t i = 1; i < group.ops.size(); ++i) {
      if (!group.ops[i - 1].computes() && group.ops[i].host.value == 0) group.ops[i].host = launch;
    }
  }
}

void count_alike(CallProgram& program, Rank per_node) {
  const Rank on_node = std::min(per_node, ranks_of(program));
  for (ProgramCommunicator& each : program.communicators) {
    if (each.ranks.empty()) continue;
    const Rank node = each.ranks.front() / per_node;
    const auto is_there = [&](Rank rank) { return rank / per_node == node; };
    const auto own = std::count_if(each.ranks.begin(), each.ranks.end(), is_there);
    each.alike = std::max<std::uint32_t>(1, on_node / static_cast<std::uint32_t>(own));
    if (!each.instances.empty()) {
      each.alike = static_cast<std::uint32_t>(std::count_if(
          each.instances.begin(), each.instances.end(), [&](const std::vector<Rank>& ranks) {
            return std::any_of(ranks.begin(), ranks.end(), is_there);
          }));
    }
    each.beside.clear();
    for (const std::uint32_t group : each.groups) {
      const std::vector<Rank>& ranks = program.groups[group].ranks;
      each.beside.insert(each.beside.end(), ranks.begin(), ranks.end());
    }
    std::sort(each.beside.begin(), each.beside.end());
  }
}

}  // namespace collsim
