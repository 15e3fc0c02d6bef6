// nccl-tests' text output, of several versions. Figures are made up; layouts are those of the
// versions' printf.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "models/recordings/recording.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

Recording read(const std::string& text, const std::string& name = "log.txt") {
  return read_recording(TextFile{name, text});
}

const std::string two_ranks =
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   1200 on     node-a device  0 [0000:18:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   1300 on     node-b device  0 [0000:18:00] NVIDIA H100 80GB HBM3\n"
    "#\n";

// 2.0: no root, `error`; the collective follows from busbw: 2 (n-1)/n is 1 for two ranks.
TEST(NcclTestsText, of_2_0_has_no_root_and_an_error) {
  const Recording recording = read(
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 7 "
      "validation: 1 \n#\n# Using devices\n"
      "#   Rank  0 Pid  91 on      host device  0 [0x06] Tesla P100-SXM2-16GB\n"
      "#   Rank  1 Pid  91 on      host device  1 [0x07] Tesla P100-SXM2-16GB\n"
      "#\n"
      "#                                                     out-of-place                    "
      "in-place\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      "  busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " (GB/s)\n"
      "           8             2   float     sum    28.57    0.00    0.00  0e+00    28.36    0.00 "
      "   0.00  0e+00\n"
      "     1048576        262144   float     sum    104.9   10.00   10.00  0e+00    104.0   10.08 "
      "  10.08  0e+00\n"
      " Out of bounds values : 0 OK\n"
      " Avg bus bandwidth    : 5.02\n");
  ASSERT_EQ(recording.rows.size(), 4U);
  EXPECT_EQ(recording.machine.at("gpu"), "Tesla P100-SXM2-16GB");
  const RecordedRow& row = recording.rows[3];
  EXPECT_EQ(row.collective, Collective::all_reduce);
  EXPECT_EQ(row.ranks, 2U);
  EXPECT_EQ(row.nodes, 1U);
  EXPECT_EQ(row.size.count, 1048576);
  EXPECT_TRUE(row.in_place);
  EXPECT_EQ(row.iterations, 7U);  // not the 5 of the warm-up
  EXPECT_DOUBLE_EQ(row.time.value, 104.0e-6);
  EXPECT_DOUBLE_EQ(recording.rows[0].time.value, 28.57e-6);
}

// Today's: redop and root everywhere, the collective by name, hosts by the ranks, variables by
// NCCL's log, N/A where a place does not exist, time stamps behind.
TEST(NcclTestsText, of_today_between_noise) {
  const Recording recording = read(
      "+ mpirun -np 2 -x NCCL_PROTO=Simple -x NCCL_DEBUG=INFO ./build/broadcast_perf -b 1M\n"
      "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22809\n"
      "# Collective test starting: sendrecv_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 1048576(bytes) warmup iters: 1 iters: 20 "
      "agg iters: 1 validation: 1 graph: 3\n#\n" +
      two_ranks +
      "node-a:1200:1211 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n"
      "#                                                              out-of-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time   algbw   busbw  #wrong  timestamp\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
      "(us)  (GB/s)  (GB/s)\n"
      "node-b:1300:1311 [0] NCCL INFO comm 0x1 rank 1\n"
      "[1,0]<stdout>:  1048576  262144     float    none      -1    37.25   28.15   28.15       0  "
      "    N/A     N/A     N/A     N/A  2026-01-01 00:00:00\n"
      "# Out of bounds values : 0 OK\n");
  ASSERT_EQ(recording.rows.size(), 1U);
  const RecordedRow& row = recording.rows[0];
  EXPECT_EQ(row.collective, Collective::send_recv);
  EXPECT_EQ(row.nodes, 2U);
  EXPECT_EQ(row.mode, CallMode::graph);
  EXPECT_EQ(recording.machine.at("nccl"), "2.28.9");
  EXPECT_EQ(row.variables,
            (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}}));
}

