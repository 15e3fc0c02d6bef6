#include "sim/plan/program.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/schedule_builder.h"

namespace collsim {
namespace {

Primitive send_of(std::uint32_t chunk) {
  Primitive primitive;
  primitive.first_chunk = chunk;
  primitive.send_group = 1;
  return primitive;
}

RunList list_of(const std::vector<std::uint32_t>& sent, std::uint32_t chunks) {
  RunList list;
  for (const std::uint32_t chunk : sent) list.append(send_of(chunk), chunks);
  return list;
}

std::vector<std::uint32_t> chunks_of(const Program& program) {
  std::vector<std::uint32_t> chunks;
  for (const Primitive& primitive : program) chunks.push_back(primitive.first_chunk);
  return chunks;
}

// Of 8 chunks: 5 and then three times 3 less, round; a stride of 5 modulo 8.
TEST(program, a_constant_stride_round_the_chunks_is_one_run) {
  const std::vector<std::uint32_t> sent{5, 2, 7, 4};
  const RunList list = list_of(sent, 8);
  const Program program(list, 8);
  ASSERT_EQ(program.runs().size(), 1U);
  EXPECT_EQ(program.runs().front().chunk_stride, 5U);
  EXPECT_EQ(program.size(), 4U);
  EXPECT_EQ(chunks_of(program), sent);
  EXPECT_EQ(program[3].first_chunk, 4U);
}

// 0 2 4 is a run, 5 is not its next, 5 0 is one modulo 8.
TEST(program, another_stride_is_another_run) {
  const std::vector<std::uint32_t> sent{0, 2, 4, 5, 0};
  const RunList list = list_of(sent, 8);
  EXPECT_EQ(list.runs().size(), 2U);
  EXPECT_EQ(chunks_of({list, 8}), sent);
}

TEST(program, another_peer_is_another_run) {
  RunList list = list_of({0, 1}, 8);
  Primitive other = send_of(2);
  other.send_group = 2;
  list.append(other, 8);
  EXPECT_EQ(list.runs().size(), 2U);
  EXPECT_EQ(list.size(), 3U);
}

// After every beginning, a run put in at once gives what its primitives give one by one.
TEST(program, a_run_may_be_put_in_at_once) {
  const collsim::Run run{send_of(6), 5, 3};
  for (const std::vector<std::uint32_t>& before :
       {std::vector<std::uint32_t>{}, {3}, {4}, {0, 3}, {5, 0}}) {
    RunList at_once = list_of(before, 8);
    at_once.append(run, 8);
    std::vector<std::uint32_t> wanted = before;
    wanted.insert(wanted.end(), {6, 1, 4, 7, 2});
    EXPECT_EQ(chunks_of({at_once, 8}), wanted);
    EXPECT_EQ(at_once.size(), wanted.size());
    EXPECT_LE(at_once.runs().size(), 3U);
  }
}

TEST(program, stretches_join_runs_that_differ_in_chunks_only) {
  const RunList list = list_of({0, 2, 4, 5, 0}, 8);
  int stretches = 0;
  for_each_uniform_run(Program(list, 8), [&](const Primitive& first, std::uint32_t length) {
    ++stretches;
    EXPECT_EQ(first.first_chunk, 0U);
    EXPECT_EQ(length, 5U);
  });
  EXPECT_EQ(stretches, 1);
}

// send; n-2 times recv_reduce_copy_send of the reduce-scatter; one whose send is the all-gather's;
// n-2 times recv_copy_send; recv.
TEST(program, a_ring_of_any_size_has_five_runs) {
  for (const Rank ranks : {5U, 64U, 1000U}) {
    const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(ranks));
    for (const Rank rank : {0U, 1U, ranks - 1}) {
      EXPECT_EQ(plan.schedule(0).program(rank, 0).size(), 2 * ranks - 1);
      EXPECT_EQ(plan.schedule(0).program(rank, 0).runs().size(), 5U);
    }
  }
}

/// What the builder makes of a ring's steps if they are repeated, or written one by one.
Schedule ring_steps(Rank ranks, std::uint32_t width, bool repeated) {
  ScheduleBuilder builder(ranks, ranks * width + 1);
  std::vector<Rank> all;
  for (Rank rank = 0; rank < ranks; ++rank) all.push_back(rank);
  Group group(builder, all, 1, width);
  const auto step = [&](std::uint32_t back) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      group.reduce(rank, (rank + 1) % ranks, {(rank + 2 * ranks - 1 - back) % ranks, 1});
    }
  };
  if (repeated) {
    group.repeat(ranks - 1, ranks - 1, ranks, [&] { step(0); });
  } else {
    for (std::uint32_t s = 0; s + 1 < ranks; ++s) {
      group.step();
      step(s);
    }
  }
  // Rank 1 sends on the same connection at once, and what came last only in the step after.
  group.copy(1, 2, {0, 1});
  group.step();
  group.copy(1, 2, {1, 1});
  return std::move(builder).build();
}

