// Weights that go from a trainer's layout to an engine's, in drawn pairs of layouts and by three
// kinds of programs: slices sent, broadcasts of several roots, shards gathered and then broadcast.
// What check_data() says of each, and of programs that are spoilt in one place, is held against
// runs in random orders that count bytes.

#include "models/program/data_movement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/program/call_order.h"
#include "models/program/call_program_yaml.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"

namespace collsim {
namespace {

using Random = std::mt19937;

/// Ranks that hold a model of equal layers: copy by copy, stage by stage, shard by shard.
struct Layout {
  int tp = 1;
  int pp = 1;
  int copies = 1;
  bool sharded = false;  ///< copies hold a part of each shard, as ZeRO's ranks do

  int ranks() const { return tp * pp * copies; }
  int shards() const { return sharded ? tp * copies : tp; }
};

struct Pair {
  Layout trainer;
  Layout engine;
  int layers = 4;
};

/// A rank of a layout and what it holds of a layer: part `part` of `parts`.
struct Holder {
  int rank = 0;
  int part = 0;
  int parts = 1;

  std::string slice(int layer) const { return fmt::format("w{} {} of {}", layer, part, parts); }
};

/// The ranks that hold a layer, from `first` on.
std::vector<Holder> holders(const Layout& layout, int layers, int layer, int first) {
  std::vector<Holder> all;
  for (int copy = 0; copy < layout.copies; ++copy) {
    for (int stage = 0; stage < layout.pp; ++stage) {
      // Stages that do not divide the layers have unlike numbers of them.
      if (layer < layers * stage / layout.pp || layer >= layers * (stage + 1) / layout.pp) continue;
      for (int shard = 0; shard < layout.tp; ++shard) {
        const int rank = first + (copy * layout.pp + stage) * layout.tp + shard;
        const int part = layout.sharded ? shard * layout.copies + copy : shard;
        all.push_back({rank, part, layout.shards()});
      }
    }
  }
  return all;
}

/// A program's text as it grows: a group for every rank.
class Writer {
 public:
  explicit Writer(const Pair& pair) : pair_(pair) {
    for (int layer = 0; layer < pair.layers; ++layer) {
      for (const Holder& each : trainers(layer)) add("holds", each.rank, each.slice(layer));
      for (const Holder& each : engines(layer)) add("wants", each.rank, each.slice(layer));
    }
  }
  std::vector<Holder> trainers(int layer) const {
    return holders(pair_.trainer, pair_.layers, layer, 0);
  }
  std::vector<Holder> engines(int layer) const {
    return holders(pair_.engine, pair_.layers, layer, pair_.trainer.ranks());
  }
  int layers() const { return pair_.layers; }
  /// A communicator of these ranks, by its name.
  std::string communicator(const std::vector<int>& ranks) {
    const std::string list = fmt::format("[{}]", fmt::join(ranks, ", "));
    const auto found = communicators_.emplace(list, fmt::format("c{}", communicators_.size()));
    return found.first->second;
  }
  void op(int rank, const std::string& text) { add("ops", rank, "{ " + text + " }"); }
  CallProgram program() const {
    // Odd sizes, so that shards are unlike.
    std::string text = "collsim: program/1\ntensors:\n";
    for (int layer = 0; layer < pair_.layers; ++layer) {
      text += fmt::format("  w{}: {} B\n", layer, 60 + layer);
    }
    const int ranks = pair_.trainer.ranks() + pair_.engine.ranks();
    text += fmt::format("ranks: {}\ncommunicators:\n", ranks);
    for (const auto& [list, name] : communicators_) text += fmt::format("  {}: {}\n", name, list);
    text += "groups:\n";
    for (int rank = 0; rank < ranks; ++rank) {
      text += fmt::format("  r{0}:\n    ranks: {0}\n", rank);
      for (const char* key : {"holds", "wants", "ops"}) {
        const auto found = lists_.find({key, rank});
        if (found != lists_.end()) {
          text += fmt::format("    {}: [ {} ]\n", key, fmt::join(found->second, ", "));
        }
      }
      if (!lists_.contains({"ops", rank})) text += "    ops: [ { compute: 1 us } ]\n";
    }
    return read_call_program(read_yaml({"program.yaml", text}, "program"));
  }

