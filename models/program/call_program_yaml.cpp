#include "models/program/call_program_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/base/did_you_mean.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

/// The largest side of a matrix.
constexpr std::int64_t max_side = 100'000'000;
/// Matrices of a product have three sides.
constexpr std::size_t sides = 3;

/// Reads one program.
class ProgramReader {
 public:
  CallProgram read(const YamlValue& root);

 private:
  std::vector<Rank> ranks(const YamlValue& value) const;
  void add_ranks(const YamlValue& item, std::vector<Rank>& into) const;
  void read_group(const YamlValue& name, const YamlValue& value);
  void read_communicator(const YamlValue& name, const YamlValue& value);
  void check_instances(const YamlValue& value, const std::vector<std::vector<Rank>>& instances,
                       const ProgramCommunicator& communicator) const;
  void read_ops(const YamlValue& list, std::uint32_t group);
  void read_op(const YamlValue& value, std::uint32_t group);
  void read_work(const YamlMapping& keys, ProgramOp& op) const;
  ProgramCall read_call(const YamlMapping& keys, std::uint32_t group);
  void read_peer(const YamlMapping& keys, std::uint32_t group, ProgramCall& call) const;
  void read_size(const YamlValue& value, std::uint32_t group, ProgramCall& call);
  SlicesByRank slices(const YamlValue& value, const std::vector<Rank>& ranks);
  std::uint32_t find(const std::map<std::string, std::uint32_t>& names, const YamlValue& name,
                     std::string_view what) const;

  CallProgram program_;
  std::int64_t rank_count_ = 0;
  std::map<std::string, std::uint32_t> groups_;
  std::map<std::string, std::uint32_t> communicators_;
  std::map<Rank, std::uint32_t> group_of_;
  std::map<std::string, std::uint32_t> ops_;  // of the group that is read
  std::map<std::string, std::uint32_t> streams_;
  std::size_t slices_ = 0;  ///< that were read, counted by rank
};

constexpr auto op_keys = std::to_array<std::string_view>(
    {"name",       "stream",     "compute",        "product",   "moves",  "kernels",    "after",
     "host_after", "host",       "calls",          "repeat",    "ops",    "on",         "to",
     "from",       "all_reduce", "all_gather",     "broadcast", "reduce", "all_to_all", "send",
     "receive",    "channels",   "reduce_scatter", "root"});
constexpr auto group_keys = std::to_array<std::string_view>({"ranks", "holds", "wants", "ops"});

/// Calls that change no number.
bool can_move_slices(ProgramCallKind kind) {
  return kind == ProgramCallKind::broadcast || kind == ProgramCallKind::all_gather ||
         is_message(kind);
}

/// The call that a mapping names, by the only such key that it has.
std::optional<std::pair<ProgramCallKind, YamlValue>> call_in(const YamlMapping& keys) {
  std::optional<std::pair<ProgramCallKind, YamlValue>> found;
  for (const auto& [key, value] : keys.entries()) {
    const auto kind = find_program_call(key.string());
    if (!kind) continue;
    if (found) key.fail("two calls in one op", "one, or a group: calls: [{...}, {...}]");
    found = std::pair{*kind, value};
  }
  return found;
}

void ProgramReader::add_ranks(const YamlValue& item, std::vector<Rank>& into) const {
  const std::string text = item.string();
  const std::size_t dots = text.find("..");
  const auto number = [&](std::string_view part) {
    const std::int64_t rank = parse_number<std::int64_t>(part).value_or(-1);
    if (rank >= 0 && rank < rank_count_) return rank;
    item.fail(fmt::format("'{}' is no rank", text),
              fmt::format("ranks from 0 to {}, or a range such as \"0..3\"", rank_count_ - 1));
  };
  const std::string_view whole = text;
  const std::int64_t first = number(whole.substr(0, dots));
  const std::int64_t last = dots == std::string::npos ? first : number(whole.substr(dots + 2));
  if (last < first) item.fail(fmt::format("'{}' falls", text), "a range that rises");
  for (std::int64_t rank = first; rank <= last; ++rank) into.push_back(static_cast<Rank>(rank));
}