const std::string new_header =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
    "time   algbw   busbw  #wrong\n";

// Several tables in a file: each has its own ranks and collective. 4 ranks: reduce_scatter's busbw
// is 3/4 of algbw, all_reduce's 3/2.
TEST(NcclTestsText, several_tables_are_told_apart) {
  std::string four_ranks = "# Using devices\n";
  for (const char* rank : {"0", "1", "2", "3"}) {
    four_ranks += std::string("#  Rank  ") + rank + " Group 0 Pid 5 on host device 0 [0x1] A100\n";
  }
  const std::string row = "  40960  10240  float  sum  -1  10.0  4.10  ";
  const Recording recording =
      read(four_ranks + new_header + row + "6.15  0  11.0  3.72  5.58  0\n" + four_ranks +
           new_header + row + "3.07  0  11.0  3.72  2.79  0\n" + two_ranks + new_header +
           "  40960  10240  float  sum  0  10.0  4.10  4.10  0  11.0  3.72  3.72  0\n");
  ASSERT_EQ(recording.rows.size(), 6U);
  EXPECT_EQ(recording.rows[0].collective, Collective::all_reduce);
  EXPECT_EQ(recording.rows[0].id, "all_reduce#1");
  EXPECT_EQ(recording.rows[2].collective, Collective::reduce_scatter);
  EXPECT_EQ(recording.rows[4].collective, Collective::reduce);
  EXPECT_EQ(recording.rows[4].id, "reduce#3");
  EXPECT_EQ(recording.rows[4].ranks, 2U);
}

// all_gather, alltoall, gather and scatter have the same busbw: nothing tells, but a file's name.
TEST(NcclTestsText, what_nothing_tells_stays_unknown) {
  const std::string text =
      two_ranks + new_header +
      "  40960  10240  float  none  -1  10.0  4.10  2.05  0  11.0  3.72  1.86  "
      "0\n";
  EXPECT_FALSE(read(text).rows[0].collective);
  EXPECT_EQ(read(text, "runs/all_gather_perf.log").rows[0].collective, Collective::all_gather);
}

TEST(NcclTestsText, a_file_is_named_after_a_program_among_other_words) {
  const std::string text = two_ranks + new_header +
                           "  40960  10240  float  none  -1  10.0  4.10  2.05  0  11.0  3.72  1.86 "
                           " 0\n";
  for (const char* name : {"node7_all_gather_perf.log", "hgx2-all_gather_perf-rep1.txt",
                           "2024_all_gather_perf", "slow_perf_all_gather_perf.log"}) {
    EXPECT_EQ(read(text, name).rows[0].collective, Collective::all_gather) << name;
  }
  EXPECT_EQ(read(text, "my_alltoall_perf.log").rows[0].collective, Collective::all_to_all);
  EXPECT_EQ(read(text, "x_reduce_scatter_perf.log").rows[0].collective, Collective::reduce_scatter);
}

// The first release: no units in the header, milliseconds. 134217728 B in 4.123 ms are 32.55 GB/s;
// 8 B in 0.031 ms tell nothing, and are of the same table.
TEST(NcclTestsText, of_the_first_release_has_milliseconds) {
  const Recording recording = read(
      "# NCCL Tests compiled with NCCL 2.0\n"
      "# Using devices\n"
      "#   Rank  0 on       host device  0 [0x06] Tesla P100-SXM2-16GB\n"
      "#   Rank  1 on       host device  1 [0x07] Tesla P100-SXM2-16GB\n"
      "#                                                 out-of-place                    in-place\n"
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
      "busbw      res\n"
      "           8             2   float     sum    0.031   0.00   0.00    0e+00    0.030   0.00  "
      " "
      "0.00    0e+00\n"
      "   134217728      33554432   float     sum    4.123  32.55  32.55    0e+00    4.130  32.50  "
      "32.50    0e+00\n"
      " Out of bounds values : 0 OK\n");
  ASSERT_EQ(recording.rows.size(), 4U);
  EXPECT_DOUBLE_EQ(recording.rows[0].time.value, 31e-6);
  EXPECT_DOUBLE_EQ(recording.rows[2].time.value, 4.123e-3);
  EXPECT_EQ(recording.rows[2].collective, Collective::all_reduce);
}

