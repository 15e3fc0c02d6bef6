#include "sim/algorithms/written_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sim/algorithms/msccl_xml.h"
#include "sim/algorithms/registry.h"
#include "sim/algorithms/schedule_fault.h"
#include "sim/plan/checker.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

using test::error_of;

std::string source_file(const std::string& name) {
  return std::string(COLLSIM_SOURCE_DIR) + "/" + name;
}
std::string lesson_file(const std::string& name) {
  return source_file("docs/learn/schedules/" + name);
}

WrittenSchedule schedule_of(const std::string& text) {
  return read_schedule_yaml({"mine.yaml", "collsim: schedule/1\n" + text});
}

/// A transfer as one value, for comparisons.
using Move = std::tuple<Rank, Rank, std::uint32_t, std::uint32_t, bool, std::uint32_t>;
std::vector<std::vector<Move>> moves_of(const TransferList& list) {
  std::vector<std::vector<Move>> steps;
  for (const WrittenStep& step : list.steps) {
    auto& moves = steps.emplace_back();
    for (const WrittenTransfer& each : step.transfers) {
      moves.emplace_back(each.from, each.to, each.chunks.first, each.chunks.count, each.reduce,
                         each.lane);
    }
    std::sort(moves.begin(), moves.end());
  }
  return steps;
}

/// What all ranks do, with their peers by name.
using Act = std::tuple<Rank, std::uint32_t, int, std::uint32_t, std::uint32_t,
                       std::vector<std::tuple<Rank, Rank, std::uint32_t>>>;
std::vector<Act> acts_of(const Plan& plan) {
  const Schedule& schedule = plan.schedule(0);
  std::vector<Act> acts;
  for_each_program(schedule, [&](Rank rank, std::uint32_t lane, const Program& program) {
    for (const Primitive& each : program) {
      std::vector<std::tuple<Rank, Rank, std::uint32_t>> peers;
      for (const PeerGroupId group :
           {PeerGroupId{each.receive_group}, PeerGroupId{each.send_group}}) {
        for (const ConnectionId id : schedule.peers(group)) {
          const Connection& connection = schedule.connections()[id];
          peers.emplace_back(connection.src, connection.dst, connection.lane);
        }
      }
      acts.emplace_back(rank, lane, static_cast<int>(each.kind), each.first_chunk, each.chunk_count,
                        std::move(peers));
    }
  });
  return acts;
}

TEST(WrittenSchedule, FilesByHandAreTheBuiltInPlans) {
  const std::vector<std::tuple<std::string, std::string, std::vector<Rank>>> pairs{
      {"ring", "ring.yaml", {2, 3, 8, 13}},
      {"tree", "tree.yaml", {2, 4, 8, 32}},
      {"double_binary_tree", "double-binary-tree.yaml", {2, 4, 8, 32}},
      {"recursive_halving_doubling", "halving-doubling.yaml", {2, 4, 8, 32}},
  };
  for (const auto& [name, file, counts] : pairs) {
    for (const Rank ranks : counts) {
      const Placement placement = uniform_placement(ranks);
      const Plan built_in = make_plan(Collective::all_reduce, name, placement);
      const Plan written = make_plan(Collective::all_reduce, lesson_file(file), placement);
      EXPECT_EQ(acts_of(written), acts_of(built_in)) << name << " on " << ranks;
      EXPECT_TRUE(check(written, {}).ok()) << name << " on " << ranks;
    }
  }
}

TEST(WrittenSchedule, ReadsStepsOneByOne) {
  const WrittenSchedule schedule = schedule_of(
      "collective: broadcast\nranks: 3\nchunks: 2\nsteps:\n"
      "  - phase: first\n    do:\n      - 0 -> 1: chunks 0..1, copy\n"
      "  - do:\n      - 1 -> 2: chunk 1, copy\n        0 -> 2: chunk 0, copy\n");
  const TransferList list = transfers_of(schedule, 3, 1, 0);
  const std::vector<std::vector<Move>> expected{{{0, 1, 0, 2, false, 0}},
                                                {{0, 2, 0, 1, false, 0}, {1, 2, 1, 1, false, 0}}};
  EXPECT_EQ(moves_of(list), expected);
  EXPECT_EQ(list.steps[0].phase, "first");
  EXPECT_EQ(find_fault(list), std::nullopt);
  EXPECT_EQ(only_ranks(schedule), 3U);
  EXPECT_EQ(why_not_for(schedule, 4).value_or(""), "mine.yaml on 4 ranks; 3 ranks");
}