std::vector<Rank> ProgramReader::ranks(const YamlValue& value) const {
  std::vector<Rank> all;
  if (value.is_sequence()) {
    for (const YamlValue& item : value.sequence()) add_ranks(item, all);
  } else {
    add_ranks(value, all);
  }
  if (all.empty()) value.fail("no ranks", "one or more");
  const std::set<Rank> each(all.begin(), all.end());
  if (each.size() != all.size()) value.fail("a rank comes twice", "every rank once");
  return all;
}

std::uint32_t ProgramReader::find(const std::map<std::string, std::uint32_t>& names,
                                  const YamlValue& name, std::string_view what) const {
  const auto found = names.find(name.string());
  if (found != names.end()) return found->second;
  std::vector<std::string> known;
  known.reserve(names.size());
  for (const auto& [each, number] : names) known.push_back(each);
  if (known.empty()) name.fail(fmt::format("there is no {}", what), fmt::format("none to name"));
  name.fail(fmt::format("no {} '{}'", what, name.string()), names_instead_of(name.string(), known));
}

void ProgramReader::read_group(const YamlValue& name, const YamlValue& value) {
  const YamlMapping keys = value.mapping(group_keys);
  RankGroup group;
  group.name = name.string();
  group.ranks = ranks(keys.at("ranks"));
  if (const auto holds = keys.find("holds")) group.holds = slices(*holds, group.ranks);
  if (const auto wants = keys.find("wants")) group.wants = slices(*wants, group.ranks);
  const auto number = static_cast<std::uint32_t>(program_.groups.size());
  for (const Rank rank : group.ranks) {
    if (!group_of_.emplace(rank, number).second) {
      keys.at("ranks").fail(fmt::format("rank {} is in two groups", rank), "one group for a rank");
    }
  }
  groups_[group.name] = number;
  program_.groups.push_back(std::move(group));
}

void ProgramReader::check_instances(const YamlValue& value,
                                    const std::vector<std::vector<Rank>>& instances,
                                    const ProgramCommunicator& communicator) const {
  std::map<Rank, std::size_t> times;
  for (const auto& each : instances) {
    if (each.size() != instances.front().size()) {
      value.fail("communicators of unequal size", "the same number of ranks in each");
    }
    for (const Rank rank : each) {
      if (++times[rank] > 1) value.fail(fmt::format("rank {} is in two of them", rank), "one");
    }
  }
  for (const std::uint32_t group : communicator.groups) {
    for (const Rank rank : program_.groups[group].ranks) {
      if (times.contains(rank)) continue;
      value.fail(
          fmt::format("rank {} of group '{}' is in no communicator", rank,
                      program_.groups[group].name),
          "all ranks of a group, or none: [[0, 1], [2, 3]] are two communicators of one name");
    }
  }
}

void ProgramReader::read_communicator(const YamlValue& name, const YamlValue& value) {
  std::vector<std::vector<Rank>> instances;
  const bool several =
      value.is_sequence() && !value.sequence().empty() && value.sequence().front().is_sequence();
  if (several) {
    for (const YamlValue& each : value.sequence()) instances.push_back(ranks(each));
  } else {
    instances.push_back(ranks(value));
  }
  ProgramCommunicator communicator;
  communicator.name = name.string();
  communicator.ranks = instances.front();
  std::set<std::uint32_t> groups;
  for (const auto& each : instances) {
    for (const Rank rank : each) groups.insert(group_of_.at(rank));
  }
  communicator.groups.assign(groups.begin(), groups.end());
  check_instances(value, instances, communicator);
  communicator.instances = std::move(instances);
  communicators_[communicator.name] = static_cast<std::uint32_t>(program_.communicators.size());
  program_.communicators.push_back(std::move(communicator));
}

SlicesByRank ProgramReader::slices(const YamlValue& value, const std::vector<Rank>& ranks) {
  SlicesByRank read = read_slices(value, program_.tensors, ranks);
  for (const auto& each : read) slices_ += each.size();
  if (slices_ > max_program_slices) {
    value.fail("too many slices", fmt::format("{} in all, counted by rank", max_program_slices));
  }
  return read;
}