// Chunks 1 and on of a schedule, in pieces of 1 or 2: runs break where the group's chunks go round.
TEST(program, repeated_steps_are_those_that_are_written_out) {
  for (const Rank ranks : {3U, 4U, 5U, 9U}) {
    for (const std::uint32_t width : {1U, 2U}) {
      const Schedule repeated = ring_steps(ranks, width, true);
      const Schedule written = ring_steps(ranks, width, false);
      for (Rank rank = 0; rank < ranks; ++rank) {
        const Program a = repeated.program(rank, 0);
        const Program b = written.program(rank, 0);
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
          EXPECT_TRUE(alike(a[i], b[i])) << "rank " << rank << ", primitive " << i;
          EXPECT_EQ(a[i].chunks(), b[i].chunks()) << "rank " << rank << ", primitive " << i;
          EXPECT_EQ(a[i].phase, b[i].phase);
        }
      }
    }
  }
}

TEST(program, a_window_of_a_run_holds_the_chunks_that_it_takes) {
  constexpr std::uint32_t chunks = 7;
  for (std::uint32_t stride = 0; stride < chunks; ++stride) {
    for (std::uint32_t first = 0; first < chunks; ++first) {
      for (std::uint32_t repeats = 1; repeats <= chunks + 1; ++repeats) {
        const collsim::Run run{send_of(first), repeats, stride};
        const auto window = window_of(run, chunks);
        const bool walks = (stride == 1 || stride == chunks - 1) && repeats <= chunks;
        ASSERT_EQ(window.has_value(), walks) << stride << ' ' << first << ' ' << repeats;
        for (std::uint32_t i = 0; window && i < repeats; ++i) {
          const std::uint32_t place = window->is_backward ? repeats - 1 - i : i;
          EXPECT_EQ(run.at(i, chunks).first_chunk, (window->begin + place) % chunks);
        }
      }
    }
  }
}

/// A chain: rank 0 sends without receiving, so that no step tells what the next one does.
Schedule chain_steps(bool repeated) {
  ScheduleBuilder builder(3, 8);
  builder.copy(2, 0, {5, 1});
  const auto step = [&](std::uint32_t chunk) {
    builder.copy(0, 1, {chunk, 1});
    builder.copy(1, 2, {(chunk + 7) % 8, 1});
  };
  if (repeated) {
    builder.repeat(8, {1, 8}, [&] { step(0); });
  } else {
    for (std::uint32_t s = 0; s < 8; ++s) {
      builder.step();
      step(s);
    }
  }
  return std::move(builder).build();
}

TEST(program, repeated_steps_of_a_chain_are_those_that_are_written_out) {
  const Schedule repeated = chain_steps(true);
  const Schedule written = chain_steps(false);
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(chunks_of(repeated.program(rank, 0)), chunks_of(written.program(rank, 0)));
    ASSERT_EQ(repeated.program(rank, 0).size(), written.program(rank, 0).size());
    for (std::size_t i = 0; i < written.program(rank, 0).size(); ++i) {
      EXPECT_TRUE(alike(repeated.program(rank, 0)[i], written.program(rank, 0)[i]));
    }
  }
}

}  // namespace
}  // namespace collsim