TEST(WrittenSchedule, ErrorsStandAtTheirPlace) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return transfers_of(schedule_of(text), 4, 1, 0); });
  };
  const std::string steps = "chunks: N\nsteps:\n  - do:\n";
  EXPECT_EQ(error(steps + "      - 0 -> 4: chunk 0, copy\n"), "mine.yaml:5:9: rank 4 of 4; 0 to 3");
  EXPECT_EQ(error(steps + "      - 0 -> 0: chunk 0, copy\n"),
            "mine.yaml:5:9: rank 0 sends to itself; another rank");
  EXPECT_EQ(error(steps + "      - 0 -> 1: chunk N, copy\n"),
            "mine.yaml:5:17: chunk 4 of 4; 0 to 3");
  EXPECT_EQ(error(steps + "      - 0 -> 1: chunk 0, add\n"),
            "mine.yaml:5:17: 'chunk 0, add'; chunk C or chunks FIRST..LAST, then reduce or copy");
  EXPECT_EQ(error(steps + "      - for: r of 0..3\n        do: []\n"),
            "mine.yaml:5:14: the loop 'r of 0..3'; such as: r in 0..N-1, or k in 8..1 by -1");
  EXPECT_EQ(error(steps + "      - for: r in 0..3 by 0\n        do: []\n"),
            "mine.yaml:5:14: a loop by 0; another number");
  EXPECT_EQ(error(steps + "      - for: N in 0..3\n        do: []\n"),
            "mine.yaml:5:14: the name 'N' has a value here already; another name");
  EXPECT_EQ(error("chunks: 3\ncollective: all_gather\nsteps: []\n"),
            "mine.yaml:2:9: 3 chunks for all_gather on 4 ranks; a multiple of its 4 blocks");
  EXPECT_EQ(error("collective: all_redcue\nsteps: []\n").substr(0, 48),
            "mine.yaml:2:13: there is no collective 'all_redc");
  EXPECT_NE(error("steps:\n  - for: i in 0..1000000000\n    do: []\n")
                .find("mine.yaml:3:5: more than 200000 steps"),
            std::string::npos);
  // Lane 0 receives chunk 0, lane 1 receives chunk 1; one message cannot wait for both.
  EXPECT_NE(error(steps + "      - 0 -> 1: chunk 0, copy\n"
                          "      - lane: 1\n        do: [{2 -> 1: 'chunk 1, copy'}]\n"
                          "  - do:\n      - 1 -> 3: chunks 0..1, copy\n")
                .find("mine.yaml:9:9: a message of chunks that lanes 0 and 1 received"),
            std::string::npos);
}

/// How often each rank has each contribution to each chunk, by a walk of its own:
/// [rank][chunk][origin].
using Totals = std::vector<std::vector<std::vector<std::uint64_t>>>;
Totals totals_of(const TransferList& list) {
  const std::vector<std::uint64_t> nothing(list.ranks);
  Totals totals(list.ranks, std::vector(list.chunks, nothing));
  for (Rank rank = 0; rank < list.ranks; ++rank) {
    for (auto& chunk : totals[rank]) chunk[rank] = 1;
  }
  for (const WrittenStep& step : list.steps) {
    const Totals before = totals;
    for (const WrittenTransfer& each : step.transfers) {
      for (std::uint32_t c = each.chunks.first; c < each.chunks.first + each.chunks.count; ++c) {
        auto& own = totals[each.to][c];
        const auto& came = before[each.from][c];
        for (Rank origin = 0; origin < list.ranks; ++origin) {
          own[origin] = came[origin] + (each.reduce ? own[origin] : 0);
        }
      }
    }
  }
  return totals;
}

bool is_right(const TransferList& list) {
  for (const auto& rank : totals_of(list)) {
    for (const auto& chunk : rank) {
      for (const std::uint64_t count : chunk) {
        if (count != 1) return false;
      }
    }
  }
  return true;
}

/// The steps up to the `steps`-th, whole.
TransferList first_steps(TransferList list, std::uint32_t steps) {
  list.steps.resize(steps);
  return list;
}