 private:
  void add(const std::string& key, int rank, const std::string& text) {
    lists_[{key, rank}].push_back(text);
  }

  Pair pair_;
  std::map<std::string, std::string> communicators_;
  std::map<std::pair<std::string, int>, std::vector<std::string>> lists_;
};

/// Each rank of the engine gets what it wants of each shard from a rank that holds that.
CallProgram sent_slices(const Pair& pair) {
  Writer writer(pair);
  for (int layer = 0; layer < writer.layers(); ++layer) {
    for (const Holder& to : writer.engines(layer)) {
      std::set<int> sent;
      for (const Holder& from : writer.trainers(layer)) {
        // In parts of both: shard a of A is the parts a B to a B + B - 1 of A B.
        const int first = std::max(from.part * to.parts, to.part * from.parts);
        const int last = std::min((from.part + 1) * to.parts, (to.part + 1) * from.parts) - 1;
        if (last < first || !sent.insert(from.part).second) continue;
        const std::string slice =
            fmt::format("w{} {}..{} of {}", layer, first, last, from.parts * to.parts);
        const std::string on = writer.communicator({from.rank, to.rank});
        writer.op(from.rank,
                  fmt::format("send: {}, to: r{}, on: {}, stream: {}", slice, to.rank, on, on));
        writer.op(to.rank, fmt::format("receive: {}, from: r{}, on: {}, stream: {}", slice,
                                       from.rank, on, on));
      }
    }
  }
  return writer.program();
}

std::vector<int> ranks_of_all(const std::vector<Holder>& some, const std::vector<Holder>& others) {
  std::set<int> ranks;
  for (const Holder& each : some) ranks.insert(each.rank);
  for (const Holder& each : others) ranks.insert(each.rank);
  return {ranks.begin(), ranks.end()};
}

/// Every holder of a shard is the root of a broadcast of it, all of a layer at once.
CallProgram broadcasts(const Pair& pair) {
  Writer writer(pair);
  for (int layer = 0; layer < writer.layers(); ++layer) {
    const std::vector<Holder> from = writer.trainers(layer);
    const std::vector<int> ranks = ranks_of_all(from, writer.engines(layer));
    const std::string on = writer.communicator(ranks);
    std::string calls;
    std::set<int> sent;
    for (const Holder& each : from) {
      if (!sent.insert(each.part).second) continue;
      const auto root = std::find(ranks.begin(), ranks.end(), each.rank) - ranks.begin();
      calls += fmt::format("{}{{ broadcast: {}, root: {}, on: {} }}", calls.empty() ? "" : ", ",
                           each.slice(layer), root, on);
    }
    for (const int rank : ranks) writer.op(rank, fmt::format("calls: [{}]", calls));
  }
  return writer.program();
}

/// The shards of a layer are gathered in order, and the first rank broadcasts the layer.
CallProgram gathered(const Pair& pair) {
  Writer writer(pair);
  for (int layer = 0; layer < writer.layers(); ++layer) {
    std::vector<Holder> from = writer.trainers(layer);
    std::stable_sort(from.begin(), from.end(),
                     [](const Holder& a, const Holder& b) { return a.part < b.part; });
    from.erase(std::unique(from.begin(), from.end(),
                           [](const Holder& a, const Holder& b) { return a.part == b.part; }),
               from.end());
    std::vector<int> shards;
    shards.reserve(from.size());
    for (const Holder& each : from) shards.push_back(each.rank);
    const std::string name = fmt::format("gather{}", layer);
    const std::string gather = writer.communicator(shards);
    for (const int rank : shards) {
      writer.op(rank, fmt::format("all_gather: w{}, on: {}, stream: gathers, name: {}", layer,
                                  gather, name));
    }
    const std::vector<int> ranks = ranks_of_all({from.front()}, writer.engines(layer));
    const std::string on = writer.communicator(ranks);
    for (const int rank : ranks) {
      writer.op(rank, fmt::format("broadcast: w{}, on: {}{}", layer, on,
                                  rank == shards.front() ? ", after: " + name : ""));
    }
  }
  return writer.program();
}

/// Runs a program in a random order and counts bytes: whether all is there when it is passed on,
/// and in the end what is wanted.
class ByteRun {
 public:
  ByteRun(const CallProgram& program, Random& random) : program_(program), random_(random) {
    for (const RankGroup& group : program.groups) {
      put(group, group.holds, 0);
      done_.emplace_back(group.ops.size(), false);
    }
  }
  bool is_right() {
    while (step()) continue;
    bool right = right_;
    for (const RankGroup& group : program_.groups) {
      if (group.wants.empty()) continue;
      for (const TensorSlice& each : group.wants[0]) right = right && has(group.ranks[0], each);
    }
    return right;
  }

