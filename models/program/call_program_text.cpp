#include "models/program/call_program_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// A name as YAML reads it, whatever is in it.
std::string written_name(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string written_time(Seconds time) {
  return fmt::format("{:.3f} us", in_microseconds(time));
}

std::string written_ranks(const std::vector<Rank>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += text.empty() ? "" : ", ";
    text += last > i + 1 ? fmt::format("\"{}..{}\"", ranks[i], ranks[last])
                         : fmt::format("{}", ranks[i]);
    if (last == i + 1) text += fmt::format(", {}", ranks[last]);
    i = last + 1;
  }
  return fmt::format("[{}]", text);
}

/// All communicators like that one, for groups with more ranks than it has: it is moved along, so
/// that each rank is in one.
std::vector<std::vector<Rank>> instances_of(const ProgramCommunicator& communicator,
                                            const CallProgram& program) {
  std::set<Rank> open;
  for (const std::uint32_t group : communicator.groups) {
    open.insert(program.groups[group].ranks.begin(), program.groups[group].ranks.end());
  }
  std::vector<std::vector<Rank>> instances{communicator.ranks};
  for (const Rank rank : communicator.ranks) open.erase(rank);
  while (!open.empty()) {
    std::vector<Rank>& moved = instances.emplace_back();
    const Rank first = *open.begin();
    for (const Rank rank : communicator.ranks) {
      const Rank each = rank - communicator.ranks.front() + first;
      if (open.erase(each) == 0) {
        throw InputError(
            fmt::format("rank {} has no communicator '{}' of its own", each, communicator.name),
            "traces of all ranks, or communicators that repeat");
      }
      moved.push_back(each);
    }
  }
  return instances;
}

std::string written_communicators(const CallProgram& program) {
  std::string text;
  for (const ProgramCommunicator& each : program.communicators) {
    const auto instances = instances_of(each, program);
    std::string lists;
    for (const std::vector<Rank>& ranks : instances) {
      lists += fmt::format("{}{}", lists.empty() ? "" : ", ", written_ranks(ranks));
    }
    text += fmt::format("  {}: {}\n", written_name(each.name),
                        instances.size() > 1 ? fmt::format("[{}]", lists) : lists);
  }
  return text;
}

/// The names of a group's ops: their own, where no other has it, or their numbers.
std::vector<std::string> names_of(const RankGroup& group) {
  std::vector<bool> referred(group.ops.size(), false);
  for (const ProgramOp& op : group.ops) {
    for (const std::uint32_t before : op.after) referred[before] = true;
    for (const std::uint32_t before : op.host_after) referred[before] = true;
  }
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    std::string name = group.ops[i].name;
    const bool is_new = !name.empty() && taken.insert(name).second;
    if (!is_new) name = referred[i] ? fmt::format("#{}", i) : std::string();
    names.push_back(std::move(name));
  }
  return names;
}

std::string written_call(const ProgramCall& call, const CallProgram& program) {
  std::string text = fmt::format("{}: {} B, on: {}", to_string(call.kind), call.bytes.count,
                                 written_name(program.communicators[call.communicator].name));
  const bool sends = call.kind == ProgramCallKind::send;
  if (sends || call.kind == ProgramCallKind::receive) {
    text += fmt::format(", {}: {}", sends ? "to" : "from",
                        written_name(program.groups[call.peer].name));
  }
  if (call.root > 0) text += fmt::format(", root: {}", call.root);
  if (call.channels > 0) text += fmt::format(", channels: {}", call.channels);
  return text;
}

std::string written_work(const ProgramOp& op, const CallProgram& program) {
  std::string text;
  if (op.calls.size() == 1) return written_call(op.calls.front(), program);
  for (const ProgramCall& call : op.calls) {
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", written_call(call, program));
  }
  if (!op.calls.empty()) return fmt::format("calls: [{}]", text);
  if (op.product) {
    text = fmt::format("product: [{}, {}, {}]", op.product->m, op.product->n, op.product->k);
  } else if (op.moved.count > 0) {
    text = fmt::format("moves: {} B", op.moved.count);
  } else {
    text = fmt::format("compute: {}", written_time(op.compute));
  }
  if (op.kernels > 1) text += fmt::format(", kernels: {}", op.kernels);
  return text;
}

std::string written_list(const char* key, const std::vector<std::uint32_t>& ops,
                         const std::vector<std::string>& names) {
  if (ops.empty()) return {};
  std::string list;
  for (const std::uint32_t op : ops) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", written_name(names[op]));
  }
  return fmt::format(", {}: [{}]", key, list);
}

std::string written_group(const RankGroup& group, const CallProgram& program) {
  std::string text = fmt::format("  {}:\n    ranks: {}\n    ops:\n", written_name(group.name),
                                 written_ranks(group.ranks));
  const std::vector<std::string> names = names_of(group);
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    const ProgramOp& op = group.ops[i];
    text += fmt::format("      - {{{}, stream: {}", written_work(op, program),
                        written_name(group.streams[op.stream]));
    if (!names[i].empty()) text += fmt::format(", name: {}", written_name(names[i]));
    text += written_list("after", op.after, names);
    text += written_list("host_after", op.host_after, names);
    if (op.host.value > 0) text += fmt::format(", host: {}", written_time(op.host));
    text += "}\n";
  }
  return text;
}

}  // namespace

std::string call_program_text(const CallProgram& program) {
  std::string text = "collsim: program/1\n";
  if (!program.name.empty()) text += fmt::format("name: {}\n", written_name(program.name));
  text += fmt::format("ranks: {}\n", ranks_of(program));
  if (program.measured) text += "measured: true\n";
  if (!program.communicators.empty()) {
    text += fmt::format("communicators:\n{}", written_communicators(program));
  }
  text += "groups:\n";
  for (const RankGroup& group : program.groups) text += written_group(group, program);
  return text;
}

}  // namespace collsim