/// Reads what a call moves: a size, or slices, of which the largest of a rank is its size.
void ProgramReader::read_size(const YamlValue& value, std::uint32_t group, ProgramCall& call) {
  const auto is_named = [&](const ProgramTensor& each) {
    const std::string text = value.string();
    return text.substr(0, text.find(' ')) == each.name;
  };
  const auto& tensors = program_.tensors;
  if (value.is_sequence() || std::any_of(tensors.begin(), tensors.end(), is_named)) {
    if (!can_move_slices(call.kind)) {
      value.fail(fmt::format("slices of {}", to_string(call.kind)),
                 "a size; broadcast, all_gather, send and receive move slices");
    }
    call.moved = static_cast<std::uint32_t>(program_.moved.size());
    program_.moved.push_back(slices(value, program_.groups[group].ranks));
    for (const auto& of_rank : program_.moved.back()) {
      std::int64_t bytes = 0;
      for (const TensorSlice& each : of_rank) bytes += each.bytes();
      call.bytes.count = std::max(call.bytes.count, bytes);
    }
  } else {
    call.bytes = value.bytes();
  }
  if (call.bytes.count < 1) value.fail("no bytes", "1 byte or more");
}

/// Reads who is at the other end of a call, or its root.
void ProgramReader::read_peer(const YamlMapping& keys, std::uint32_t group,
                              ProgramCall& call) const {
  const ProgramCommunicator& communicator = program_.communicators[call.communicator];
  const auto& members = communicator.groups;
  const auto takes_part = [&](std::uint32_t each) {
    return std::find(members.begin(), members.end(), each) != members.end();
  };
  if (!takes_part(group)) {
    keys.at("on").fail(fmt::format("group '{}' has no rank in it", program_.groups[group].name),
                       "a communicator of its ranks");
  }
  const bool sends = call.kind == ProgramCallKind::send;
  if (sends || call.kind == ProgramCallKind::receive) {
    const YamlValue peer = keys.at(sends ? "to" : "from");
    call.peer = find(groups_, peer, "group");
    if (!takes_part(call.peer)) {
      peer.fail("has no rank in the communicator", "a group of the communicator");
    }
  }
  const auto root = keys.find("root");
  if (!root) return;
  if (is_message(call.kind) || !has_root(collective_of(call.kind))) {
    root->fail(fmt::format("{} has no root", to_string(call.kind)), "broadcast or reduce");
  }
  call.root = static_cast<Rank>(root->integer(0, std::ssize(communicator.ranks) - 1));
}

ProgramCall ProgramReader::read_call(const YamlMapping& keys, std::uint32_t group) {
  const auto found = call_in(keys);
  if (!found) keys.value().fail("no call", program_call_names());
  ProgramCall call;
  call.kind = found->first;
  call.communicator = find(communicators_, keys.at("on"), "communicator");
  read_peer(keys, group, call);
  read_size(found->second, group, call);
  if (const auto channels = keys.find("channels")) {
    call.channels = static_cast<std::uint32_t>(channels->integer(1, max_program_channels));
  }
  return call;
}

void ProgramReader::read_work(const YamlMapping& keys, ProgramOp& op) const {
  int works = 0;
  if (const auto compute = keys.find("compute")) {
    op.compute = compute->time();
    ++works;
  }
  if (const auto product = keys.find("product")) {
    const auto numbers = product->sequence();
    if (numbers.size() != sides) product->fail("no product", "[m, n, k]");
    op.product = MatrixProduct{numbers[0].integer(1, max_side), numbers[1].integer(1, max_side),
                               numbers[2].integer(1, max_side)};
    ++works;
  }
  if (const auto moves = keys.find("moves")) {
    op.moved = moves->bytes();
    ++works;
  }
  if (works != 1) {
    keys.value().fail(
        works == 0 ? "an op that does nothing" : "an op that does several things",
        fmt::format("one of compute, product, moves, calls, {}", program_call_names()));
  }
  if (const auto kernels = keys.find("kernels")) {
    op.kernels = static_cast<std::uint32_t>(kernels->integer(1, max_program_ops));
  }
}