 private:
  using At = std::pair<std::size_t, std::size_t>;  // group, op
  const ProgramOp& op(At at) const { return program_.groups[at.first].ops[at.second]; }
  Rank rank(std::size_t group) const { return program_.groups[group].ranks[0]; }
  const std::vector<TensorSlice>& moved(const ProgramCall& call) const {
    return program_.moved[call.moved.value()][0];
  }
  void put(const RankGroup& group, const SlicesByRank& slices, std::size_t place) {
    if (slices.empty()) return;
    for (const TensorSlice& each : slices[place]) put(group.ranks[place], each);
  }
  void put(Rank rank, const TensorSlice& slice) {
    for (auto i = slice.begin; i < slice.end; ++i) bytes_.emplace(rank, slice.tensor, i);
  }
  bool has(Rank rank, const TensorSlice& slice) const {
    for (auto i = slice.begin; i < slice.end; ++i) {
      if (!bytes_.contains({rank, slice.tensor, i})) return false;
    }
    return true;
  }
  bool may_begin(At at) const {
    const auto& done = done_[at.first];
    for (std::size_t i = 0; i < at.second; ++i) {
      if (!done[i] && op({at.first, i}).stream == op(at).stream) return false;
    }
    const auto is_done = [&](std::uint32_t before) { return done[before]; };
    return !done[at.second] && std::all_of(op(at).after.begin(), op(at).after.end(), is_done);
  }
  /// The ops of all who take part in an op's calls, if all of them may begin.
  std::optional<std::vector<At>> partners(At at) const {
    std::set<std::size_t> groups{at.first};
    const ProgramCall& call = op(at).calls.front();
    const auto& members = program_.communicators[call.communicator].groups;
    groups.insert(members.begin(), members.end());
    std::vector<At> all;
    for (const std::size_t group : groups) {
      std::size_t i = 0;
      const auto& ops = program_.groups[group].ops;
      while (i < ops.size() && (!may_begin({group, i}) || ops[i].calls.empty() ||
                                ops[i].calls.front().communicator != call.communicator)) {
        ++i;
      }
      if (i == ops.size()) return std::nullopt;
      all.emplace_back(group, i);
    }
    return all;
  }
  bool step() {
    std::vector<At> ready;
    for (std::size_t group = 0; group < done_.size(); ++group) {
      for (std::size_t i = 0; i < done_[group].size(); ++i) {
        if (may_begin({group, i}) && (op({group, i}).calls.empty() || partners({group, i}))) {
          ready.emplace_back(group, i);
        }
      }
    }
    if (ready.empty()) return false;
    const At at = ready[random_() % ready.size()];
    if (op(at).calls.empty()) {
      done_[at.first][at.second] = true;
    } else {
      meet(partners(at).value());
    }
    return true;
  }
  void meet(const std::vector<At>& all) {
    const std::size_t calls = op(all.front()).calls.size();
    for (std::size_t i = 0; i < calls; ++i) move(all, i);
    for (const At& each : all) done_[each.first][each.second] = true;
  }
  void move(const std::vector<At>& all, std::size_t number) {
    const ProgramCall& call = op(all.front()).calls[number];
    const auto& ranks = program_.communicators[call.communicator].ranks;
    const std::vector<TensorSlice> slices = moved(call);
    std::vector<TensorSlice> arrive;
    for (const At& each : all) {
      const ProgramCall& own = op(each).calls[number];
      const auto place = std::find(ranks.begin(), ranks.end(), rank(each.first)) - ranks.begin();
      right_ = right_ && moved(own) == slices;
      const bool gathers = call.kind == ProgramCallKind::all_gather;
      const bool sends = own.kind == ProgramCallKind::send ||
                         (own.kind == ProgramCallKind::broadcast && own.root == place);
      for (const TensorSlice& slice : slices) {
        if (gathers) {
          const TensorSlice part = parts_of(slice, place, place, std::ssize(ranks));
          right_ = right_ && has(rank(each.first), part);
        } else if (sends) {
          right_ = right_ && has(rank(each.first), slice);
        }
      }
    }
    for (const At& each : all) {
      for (const TensorSlice& slice : slices) put(rank(each.first), slice);
    }
  }

