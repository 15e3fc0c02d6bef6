// Dumps of real jobs, whose faults are known (tests/data/flight-recorder/README.md).

#include "tools/collsim/hang/hang_analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/collsim/hang/dump_files.h"

namespace collsim {
namespace {

using Ranks = std::vector<std::uint32_t>;

std::vector<FlightRecord> records_of(const std::string& folder) {
  return load_dumps({std::string(COLLSIM_SOURCE_DIR "/tests/data/flight-recorder/") + folder})
      .records;
}

/// What was found, with the job that it points into.
struct Found {
  Job job;
  HangAnalysis analysis;
};

Found found_in(std::vector<FlightRecord> records, const HangOptions& options = {}) {
  Found found;
  found.job = assemble_job(std::move(records));
  found.analysis = analyse_hang(found.job, options);
  return found;
}

const JobCall& call_of(const Found& found) {
  return found.job.calls[found.analysis.findings.front().call];
}

const Ranks& suspects_of(const Found& found) {
  return found.analysis.findings.front().suspects;
}

TEST(Hang, of_crossed_groups_is_a_cycle) {
  const Found found = found_in(records_of("crossed"));
  EXPECT_EQ(found.analysis.verdict, HangVerdict::cycle);
  EXPECT_EQ(suspects_of(found), (Ranks{0, 1}));
}

TEST(Hang, of_a_skipped_call_is_at_the_barrier) {
  const Found found = found_in(records_of("skip"));
  EXPECT_EQ(found.analysis.verdict, HangVerdict::other_operation);
  EXPECT_EQ(call_of(found).sequence, 11);
}

TEST(Hang, is_seen_where_nothing_failed) {
  const Found swapped = found_in(records_of("swapped"));
  EXPECT_EQ(swapped.analysis.verdict, HangVerdict::other_order);
  EXPECT_EQ(call_of(swapped).sequence, 5);
  const Found sizes = found_in(records_of("sizes"));
  EXPECT_EQ(sizes.analysis.verdict, HangVerdict::other_size);
  EXPECT_EQ(call_of(sizes).sequence, 5);
}

TEST(Hang, of_a_late_rank_is_none) {
  const Found found = found_in(records_of("late"));
  EXPECT_EQ(found.analysis.verdict, HangVerdict::late);
  EXPECT_EQ(call_of(found).sequence, 5);
  // Created at 790068532083 and completed at 802338870491 ns.
  EXPECT_NEAR(found.analysis.findings.front().waited->value, 12.270, 0.001);
  EXPECT_EQ(found.job.undumped, Ranks{1});
}

TEST(Hang, of_failed_gpus_is_on_the_gpus) {
  const Found found = found_in(records_of("nvrx-gpu_error"));
  ASSERT_EQ(found.analysis.findings.size(), 2U);
  EXPECT_EQ(found.analysis.findings[0].verdict, HangVerdict::gpu);
  EXPECT_EQ(found.analysis.findings[0].suspects, Ranks{12});
  EXPECT_EQ(found.analysis.findings[1].verdict, HangVerdict::gpu);
  EXPECT_EQ(found.analysis.findings[1].suspects, Ranks{14});
}

TEST(Hang, of_stopped_programs_is_on_the_cpu) {
  const Found found = found_in(records_of("nvrx-lock_gil"));
  ASSERT_EQ(found.analysis.findings.size(), 1U);
  EXPECT_EQ(found.analysis.verdict, HangVerdict::cpu_side);
  EXPECT_EQ(suspects_of(found), (Ranks{9, 14}));
  EXPECT_EQ(call_of(found).sequence, 45265);
}

TEST(Hang, with_a_missing_dump_says_so) {
  std::vector<FlightRecord> records = records_of("nvrx-lock_gil");
  std::erase_if(records, [](const FlightRecord& each) { return each.rank == 9; });
  const Found found = found_in(std::move(records));
  EXPECT_EQ(found.job.undumped, Ranks{9});
  const auto names = [&](HangVerdict verdict, std::uint32_t rank) {
    return std::any_of(found.analysis.findings.begin(), found.analysis.findings.end(),
                       [&](const HangFinding& each) {
                         return each.verdict == verdict && each.suspects == Ranks{rank};
                       });
  };
  EXPECT_TRUE(names(HangVerdict::cpu_side, 14));
  EXPECT_TRUE(names(HangVerdict::no_dump, 9));
}

TEST(Hang, that_was_dumped_early_is_late_unless_patience_is_short) {
  std::vector<FlightRecord> records = records_of("crossed");
  for (FlightRecord& each : records)
    each.written_ns = each.entries.back().created_ns + 1'000'000'000;
  EXPECT_EQ(found_in(records).analysis.verdict, HangVerdict::late);  // 1 s of 6 s
  EXPECT_EQ(found_in(records, {Seconds{0.5}}).analysis.verdict, HangVerdict::cycle);
}

/// A rank of a communicator of all, which has sent or received `count` times.
FlightRecord exchanging(std::uint32_t rank, const std::string& side, std::size_t count,
                        std::size_t completed) {
  FlightRecord record;
  record.file = "rank";
  record.rank = rank;
  record.groups["0"] = {"0", "default_pg", {0, 1}};
  for (std::size_t i = 0; i < count; ++i) {
    FlightEntry entry;
    entry.group = "0";
    entry.record = static_cast<std::int64_t>(i);
    entry.exchange_sequence = static_cast<std::int64_t>(i) + 1;
    entry.is_exchange = true;
    entry.shape = {side, {64}, {64}, {"Float"}, {"Float"}};
    entry.sender = 0;
    entry.receiver = 1;
    entry.is_completed = i < completed;
    entry.created_ns = static_cast<std::int64_t>(i) + 1;
    record.entries.push_back(entry);
  }
  return record;
}

TEST(Hang, of_a_send_without_its_receive_names_the_receiver) {
  const Found found = found_in({exchanging(0, "send", 3, 2), exchanging(1, "recv", 2, 2)});
  EXPECT_EQ(found.analysis.verdict, HangVerdict::cpu_side);
  EXPECT_EQ(suspects_of(found), Ranks{1});
  EXPECT_EQ(call_of(found).sequence, 3);
}

TEST(Hang, of_a_send_to_a_rank_outside_of_the_communicator_names_that_rank) {
  std::vector<FlightRecord> records{exchanging(0, "send", 1, 0), exchanging(1, "recv", 0, 0)};
  records[1].groups.clear();
  const Found found = found_in(records);
  EXPECT_EQ(found.analysis.verdict, HangVerdict::cpu_side);
  EXPECT_EQ(suspects_of(found), Ranks{1});
}

TEST(Hang, of_a_receive_of_another_size_is_a_disagreement) {
  std::vector<FlightRecord> records{exchanging(0, "send", 2, 1), exchanging(1, "recv", 2, 1)};
  records[1].entries[1].shape.outputs = {32};
  EXPECT_EQ(found_in(records).analysis.verdict, HangVerdict::other_size);
}

TEST(Hang, with_everything_issued_alike_is_in_nccl) {
  const Found found = found_in({exchanging(0, "send", 2, 1), exchanging(1, "recv", 2, 1)});
  EXPECT_EQ(found.analysis.verdict, HangVerdict::nccl);
  EXPECT_EQ(suspects_of(found), (Ranks{0, 1}));
}

constexpr std::int64_t second_ns = 1'000'000'000;

/// One call of several ranks: when each issued it, and when it completed or was aborted; 0 for
/// never. The timeout is 6 s.
struct TimedCall {
  std::vector<std::int64_t> issued_s;
  std::vector<std::int64_t> ended_s;
  HangVerdict verdict;
  Ranks suspects;
  bool is_retired = false;
};

std::vector<FlightRecord> dumps_of(const TimedCall& call) {
  std::vector<FlightRecord> records;
  const std::size_t count = call.issued_s.size();
  Ranks ranks;
  for (std::uint32_t rank = 0; rank < count; ++rank) ranks.push_back(rank);
  for (const std::uint32_t rank : ranks) {
    FlightRecord record;
    record.rank = rank;
    record.groups["0"] = {"0", "default_pg", ranks};
    for (std::int64_t number = 1; number <= 2; ++number) {
      FlightEntry entry;
      entry.group = "0";
      entry.record = number - 1;
      entry.collective_sequence = number;
      entry.shape = {"all_reduce", {64}, {64}, {"Float"}, {"Float"}};
      entry.created_ns = (number == 1 ? 100 : call.issued_s[rank]) * second_ns;
      const std::int64_t ended = number == 1 ? 101 : call.ended_s[rank];
      entry.is_completed = ended > 0;
      if (entry.is_completed) entry.completed_ns = ended * second_ns;
      entry.is_retired = number == 1 || call.is_retired;
      entry.timeout_ms = 6000;
      if (entry.created_ns > 0) record.entries.push_back(entry);
    }
    records.push_back(std::move(record));
  }
  return records;
}

/// All issue call 2 at 110 s, unless they come late.
std::vector<TimedCall> timed_calls() {
  using enum HangVerdict;
  return {
      {{110, 110, 110, 110}, {133, 133, 132, 132}, nccl, {0, 1, 2, 3}},
      {{110, 110}, {116, 116}, nccl, {0, 1}},
      {{110, 112, 110}, {117, 118, 117}, nccl, {0, 1, 2}},
      {{110, 110, 110}, {117, 0, 0}, nccl, {0, 1, 2}},
      {{110, 110, 110}, {0, 117, 117}, nccl, {0, 1, 2}},
      {{110, 0, 110}, {117, 0, 117}, cpu_side, {1}},
      {{110, 110, 0, 0}, {117, 0, 0, 0}, cpu_side, {2, 3}},
      {{110, 121}, {122, 122}, late, {1}},
      {{110, 115}, {117, 117}, late, {1}},
      {{110, 110}, {117, 117}, late, {0}, true},
      {{110, 110}, {111, 112}, no_hang, {}},
  };
}

TEST(Hang, of_an_aborted_call_is_in_that_call) {
  for (const TimedCall& call : timed_calls()) {
    const Found found = found_in(dumps_of(call));
    SCOPED_TRACE(testing::PrintToString(call.issued_s) + testing::PrintToString(call.ended_s));
    EXPECT_EQ(found.analysis.verdict, call.verdict);
    if (found.analysis.findings.empty()) continue;
    EXPECT_EQ(suspects_of(found), call.suspects);
    EXPECT_EQ(call_of(found).sequence, 2);
  }
}

TEST(Hang, of_an_aborted_send_is_in_that_send) {
  std::vector<FlightRecord> records{exchanging(0, "send", 2, 2), exchanging(1, "recv", 2, 2)};
  for (FlightRecord& record : records) {
    record.entries.back().timeout_ms = 6000;
    record.entries.back().completed_ns = record.entries.back().created_ns + 7 * second_ns;
  }
  EXPECT_EQ(found_in(records).analysis.verdict, HangVerdict::nccl);
  records.back().entries.pop_back();
  const Found found = found_in(records);
  EXPECT_EQ(found.analysis.verdict, HangVerdict::cpu_side);
  EXPECT_EQ(suspects_of(found), Ranks{1});
}

}  // namespace
}  // namespace collsim