const std::string short_header =
    "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
    "#  (B)  (elements)  (us)  (GB/s)  (GB/s)\n";

// 1048576 B at 10.49 GB/s take 100 us; 8 B in 2 ms or us say nothing, which rows after them do.
TEST(NcclTestsText, the_unit_of_time_is_what_algbw_says) {
  const std::string tiny = "  8  2  float  sum  -1  2.0  0.00  0.00  0\n";
  const Recording in_milliseconds =
      read(two_ranks + short_header + tiny +
           "  1048576  262144  float  sum  -1  0.10  10.49  10.49  0\n");
  EXPECT_DOUBLE_EQ(in_milliseconds.rows[0].time.value, 2e-3);
  EXPECT_DOUBLE_EQ(in_milliseconds.rows[1].time.value, 100e-6);
  const Recording in_microseconds = read(two_ranks + short_header + tiny);
  EXPECT_DOUBLE_EQ(in_microseconds.rows[0].time.value, 2e-6);
}

// hypercube, and the first release's all_gather, count (n-1)/n of the size: half of 10.49 GB/s.
TEST(NcclTestsText, algbw_may_leave_out_what_a_rank_has) {
  const Recording recording =
      read(two_ranks + short_header + "  1048576  262144  float  none  -1  100  5.24  5.24  0\n");
  EXPECT_DOUBLE_EQ(recording.rows[0].time.value, 100e-6);
}

// What mpirun --timestamp-output --tag-output, Slurm's -l, kubectl logs --timestamps, pdsh and
// docker compose put before lines; the last glues its prefix to the row.
TEST(NcclTestsText, what_stands_before_lines_is_passed_over) {
  for (const char* prefix : {"[1,0]<stdout>:", "0: ", "2024-01-01T10:11:12.345678Z ",
                             "node7: ", "node7: node7: ", "[2024-01-01 10:11:12] ",
                             "Mon Jan  1 10:11:12 2024<stdout>: ", "worker-0  | ",
                             "(rank 0 pid=12) ", "Jan 01 10:11:12 node7 nccl[123]: "}) {
    std::string text;
    for (const std::string& line :
         {std::string("# Using devices"),
          std::string("#  Rank  0 Group  0 Pid 1 on node-a device  0 [0x1] NVIDIA H200"),
          std::string("#  Rank  1 Group  0 Pid 2 on node-b device  0 [0x1] NVIDIA H200"),
          std::string("#  size  count  type  redop  root  time  algbw  busbw  #wrong"),
          std::string("1048576  262144  float  sum  -1  100  10.49  10.49  0")}) {
      text += prefix + line + "\n";
    }
    const Recording recording = read(text);
    ASSERT_EQ(recording.rows.size(), 1U) << prefix;
    EXPECT_EQ(recording.rows[0].size.count, 1048576) << prefix;
    EXPECT_EQ(recording.rows[0].ranks, 2U) << prefix;
    EXPECT_EQ(recording.rows[0].nodes, 2U) << prefix;
    EXPECT_EQ(recording.machine.at("gpu"), "NVIDIA H200") << prefix;
  }
}