  const CallProgram& program_;
  Random& random_;
  std::vector<std::vector<bool>> done_;
  std::set<std::tuple<Rank, std::uint32_t, std::int64_t>> bytes_;
  bool right_ = true;
};

/// Trainers and engines whose counts divide each other, and such that do not.
std::vector<Pair> drawn_pairs(Random& random, int count) {
  std::vector<Pair> pairs;
  const auto one_of = [&](const std::vector<int>& values) {
    return values[random() % values.size()];
  };
  for (int i = 0; i < count; ++i) {
    Pair pair;
    pair.trainer = {one_of({1, 2, 3, 4}), one_of({1, 2, 3}), one_of({1, 2}), random() % 2 == 0};
    pair.engine = {one_of({1, 2, 3, 4, 6}), one_of({1, 1, 2}), one_of({1, 2, 3}), false};
    pair.layers = one_of({3, 4, 5});
    pairs.push_back(pair);
  }
  return pairs;
}

using Kind = CallProgram (*)(const Pair&);
constexpr std::array<Kind, 3> kinds{sent_slices, broadcasts, gathered};

TEST(DataMovement, proves_programs_between_drawn_layouts) {
  Random random(1);
  for (const Pair& pair : drawn_pairs(random, 40)) {
    for (const Kind kind : kinds) {
      const CallProgram program = kind(pair);
      ASSERT_EQ(check_call_order(program).why, "");
      const DataVerdict verdict = check_data(program);
      ASSERT_EQ(verdict.wrong_count, 0U) << verdict.wrong.front();
      ASSERT_EQ(verdict.ranks, static_cast<std::size_t>(pair.engine.ranks()));
      ASSERT_TRUE(ByteRun(program, random).is_right());
    }
  }
}

/// A call of the program that moves slices, drawn.
ProgramCall& drawn_call(CallProgram& program, Random& random) {
  std::vector<ProgramCall*> calls;
  for (RankGroup& group : program.groups) {
    for (ProgramOp& op : group.ops) {
      for (ProgramCall& call : op.calls) {
        if (call.moved) calls.push_back(&call);
      }
    }
  }
  return *calls[random() % calls.size()];
}

/// What may be wrong in one place: a shard that nobody holds, a slice too short at one end of its
/// call, another root, a call without the op that it comes after.
void spoil(CallProgram& program, int way, Random& random) {
  if (way == 0) {
    RankGroup& holder = program.groups[0];
    TensorSlice& slice = holder.holds[0][random() % holder.holds[0].size()];
    slice.begin += 1;
  } else if (way == 1) {
    program.moved[*drawn_call(program, random).moved][0].front().end -= 1;
  } else if (way == 2) {
    const ProgramCall drawn = drawn_call(program, random);
    for (RankGroup& group : program.groups) {
      for (ProgramOp& op : group.ops) {
        for (ProgramCall& call : op.calls) {
          if (call.communicator != drawn.communicator || call.root != drawn.root) continue;
          call.root = static_cast<Rank>((call.root + 1) %
                                        program.communicators[call.communicator].ranks.size());
        }
      }
    }
  } else {
    for (RankGroup& group : program.groups) {
      for (ProgramOp& op : group.ops) op.after.clear();
    }
  }
}

// A program is right if no order goes wrong. Ten orders find what one of two ops alone decides.
TEST(DataMovement, finds_what_runs_in_some_order_find) {
  Random random(2);
  int wrong = 0;
  for (const Pair& pair : drawn_pairs(random, 12)) {
    for (const Kind kind : kinds) {
      for (int way = 0; way < 4; ++way) {
        CallProgram program = kind(pair);
        spoil(program, way, random);
        bool right = true;
        for (int order = 0; order < 10 && right; ++order) {
          right = ByteRun(program, random).is_right();
        }
        const DataVerdict verdict = check_data(program);
        ASSERT_EQ(verdict.wrong_count == 0, right)
            << "way " << way << ": " << (right ? verdict.wrong.front() : "nothing is wrong");
        wrong += right ? 0 : 1;
      }
    }
  }
  EXPECT_GT(wrong, 72);  // of 144
}

CallProgram read_program(const std::string& rest) {
  return read_call_program(read_yaml({"program.yaml", "collsim: program/1\n" + rest}, "program"));
}

// Rank 0 holds half of what it broadcasts; rank 1 gets the rest too late for what it sends on.
TEST(DataMovement, says_who_lacks_what) {
  const DataVerdict verdict = check_data(read_program(R"(
ranks: 3
tensors: { w: 4 MiB }
communicators: { all: "0..2" }
groups:
  a: { ranks: 0, holds: w 0 of 2, ops: [ { broadcast: w, on: all } ] }
  b: { ranks: "1..2", wants: w, ops: [ { broadcast: w, on: all } ] }
)"));
  EXPECT_EQ(verdict.moves, 1U);
  EXPECT_EQ(verdict.ranks, 2U);
  ASSERT_EQ(verdict.wrong_count, 1U);
  EXPECT_EQ(verdict.wrong.front(),
            "rank 0 passes on all of 'w' in op 1 of 'a' and lacks 2 MiB to 4 MiB of 'w'");
}

TEST(DataMovement, says_what_need_not_have_come_yet) {
  const std::string text = R"(
ranks: 3
tensors: {{ w: 4 MiB }}
communicators: {{ first: [0, 1], second: [1, 2] }}
groups:
  a: {{ ranks: 0, holds: w, ops: [ {{ send: w, to: b, on: first }} ] }}
  b: {{ ranks: 1, ops: [ {{ receive: w, from: a, on: first, name: in }},
                       {{ send: w, to: c, on: second, stream: out{} }} ] }}
  c: {{ ranks: 2, wants: w, ops: [ {{ receive: w, from: b, on: second }} ] }}
)";
  const DataVerdict verdict = check_data(read_program(fmt::format(fmt::runtime(text), "")));
  ASSERT_EQ(verdict.wrong_count, 1U);
  EXPECT_EQ(verdict.wrong.front(),
            "rank 1 passes on all of 'w' in op 2 of 'b' and lacks all of 'w'; op 1 'in' of 'b' "
            "need not have ended");
  for (const char* order : {", after: in", ", host_after: in"}) {
    EXPECT_EQ(check_data(read_program(fmt::format(fmt::runtime(text), order))).wrong_count, 0U);
  }
}

void expect_error(const std::string& ops, const std::string& holds, const std::string& expected) {
  const std::string text = fmt::format(
      "ranks: 2\ntensors: {{ w: 4 MiB }}\ncommunicators: {{ all: \"0..1\" }}\ngroups:\n"
      "  a: {{ ranks: \"0..1\", holds: {}, ops: [ {{ {} }} ] }}\n",
      holds, ops);
  try {
    static_cast<void>(read_program(text));
    FAIL() << ops;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

TEST(DataMovement, refuses_slices_that_nothing_has) {
  expect_error("broadcast: [v], on: all", "w", "no tensor 'v'");
  expect_error("broadcast: w 2 of 2, on: all", "w", "'w 2 of 2' is 2..2 of 2 at rank 0");
  expect_error("broadcast: w, on: all", "w rank..0 of 2", "is 1..0 of 2 at rank 1");
  expect_error("broadcast: w, on: all", "w half", "a slice without its parts");
  expect_error("all_reduce: w, on: all", "w", "slices of all_reduce");
  expect_error("broadcast: w, on: all, root: 2", "w", "2");
  expect_error("all_gather: w, on: all, root: 1", "w", "all_gather has no root");
}

}  // namespace
}  // namespace collsim