void ProgramReader::read_op(const YamlValue& value, std::uint32_t group) {
  const YamlMapping keys = value.mapping(op_keys);
  RankGroup& ranks = program_.groups[group];
  if (const auto repeat = keys.find("repeat")) {
    const std::int64_t times = repeat->integer(1, max_program_ops);
    for (std::int64_t i = 0; i < times; ++i) read_ops(keys.at("ops"), group);
    return;
  }
  if (std::ssize(ranks.ops) >= max_program_ops) {
    value.fail("too many ops", fmt::format("{} in a group", max_program_ops));
  }
  ProgramOp op;
  if (const auto list = keys.find("calls")) {
    for (const YamlValue& each : list->sequence()) {
      op.calls.push_back(read_call(each.mapping(op_keys), group));
    }
    if (op.calls.empty()) list->fail("a group of no calls", "one or more");
  } else if (call_in(keys)) {
    op.calls.push_back(read_call(keys, group));
  } else {
    read_work(keys, op);
  }
  if (const auto host = keys.find("host")) op.host = host->time();
  const auto earlier_ops = [&](std::string_view key) {
    std::vector<std::uint32_t> earlier;
    const auto names = keys.find(key);
    if (!names) return earlier;
    for (const YamlValue& each : names->is_sequence() ? names->sequence() : std::vector{*names}) {
      earlier.push_back(find(ops_, each, "earlier op"));
    }
    return earlier;
  };
  const std::string stream_name = keys.string_or("stream", "main");
  const auto [place, added] =
      streams_.emplace(stream_name, static_cast<std::uint32_t>(ranks.streams.size()));
  if (added) ranks.streams.push_back(stream_name);
  op.stream = place->second;
  op.after = earlier_ops("after");
  op.host_after = earlier_ops("host_after");
  if (const auto name = keys.find("name")) {
    op.name = name->string();
    ops_[op.name] = static_cast<std::uint32_t>(ranks.ops.size());
  }
  ranks.ops.push_back(std::move(op));
}

void ProgramReader::read_ops(const YamlValue& list, std::uint32_t group) {
  const auto ops = list.sequence();
  if (ops.empty()) list.fail("no ops", "one or more");  // a repeat of none could go on for ever
  for (const YamlValue& each : ops) read_op(each, group);
}

CallProgram ProgramReader::read(const YamlValue& root) {
  const YamlMapping keys =
      root.mapping({"name", "ranks", "tensors", "communicators", "groups", "measured"});
  if (const auto name = keys.find("name")) program_.name = name->string();
  if (const auto measured = keys.find("measured")) program_.measured = measured->boolean();
  rank_count_ = keys.at("ranks").integer(1, max_program_ranks);
  if (const auto tensors = keys.find("tensors")) {
    const YamlMapping named = tensors->free_mapping();
    for (const auto& [name, size] : named.entries()) {
      program_.tensors.push_back({name.string(), size.bytes()});
    }
  }
  const YamlMapping groups = keys.at("groups").free_mapping();
  for (const auto& [name, value] : groups.entries()) read_group(name, value);
  if (std::ssize(group_of_) != rank_count_) {
    keys.at("groups").fail(
        fmt::format("{} of {} ranks are in a group", group_of_.size(), rank_count_),
        "a group for every rank");
  }
  if (const auto communicators = keys.find("communicators")) {
    const YamlMapping named = communicators->free_mapping();
    for (const auto& [name, value] : named.entries()) read_communicator(name, value);
  }
  std::uint32_t number = 0;
  for (const auto& [name, value] : groups.entries()) {
    ops_.clear();
    streams_.clear();
    read_ops(value.mapping(group_keys).at("ops"), number++);
  }
  return std::move(program_);
}

}  // namespace

CallProgram load_call_program(const std::filesystem::path& path) {
  return read_call_program(load_yaml(path, "program"));
}

CallProgram read_call_program(const YamlValue& root) {
  return ProgramReader().read(root);
}

}  // namespace collsim