// mpirun puts its tag where a piece of a line arrives, here inside a host's name and a number.
TEST(NcclTestsText, a_tag_inside_a_line_is_passed_over) {
  const Recording recording = read(
      "[1,0]<stdout>:#  Rank  0 Group  0 Pid 1 on node-a device  0 [0x1] NVIDIA H200\n"
      "[1,0]<stdout>:#  Rank  1 Group  0 Pid 2 on node-[1,0]<stdout>:a device  0 [0x1] NVIDIA "
      "H2[1,0]<stdout>:00\n" +
      short_header +
      "[1,0]<stdout>:  10485[1,0]<stdout>:76  262144  float  sum  -1  100  10.49  10.49  0\n");
  ASSERT_EQ(recording.rows.size(), 1U);
  EXPECT_EQ(recording.rows[0].nodes, 1U);
  EXPECT_EQ(recording.rows[0].ranks, 2U);
  EXPECT_EQ(recording.rows[0].size.count, 1048576);
  EXPECT_EQ(recording.machine.at("gpu"), "NVIDIA H200");
}

TEST(NcclTestsText, per_iteration_columns_stand_between_the_places) {
  const Recording recording =
      read(two_ranks +
           "#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  i_max  i_p99  "
           "i_cv%  time  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%\n"
           "  64  16  float  sum  -1  10.5  0.01  0.01  0  9  12  12  3.1  20.5  0.00  0.00  0  9  "
           "12  12  3.1\n");
  ASSERT_EQ(recording.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(recording.rows[0].time.value, 10.5e-6);
  EXPECT_DOUBLE_EQ(recording.rows[1].time.value, 20.5e-6);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Buffers of two writers got mixed in a header: a piece of it is there 500 times. What comes first
// is as in a whole header, and the last time has its three words.
TEST(NcclTestsText, a_torn_header_names_no_column_beyond_a_row) {
  const std::string row =
      "  1048576  262144  float  sum  7  100  10.49  10.49  0  100  10.49  10.49  0\n";
  const Recording recording =
      read(two_ranks + "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time" +
           repeated("  algbw  busbw  #wrong  pe  redop  root", 500) + "\n" + row);
  ASSERT_EQ(recording.rows.size(), 2U);
  EXPECT_EQ(recording.rows[1].redop, "sum");
  EXPECT_EQ(recording.rows[1].root, 7U);
  EXPECT_FALSE(recording.rows[1].wrong);
}

// Columns that are behind the times count as well: the row has 8 words, and root is the tenth.
TEST(NcclTestsText, a_row_is_as_long_as_its_last_column_needs) {
  const std::string text = two_ranks +
                           "#  size  count  type  time  algbw  busbw  x  x  x  root\n"
                           "  1048576  262144  float  100  10.49  10.49  0  0\n"
                           "  1048576  262144  float  100  10.49  10.49  0  0  0  1\n";
  const std::string error = test::error_of([&] { return read(text); });
  EXPECT_TRUE(error.starts_with("log.txt:6:49: a row of 8 columns; 10 or more")) << error;
  std::size_t bad_rows = 0;
  const Recording recording = read_recording(TextFile{"log.txt", text}, bad_rows);
  EXPECT_EQ(bad_rows, 1U);
  ASSERT_EQ(recording.rows.size(), 1U);
  EXPECT_EQ(recording.rows[0].root, 1U);
}

void expect_error(const std::string& text, const std::string& begin) {
  const std::string error = test::error_of([&] { return read(text); });
  EXPECT_TRUE(error.starts_with(begin)) << error;
}

// A million marks, or ends of names, in a line are looked at once each: a minute where each is
// compared with all that follow.
TEST(NcclTestsText, long_lines_take_no_longer_than_their_length) {
  for (const std::string& piece :
       {std::string("#"), std::string("_perf"), std::string("[pod/"), std::string("]<stdout>:"),
        std::string("# "), std::string("a,1]<stdout>:")}) {
    const std::string line = std::string("x").append(repeated(piece, 1'000'000)).append("\n");
    expect_error(line, "log.txt: no measured times");
  }
}

TEST(NcclTestsText, what_cannot_be_read_is_told_by_line_and_column) {
  const std::string good = "  64  16  float  sum  -1  0.6  0.1  0.1  0  0.6  0.1  0.1  0\n";
  // Lines 1 to 5: devices and header.
  expect_error(two_ranks + new_header + "  64  16  float  sum  -1  oops  0  0  0  1  0  0  0\n",
               "log.txt:6:27: 'oops'");
  expect_error(two_ranks + new_header + "  64  16  float  sum\n" + good, "log.txt:6:18: ");
  // 1048576 B in 100 are 10.49 GB/s in microseconds and 0.0105 GB/s in milliseconds.
  expect_error(
      "node7: " + short_header + "node7:  1048576  262144  float  sum  -1  100  5000  5000  0\n",
      "log.txt:3:42: a time of 100 and an algbw of 5000 GB/s");
  expect_error(two_ranks + short_header +
                   "  1048576  262144  float  sum  -1  100  10.49  10.49  0\n" +
                   "  1048576  262144  float  sum  -1  0.1  10.49  10.49  0\n",
               "log.txt:8:36: a time of 0.1 and");
  expect_error("hello\n", "log.txt: no measured times");
  expect_error("", "log.txt: no measured times");
  expect_error("# size count type cputime algbw busbw #wrong\n", "log.txt:1: ");
  // A run that was stopped while it printed its last line is no mistake.
  EXPECT_EQ(read(two_ranks + new_header + good + "  128  32  float").rows.size(), 2U);
}

// Tables of one place do not say that nothing was checked in place: 293.60 / 167.77 = 1.75 is
// all_reduce of eight.
TEST(NcclTestsText, of_one_place_says_its_collective) {
  const Recording recording = read(
      "# size count type redop root time algbw busbw #wrong\n"
      "  67108864  16777216  float  sum  -1  400.0  167.77  293.60  0\n");
  ASSERT_EQ(recording.rows.size(), 1U);
  EXPECT_EQ(recording.rows[0].collective, Collective::all_reduce);
  EXPECT_EQ(recording.rows[0].ranks, 8U);
}

/// A table of two ranks with the deviations of releases before 2.13, in that type.
Recording of_deviations(const std::string& type, const std::string& out, const std::string& in,
                        const std::string& footer = "") {
  return read(
      two_ranks +
      "#       size   count   type  redop   time  algbw  busbw  error   time  algbw  busbw  "
      "error\n"
      "     8388608 2097152 " +
      type + " sum 5729.5 1.46 1.46 " + out + " 5477.3 1.53 1.53 " + in + "\n" + footer);
}

// What nccl-tests let pass: 1e-5 of a float, 1e-12 of a double, 5e-2 of a half; nothing of an int.
TEST(NcclTestsText, a_deviation_is_wrong_by_its_type) {
  const Recording floats = of_deviations("float", "5e-07", "1e+00");
  ASSERT_EQ(floats.rows.size(), 2U);
  EXPECT_FALSE(floats.rows[0].wrong);
  EXPECT_TRUE(floats.rows[1].wrong);
  EXPECT_TRUE(of_deviations("double", "5e-07", "0e+00").rows[0].wrong);
  EXPECT_FALSE(of_deviations("half", "2e-02", "0e+00").rows[0].wrong);
  EXPECT_TRUE(of_deviations("int32", "1e+00", "0e+00").rows[0].wrong);
  EXPECT_TRUE(of_deviations("float", "nan", "N/A").rows[0].wrong);
  EXPECT_FALSE(of_deviations("float", "nan", "N/A").rows[1].wrong);
}

// The footer alone does not say which of the run's rows it is of.
TEST(NcclTestsText, a_footer_that_failed_makes_all_rows_wrong_where_none_is) {
  const std::string failed = "# Out of bounds values : 2 FAILED\n";
  for (const RecordedRow& row : of_deviations("float", "0e+00", "N/A", failed).rows) {
    EXPECT_TRUE(row.wrong);
  }
  EXPECT_FALSE(of_deviations("float", "0e+00", "1e+00", failed).rows[0].wrong);
  EXPECT_FALSE(
      of_deviations("float", "0e+00", "0e+00", "# Out of bounds values : 0 OK\n").rows[0].wrong);
}

// Counts are printed with six digits: 1.5 million are 1.5e+06.
TEST(NcclTestsText, a_large_count_of_wrong_results_is_read) {
  const Recording recording = read(
      two_ranks +
      "#       size   count   type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  "
      "#wrong\n"
      "     8388608 2097152 float sum -1 5729.5 1.46 1.46 1.5e+06 5477.3 1.53 1.53 0\n");
  EXPECT_TRUE(recording.rows[0].wrong);
  EXPECT_FALSE(recording.rows[1].wrong);
}

const std::string one_row =
    "#       size   count   type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  "
    "#wrong\n"
    "     8388608 2097152 float sum -1 5729.5 1.46 1.46 0 5477.3 1.53 1.53 0\n";
const std::string info = "node-a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to ";
const std::string header = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 iters: 20\n";

/// Rows of ranks that are listed in groups, the rank modulo `groups`, of hosts of `per_host`.
RecordedRow row_of_groups(Rank ranks, Rank groups, Rank per_host) {
  std::string text = "# Collective test starting: all_reduce_perf\n# Using devices\n";
  for (Rank rank = 0; rank < ranks; ++rank) {
    text +=
        fmt::format("#  Rank {:2} Group {:2} Pid {} on host-{} device {:2} [0x00] NVIDIA H200\n",
                    rank, rank % groups, 100 + rank, rank / per_host, rank % per_host);
  }
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "1048576 262144 float sum -1 16.98 61.77 61.77 0\n";
  return read(text).rows.front();
}

// NCCL_TESTS_SPLIT: pairs of GPUs within a host, and rails of hosts.
TEST(NcclTestsText, of_several_groups_has_the_ranks_of_one) {
  EXPECT_EQ(row_of_groups(4, 2, 4).ranks, 2U);
  EXPECT_EQ(row_of_groups(4, 2, 4).nodes, 1U);
  EXPECT_EQ(row_of_groups(16, 8, 8).ranks, 2U);
  EXPECT_EQ(row_of_groups(16, 8, 8).nodes, 2U);
  EXPECT_EQ(row_of_groups(2, 1, 1).ranks, 2U);
  EXPECT_EQ(row_of_groups(2, 1, 1).nodes, 2U);
}

// Of two runs each has the setting that was printed after the rows of the one before, whether its
// header came first or not.
TEST(NcclTestsText, a_setting_belongs_to_the_run_whose_table_follows) {
  const Recording recording = read(info + "Ring\n" + header + two_ranks + one_row + header +
                                   two_ranks + info + "Tree\n" + one_row);
  ASSERT_EQ(recording.rows.size(), 4U);
  EXPECT_EQ(recording.rows[0].variables.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(recording.rows[2].variables.at("NCCL_ALGO"), "Tree");
}

// stderr behind stdout in one file.
TEST(NcclTestsText, a_setting_behind_all_tables_is_the_last_run_s) {
  const Recording recording = read(header + two_ranks + one_row + info + "Ring\n");
  EXPECT_EQ(recording.rows[0].variables.at("NCCL_ALGO"), "Ring");
}

// What a shell exports holds until it is changed.
TEST(NcclTestsText, exported_settings_hold_for_all_runs) {
  const Recording recording =
      read("+ export NCCL_PROTO='Simple'\nNCCL_ALGO=Ring\nWARN set NCCL_P2P_DISABLE=1 to try\n" +
           header + two_ranks + one_row + header + two_ranks + one_row);
  ASSERT_EQ(recording.rows.size(), 4U);
  for (const RecordedRow& row : recording.rows) {
    EXPECT_EQ(row.variables.at("NCCL_PROTO"), "Simple");
    EXPECT_EQ(row.variables.at("NCCL_ALGO"), "Ring");
    EXPECT_FALSE(row.variables.contains("NCCL_P2P_DISABLE"));
  }
}

}  // namespace
}  // namespace collsim