/// That the counterexample says of a wrong schedule what is so.
void expect_true(const TransferList& list, const ScheduleFault& fault, const std::string& what) {
  EXPECT_EQ(totals_of(list)[fault.rank][fault.chunk][fault.origin], fault.count) << what;
  EXPECT_NE(fault.count, fault.due) << what;
  EXPECT_EQ(fault.due, 1U) << what;
  if (fault.kind == ScheduleFault::Kind::never_sent) {
    for (const WrittenStep& step : list.steps) {
      for (const WrittenTransfer& each : step.transfers) {
        const bool brings = each.to == fault.rank && each.chunks.first <= fault.chunk &&
                            fault.chunk < each.chunks.first + each.chunks.count;
        EXPECT_FALSE(brings) << what;
      }
    }
    return;
  }
  ASSERT_TRUE(fault.transfer) << what;
  const WrittenTransfer& guilty = *fault.transfer;
  const auto before = totals_of(first_steps(list, fault.step - 1));
  const auto after = totals_of(first_steps(list, fault.step));
  const auto of = [&](const Totals& totals, Rank rank) {
    return totals[rank][fault.chunk][fault.origin];
  };
  if (fault.kind == ScheduleFault::Kind::overwritten) {
    EXPECT_FALSE(guilty.reduce) << what;
    EXPECT_EQ(of(before, guilty.from), 0U) << what;  // it brings none
    EXPECT_EQ(of(after, guilty.to), 0U) << what;
  } else if (fault.kind == ScheduleFault::Kind::not_in_message) {
    EXPECT_EQ(guilty.to, fault.rank) << what;
    EXPECT_EQ(of(before, guilty.from), 0U) << what;
  } else {
    EXPECT_EQ(fault.kind, ScheduleFault::Kind::doubled) << what;
    EXPECT_TRUE(guilty.reduce) << what;
    EXPECT_GE(of(before, guilty.from), 1U) << what;
    EXPECT_GE(of(after, guilty.to), 2U) << what;
  }
}

/// A small change of one message.
std::string mutate(TransferList& list, std::mt19937& random) {
  const auto pick = [&](std::size_t of) { return random() % of; };
  auto& transfers = list.steps[pick(list.steps.size())].transfers;
  const std::size_t at = pick(transfers.size());
  WrittenTransfer& transfer = transfers[at];
  switch (pick(5)) {
    case 0:
      transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(at));
      return "left out";
    case 1:
      transfer.reduce = !transfer.reduce;
      return "copy for reduce, or reduce for copy";
    case 2:
      transfer.to = static_cast<Rank>((transfer.to + 1 + pick(list.ranks - 1)) % list.ranks);
      return "to another";
    case 3:
      transfer.chunks = {static_cast<std::uint32_t>(pick(list.chunks)), 1};
      return "another chunk";
    default:
      std::swap(list.steps[pick(list.steps.size())], list.steps[pick(list.steps.size())]);
      return "steps exchanged";
  }
}

TEST(ScheduleFault, IsTrueOfTwoHundredMutants) {
  const std::vector<std::string> files{"ring.yaml", "tree.yaml", "double-binary-tree.yaml",
                                       "halving-doubling.yaml"};
  std::mt19937 random(7);
  int refused = 0;
  int harmless = 0;
  while (refused < 200 && harmless < 400) {
    const std::string& file = files[random() % files.size()];
    const Rank ranks = random() % 2 == 0 ? 4 : 8;
    TransferList list = transfers_of(*read_schedule_file(lesson_file(file)), ranks, 1, 0);
    const std::string change = mutate(list, random);
    bool to_itself = false;
    for (const WrittenStep& step : list.steps) {
      for (const WrittenTransfer& each : step.transfers) to_itself |= each.from == each.to;
    }
    if (to_itself) continue;
    const auto fault = find_fault(list);
    // Some changes do no harm: the same message twice, or a step exchanged with itself.
    ASSERT_EQ(fault.has_value(), !is_right(list)) << file << ": " << change;
    if (!fault) {
      ++harmless;
      continue;
    }
    ++refused;
    expect_true(list, *fault, fmt::format("{}: {}: {}", file, change, fault->text));
  }
  EXPECT_EQ(refused, 200);
}

// Exercise 1 lacks the last of N - 1 steps of the all-gather: of 4 ranks, chunk 0 is complete at
// rank 0 after step 3 and gets to ranks 1 and 2 in steps 4 and 5. Rank 3 keeps what step 2 (2 -> 3)
// made of it, the sum of ranks 1, 2 and 3: rank 0's contribution is missing.
TEST(ScheduleFault, OfTheExercises) {
  const auto fault_of = [](const std::string& name, Rank ranks) {
    return find_fault(transfers_of(*read_schedule_file(lesson_file(name)), ranks, 1, 0))->text;
  };
  const std::string first = fault_of("exercise-1.yaml", 4);
  EXPECT_EQ(first.substr(0, first.find(" (")),
            "rank 3 lacks rank 0's contribution to chunk 0: the last message of it, step 2, 2 -> "
            "3, comes without");
  // In step 2 rank 0 sends a0 + a3 to rank 1, which has a1 + a0 already.
  const std::string second = fault_of("exercise-2.yaml", 4);
  EXPECT_NE(second.find("step 2, 0 -> 1, adds it to a sum that has it"), std::string::npos)
      << second;
  const std::string third = fault_of("exercise-3.yaml", 4);
  EXPECT_NE(
      third.find("rank 0 lacks rank 0's contribution to chunk 0: step 2, 2 -> 0, copies over it"),
      std::string::npos)
      << third;
}

