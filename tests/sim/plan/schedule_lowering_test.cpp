#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sim/algorithms/registry.h"
#include "sim/plan/schedule_builder.h"

namespace collsim {
namespace {

/// "recv_reduce_copy_send 2+1 <0,3 >1": kind, first chunk + count, sources, destinations.
std::string program_text(const Schedule& schedule, Rank rank, std::uint32_t lane = 0) {
  std::string text;
  for (const Primitive& primitive : schedule.program(rank, lane)) {
    text += fmt::format("{} {}+{}", to_string(primitive.kind), primitive.first_chunk,
                        primitive.chunk_count);
    std::string mark = " <";
    for (const ConnectionId id : schedule.peers(primitive.receive_group)) {
      text += fmt::format("{}{}", std::exchange(mark, ","), schedule.connections()[id].src);
    }
    mark = " >";
    for (const ConnectionId id : schedule.peers(primitive.send_group)) {
      text += fmt::format("{}{}", std::exchange(mark, ","), schedule.connections()[id].dst);
    }
    text += "\n";
  }
  return text;
}

TEST(schedule_lowering, a_ring_is_the_program_of_nccl) {
  // N = 3, rank 0. Rank r ends with chunk r, so chunk 2 starts at rank 0, and chunk 1 passes it.
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(3));
  EXPECT_EQ(program_text(plan.schedule(0), 0),
            "send 2+1 >1\n"
            "recv_reduce_copy_send 1+1 <2 >1\n"
            "recv_reduce_copy_send 0+1 <2 >1\n"
            "recv_copy_send 2+1 <2 >1\n"
            "recv 1+1 <2\n");
}

TEST(schedule_lowering, the_root_of_a_tree_fuses_both_lanes) {
  // N = 3: 0 -> 2 -> 1. Chunk 0 comes up in lane 0; the root answers in the same primitive, while
  // all others have a program per direction.
  const Schedule schedule =
      make_plan(Collective::all_reduce, "tree", uniform_placement(3)).schedules.front();
  ASSERT_EQ(schedule.lanes(), 2U);
  EXPECT_EQ(program_text(schedule, 0, 0), "recv_reduce_copy_send 0+1 <2 >2\n");
  EXPECT_EQ(program_text(schedule, 0, 1), "");
  EXPECT_EQ(program_text(schedule, 2, 0), "recv_reduce_copy_send 0+1 <1 >0\n");
  EXPECT_EQ(program_text(schedule, 2, 1), "recv_copy_send 0+1 <0 >1\n");
  EXPECT_EQ(program_text(schedule, 1, 0), "send 0+1 >2\n");
  EXPECT_EQ(program_text(schedule, 1, 1), "recv 0+1 <2\n");
}

TEST(schedule_lowering, several_peers_of_one_step_share_a_primitive) {
  const Schedule schedule =
      make_plan(Collective::all_reduce, "parameter_server", uniform_placement(4)).schedules.front();
  EXPECT_EQ(program_text(schedule, 0), "recv_reduce_copy_send 0+1 <1,2,3 >1,2,3\n");
}

TEST(schedule_lowering, sends_read_what_was_there_before_the_step) {
  // An exchange: both send before they receive, else each would wait for the other.
  ScheduleBuilder builder(2, 1);
  builder.reduce(0, 1, {0, 1});
  builder.reduce(1, 0, {0, 1});
  const Schedule schedule = std::move(builder).build();
  EXPECT_EQ(program_text(schedule, 0), "send 0+1 >1\nrecv_reduce_copy 0+1 <1\n");
}

TEST(schedule_lowering, other_chunks_are_not_fused) {
  // Chunks 0..1 come in, chunk 0 alone goes on.
  ScheduleBuilder builder(3, 2);
  builder.copy(0, 1, {0, 2});
  builder.step();
  builder.copy(1, 2, {0, 1});
  const Schedule schedule = std::move(builder).build();
  EXPECT_EQ(program_text(schedule, 1), "recv 0+2 <0\nsend 0+1 >2\n");
}

TEST(schedule_lowering, a_send_is_not_fused_past_another_use_of_its_connection) {
  // Rank 1 receives chunks 0 and 1 and sends to rank 2 in between. Fused with its receive, chunk 0
  // would overtake the message of the same step on 1 -> 2.
  ScheduleBuilder builder(3, 3);
  builder.copy(0, 1, {0, 1});
  builder.copy(0, 1, {1, 1});
  builder.copy(1, 2, {2, 1});
  builder.step();
  builder.copy(1, 2, {0, 1});
  const Schedule schedule = std::move(builder).build();
  EXPECT_EQ(program_text(schedule, 1), "send 2+1 >2\nrecv 0+1 <0\nrecv 1+1 <0\nsend 0+1 >2\n");
}

TEST(schedule_lowering, a_send_is_fused_past_other_receives_where_its_connection_is_idle) {
  ScheduleBuilder builder(3, 2);
  builder.copy(0, 1, {0, 1});
  builder.copy(0, 1, {1, 1});
  builder.step();
  builder.copy(1, 2, {0, 1});
  const Schedule schedule = std::move(builder).build();
  EXPECT_EQ(program_text(schedule, 1), "recv_copy_send 0+1 <0 >2\nrecv 1+1 <0\n");
}

TEST(schedule_lowering, equal_peer_groups_are_stored_once) {
  // Rank 0 sends to {1, 2} in every step.
  ScheduleBuilder builder(3, 4);
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
    builder.step();
    builder.copy(0, 1, {chunk, 1});
    builder.copy(0, 2, {chunk, 1});
  }
  const Schedule schedule = std::move(builder).build();
  for (const Primitive& primitive : schedule.program(0, 0)) {
    EXPECT_EQ(primitive.send_group, schedule.program(0, 0).front().send_group);
  }
}

TEST(schedule_lowering, a_group_renumbers_ranks_and_chunks) {
  // Group: ranks 3, 1; chunk j is chunks 2 + 2j and 3 + 2j. Its subgroup swaps the ranks again and
  // begins at the group's chunk 1 with chunks two of the group's wide: 4..7.
  ScheduleBuilder builder(4, 8);
  const Group group(builder, {3, 1}, 2, 2);
  const std::vector<Rank> swapped{1, 0};
  Group inner = group.subgroup(swapped, 1, 2, false);
  inner.copy(0, 1, {0, 1});
  const Schedule schedule = std::move(builder).build();
  EXPECT_EQ(program_text(schedule, 1), "send 4+4 >3\n");
  EXPECT_EQ(program_text(schedule, 3), "recv 4+4 <1\n");
}

TEST(schedule_lowering, a_single_lane_group_ignores_lanes) {
  ScheduleBuilder builder(2, 1);
  const Group all(builder, {0, 1});
  Group group = all.subgroup(std::vector<Rank>{0, 1}, 0, 1, true);
  group.lane(3);
  group.copy(0, 1, {0, 1});
  EXPECT_EQ(std::move(builder).build().lanes(), 1U);
}

TEST(schedule_lowering, lanes_that_come_late_still_see_what_lane_0_received) {
  // Chunk 0 reaches rank 1 in lane 0 and goes on over a connection of lane 1: the program of lane 0
  // has to do it.
  ScheduleBuilder builder(3, 1);
  builder.copy(0, 1, {0, 1});
  builder.step();
  builder.lane(1);
  builder.copy(1, 2, {0, 1});
  const Schedule schedule = std::move(builder).build();
  EXPECT_EQ(program_text(schedule, 1, 0), "recv_copy_send 0+1 <0 >2\n");
  EXPECT_EQ(program_text(schedule, 1, 1), "");
  EXPECT_EQ(program_text(schedule, 2, 1), "recv 0+1 <1\n");
}

TEST(schedule_lowering, a_fused_primitive_has_the_phase_of_its_send) {
  ScheduleBuilder builder(3, 1);
  builder.phase("in");
  builder.copy(0, 1, {0, 1});
  builder.step();
  builder.phase("out");
  builder.copy(1, 2, {0, 1});
  const Schedule schedule = std::move(builder).build();
  const Primitive& fused = schedule.program(1, 0).front();
  EXPECT_EQ(schedule.phase_name(static_cast<PhaseId>(fused.phase)), "out");
}

}  // namespace
}  // namespace collsim