TEST(MscclXml, RoundTrips) {
  for (const std::string& name :
       {std::string("allreduce-ring-4.xml"), std::string("allgather-direct-3.xml")}) {
    const std::string file = source_file("tests/data/msccl/" + name);
    const TransferList read = std::get<TransferList>(read_schedule_file(file)->content);
    EXPECT_EQ(find_fault(read), std::nullopt) << name;
    const TransferList again = read_msccl_xml({"again.xml", msccl_xml(read, "again")});
    EXPECT_EQ(moves_of(again), moves_of(read)) << name;
  }
}

// Its first six steps are the textbook's ring, which begins with another chunk: rank g sends chunk
// g.
TEST(MscclXml, ARingOfItsShapeIsARing) {
  const auto schedule = read_schedule_file(source_file("tests/data/msccl/allreduce-ring-4.xml"));
  const auto steps = moves_of(std::get<TransferList>(schedule->content));
  ASSERT_EQ(steps.size(), 6U);
  for (std::uint32_t s = 0; s < 6; ++s) {
    std::vector<Move> expected;
    for (Rank rank = 0; rank < 4; ++rank) {
      // The all-gather begins with the chunk that the last step of the reduce-scatter completed.
      const std::uint32_t chunk = s < 3 ? (rank + 8 - s) % 4 : (rank + 8 + 1 - (s - 3)) % 4;
      expected.emplace_back(rank, (rank + 1) % 4, chunk, 1U, s < 3, 0U);
    }
    EXPECT_EQ(steps[s], expected) << "step " << s + 1;
  }
}

TEST(MscclXml, OfBuiltInAlgorithmsRoundTrips) {
  for (const std::string& name :
       {std::string("ring"), std::string("tree"), std::string("recursive_halving_doubling")}) {
    const Plan plan = make_plan(Collective::all_reduce, name, uniform_placement(8));
    const TransferList list = transfers_of(plan);
    const TransferList again = read_msccl_xml({"again.xml", msccl_xml(list, name)});
    EXPECT_EQ(moves_of(again), moves_of(list)) << name;
  }
}

TEST(MscclXml, ErrorsStandAtTheirPlace) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return read_msccl_xml({"a.xml", text}); });
  };
  EXPECT_EQ(error("<algo"), "a.xml:1:5: Error parsing start element tag; well-formed XML");
  EXPECT_EQ(error("<system/>"), "a.xml:1:2: the root is <system>; <algo>");
  EXPECT_EQ(
      error("<algo coll=\"custom\" ngpus=\"2\"/>"),
      "a.xml:1:2: coll=\"custom\"; allreduce, allgather, reduce_scatter, broadcast or reduce");
  const std::string head = "<algo coll=\"allreduce\" ngpus=\"2\">\n";
  EXPECT_EQ(error(head + "</algo>"), "a.xml:1:2: 0 of 2 GPUs; a <gpu> for each");
  const auto gpu = [](int id, const std::string& step) {
    const std::string peer = std::to_string(1 - id);
    return "<gpu id=\"" + std::to_string(id) +
           "\" i_chunks=\"1\" o_chunks=\"1\"><tb id=\"0\" send=\"" + peer + "\" recv=\"" + peer +
           "\" chan=\"0\">" + step + "</tb></gpu>\n";
  };
  const auto step = [](const std::string& type, const std::string& buffer = "i") {
    return "<step s=\"0\" type=\"" + type + "\" srcbuf=\"" + buffer + "\" srcoff=\"0\" dstbuf=\"" +
           buffer + "\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>";
  };
  EXPECT_NE(error(head + gpu(0, step("r")) + gpu(1, step("r")) + "</algo>")
                .find("a.xml:2:78: rank 0 waits here for ever"),
            std::string::npos)
      << error(head + gpu(0, step("r")) + gpu(1, step("r")) + "</algo>");
  EXPECT_NE(error(head + gpu(0, step("s")) + gpu(1, "") + "</algo>")
                .find("a message that nobody receives"),
            std::string::npos);
  EXPECT_NE(
      error(head + gpu(0, step("s", "s")) + gpu(1, "") + "</algo>").find("no scratch buffers"),
      std::string::npos);
}

}  // namespace
}  // namespace collsim
