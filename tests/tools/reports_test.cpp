// Logs of public problem reports, with the answers that were found there (tests/data/reports).

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/recordings/recording.h"
#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using nlohmann::json;

std::string file(const std::string& name) {
  return std::string(COLLSIM_SOURCE_DIR) + "/tests/data/reports/" + name;
}

Outcome diagnose(std::vector<std::string> args) {
  args.insert(args.begin(), "diagnose");
  return run(args);
}

/// What JSON says of the only log.
json only_log(std::vector<std::string> args) {
  args.insert(args.end(), {"--format", "json"});
  const Outcome outcome = diagnose(args);
  EXPECT_FALSE(outcome.out.empty()) << outcome.err;
  return outcome.out.empty() ? json() : json::parse(outcome.out)["logs"][0];
}

std::string first_cause(const json& log) {
  return log["causes"].empty() ? "" : log["causes"][0]["causes"][0]["cause"].get<std::string>();
}

bool mentions(const json& sentences, const std::string& text) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const json& each) {
    return each.get<std::string>().find(text) != std::string::npos;
  });
}

/// The answers are those of the calibrations that are shipped.
class Reports : public testing::Test {
 private:
  ShippedData data_;
};

/// The ratio of the largest size.
double last_ratio(const json& log) {
  return log["sizes"].back()["ratio"].get<double>();
}

// 19.83 GB/s of all_to_all is what 183 of 200 Gb/s of four NICs a node give. The INFO line names
// four.
TEST_F(Reports, all_to_all_over_four_nics_is_healthy) {
  const json log = only_log({file("a100-alltoall-4nic/log.txt")});
  EXPECT_EQ(log["verdict"], "healthy") << log.dump(1);
  EXPECT_NE(log["machine"].get<std::string>().find("4 RoCE NICs"), std::string::npos);
}

// 10 GB/s of 230: host memory, by a setting.
TEST_F(Reports, peer_to_peer_off_by_its_level_comes_first) {
  const json log = only_log({file("a100-p2p-level-loc/log.txt")});
  EXPECT_EQ(log["verdict"], "low");
  EXPECT_EQ(first_cause(log), "p2p-disabled");
  const auto check = log["causes"][0]["causes"][0]["check"].get<std::string>();
  EXPECT_EQ(check.find("NCCL_P2P_LEVEL=LOC is set: unset it"), 0U) << check;
  EXPECT_FALSE(mentions(log["contradictions"], "NVLS"));  // an A100 has none
}

// Without NCCL's log, 10 GB/s is host memory's rate and might be anything of a broken NVLink's.
TEST_F(Reports, host_memory_s_rate_is_peer_to_peer_off_before_a_broken_nvlink) {
  const json log = only_log({file("a100-p2p-level-loc/log-no-info.txt")});
  EXPECT_EQ(log["verdict"], "low");
  EXPECT_EQ(first_cause(log), "p2p-disabled") << log["causes"].dump(1);
  EXPECT_NE(log["causes"].dump().find("slow-nvlink"), std::string::npos);
}

// 149 GB/s over four NICs of 50 GB/s each way, of which a ring of 16 uses 200 * 15 / 16 = 187 at
// most.
TEST_F(Reports, a_ring_over_four_nics_is_no_dead_port) {
  const json log = only_log({file("h100-4nic-cross-nic/gpus8.txt")});
  EXPECT_NEAR(last_ratio(log), 0.8, 0.12) << log["sizes"].dump(1);
  EXPECT_NE(first_cause(log), "dead-port");
  EXPECT_FALSE(mentions(log["contradictions"], "NICs of")) << log["contradictions"].dump();
}

// Four of the GPUs of each host reach 159 GB/s, where the first four have two NICs beside them, of
// 50 GB/s each way: others were used.
TEST_F(Reports, ranks_that_are_faster_than_the_first_gpus_sat_on_others) {
  const Outcome outcome = diagnose({file("h100-4nic-cross-nic/gpus4.txt")});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: not this machine"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("ranks sat"), std::string::npos) << outcome.out;
}

// Both logs hold wrong results, by the largest deviation (1e+00) and by a count. Which machine they
// are of does not matter, and for the second cannot be told.
TEST_F(Reports, wrong_results_are_an_answer_without_a_machine) {
  for (const char* name : {"log.txt", "log-count.txt"}) {
    const std::string log = file(std::string("ll128-over-sockets-wrong/") + name);
    const Outcome diagnosed = diagnose({log});
    EXPECT_EQ(diagnosed.status, exit_answer_is_no) << name;
    EXPECT_NE(diagnosed.out.find("verdict: wrong data"), std::string::npos) << diagnosed.out;
    const Outcome validated = run({"validate", log});
    EXPECT_EQ(validated.status, exit_answer_is_no) << name << validated.err;
    EXPECT_NE(validated.err.find("wrong data"), std::string::npos) << validated.err;
  }
}

TEST_F(Reports, ll128_over_sockets_is_named_as_what_corrupts_data) {
  const Outcome outcome = diagnose({file("ll128-over-sockets-wrong/log.txt")});
  EXPECT_NE(outcome.out.find("NCCL_PROTO=LL128"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("sockets"), std::string::npos);
  const Outcome other = diagnose({file("ll128-over-sockets-wrong/log-count.txt")});
  EXPECT_EQ(other.out.find("LL128"), std::string::npos) << other.out;
}

TEST_F(Reports, four_nodes_near_the_best_are_healthy) {
  EXPECT_EQ(only_log({file("oci-h100-4-nodes/log-2.19.3.txt")})["verdict"], "healthy");
}

// busbw / algbw = 1.9375 = 2 * 31 / 32: all_reduce of 32 ranks, which four nodes of eight GPUs
// have.
TEST_F(Reports, a_table_alone_says_its_collective_and_ranks) {
  const json log = only_log({file("oci-h100-4-nodes/table-alone.txt"), "-t", "oci-h100-x4"});
  EXPECT_EQ(log["series"][0]["collective"], "all_reduce");
  EXPECT_EQ(log["series"][0]["ranks"], 32);
  EXPECT_EQ(log["series"][0]["nodes"], 4);
  EXPECT_EQ(log["verdict"], "healthy");
  EXPECT_TRUE(mentions(log["notes"], "does not say which release")) << log["notes"].dump();
}

// The same rows whose header lost its #, as Markdown takes it away, and without any header.
TEST_F(Reports, a_table_without_its_header_is_read) {
  const std::string path = file("oci-h100-4-nodes/table-alone.txt");
  const std::string text = read_text_file(path, "a table").content;
  const auto rows = text.find("  1073741824");
  const std::string bare = text.substr(text.find("size"), rows - text.find("size"));
  for (const std::string& head : {std::string(), bare.substr(0, bare.find('\n') + 1)}) {
    const test::TemporaryFile pasted("table.txt", head + text.substr(rows));
    const json log = only_log({pasted.path().string(), "-t", "oci-h100-x4"});
    EXPECT_EQ(log["series"][0]["ranks"], 32);
    EXPECT_EQ(log["sizes"].size(), 5U);
  }
}

// n644 is in two slow pairs, and both of its partners are fast with others. Of n284 and n678
// nothing else is known.
TEST_F(Reports, pairs_name_the_host_that_is_slow) {
  std::vector<std::string> args;
  for (const char* pair : {"n284-n678", "n404-n699", "n632-n641", "n641-n644", "n644-n699"}) {
    args.push_back(file("pairs-one-bad-node/pair-" + std::string(pair) + ".txt"));
  }
  args.insert(args.end(), {"--format", "json"});
  const Outcome outcome = diagnose(args);
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  const json logs = json::parse(outcome.out)["logs"];
  ASSERT_EQ(logs.size(), 5U);
  for (const std::size_t slow : {0U, 3U, 4U}) EXPECT_EQ(logs[slow]["verdict"], "low") << slow;
  for (const std::size_t fast : {1U, 2U}) {
    EXPECT_EQ(logs[fast]["verdict"], "healthy") << logs[fast].dump(1);
    EXPECT_TRUE(logs[fast]["suspects"].empty());
  }
  EXPECT_TRUE(mentions(logs[0]["suspects"], "one of n284, n678 is slow"));
  EXPECT_TRUE(mentions(logs[3]["suspects"], "n644 is slow, in 2 slow runs; n641, n699"));
  EXPECT_TRUE(mentions(logs[4]["suspects"], "n644 is slow"));
}

// 60 GB/s where eight NICs of 12.5 GB/s each way make 100 * 15 / 16 = 94 at most.
TEST_F(Reports, a_ring_at_two_thirds_of_its_nics_lacks_gpudirect_first) {
  const json log = only_log({file("tree-beats-ring-2-nodes/ring.txt"), "-t",
                             file("tree-beats-ring-2-nodes/machine.yaml")});
  EXPECT_EQ(log["verdict"], "cannot tell") << log["sizes"].dump(1);
  EXPECT_EQ(first_cause(log), "no-gpudirect") << log["causes"].dump(1);
}

// GPUDirect is in use by NCCL's lines, and NICs have 0.59 of their rate: ACS is among what the
// sizes cannot tell apart, and first of it.
TEST_F(Reports, slow_nics_with_gpudirect_are_acs_first) {
  const json log = only_log({file("a100-vm-acs/log.txt")});
  EXPECT_EQ(log["verdict"], "cannot tell");
  EXPECT_EQ(first_cause(log), "acs");
  // No cause of many that look the same is sure.
  EXPECT_LT(log["causes"][0]["causes"][0]["likelihood"].get<double>(), 0.5);
}

// Of two hosts one has no GDRDMA in its lines.
TEST_F(Reports, a_host_that_alone_has_no_gpudirect_is_named) {
  const json log = only_log({file("a100-one-host-without-peermem/log.txt")});
  EXPECT_EQ(log["verdict"], "low");
  EXPECT_TRUE(mentions(log["contradictions"], "host2 has no GDRDMA")) << log["contradictions"];
  const auto text = log["causes"][0]["causes"][0]["text"].get<std::string>();
  EXPECT_NE(text.find("on host2"), std::string::npos) << text;
}

// Two lists of ranks 0 to 7, two tables: no job of 16.
TEST_F(Reports, two_runs_in_one_text_are_told) {
  const json log = only_log({file("two-runs-not-one-job/log.txt")});
  EXPECT_EQ(log["series"][0]["ranks"], 8);
  EXPECT_EQ(log["series"][0]["nodes"], 1);
  EXPECT_TRUE(mentions(log["notes"], "2 runs of 8 ranks, not one of 16")) << log["notes"].dump();
  EXPECT_TRUE(mentions(log["notes"], "MPI=1"));
}

// NCCL prints its settings when it begins, which may be before the header of the table.
TEST_F(Reports, a_setting_before_the_header_is_the_run_s) {
  const Recording recording = read_recording(file("algorithm-before-header/all_reduce_perf.log"));
  for (const RecordedRow& row : recording.rows) EXPECT_EQ(row.variables.at("NCCL_ALGO"), "Ring");
}

// Other GPUs than the machine's: no error of a prediction says anything.
TEST_F(Reports, of_other_gpus_are_not_compared) {
  const std::string a100 =
      COLLSIM_SOURCE_DIR "/recordings/published/a100x8-80gb-mpi-allreduce.yaml";
  const Outcome validated = run({"validate", a100, "-t", "dgx-h100"});
  EXPECT_EQ(validated.status, exit_bad_input);
  EXPECT_NE(validated.err.find("has GPUs H100"), std::string::npos) << validated.err;
  const Outcome diagnosed = diagnose({a100, "-t", "dgx-h100"});
  EXPECT_EQ(diagnosed.status, exit_answer_is_no);
  EXPECT_NE(diagnosed.out.find("verdict: not this machine"), std::string::npos) << diagnosed.out;
}

TEST_F(Reports, that_leave_nothing_to_compare_do_not_succeed) {
  const Outcome outcome =
      run({"validate", COLLSIM_SOURCE_DIR "/recordings/published/a100x8-80gb-mpi-allreduce.yaml",
           "-c", "broadcast"});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.err.find("no row is compared"), std::string::npos) << outcome.err;
}

// A log of a GPU that nobody knows stands beside one that can be told.
TEST_F(Reports, that_cannot_be_told_do_not_end_a_batch) {
  const Outcome outcome =
      diagnose({file("oci-h100-4-nodes/table-alone.txt"), file("oci-h100-4-nodes/log-2.19.3.txt")});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: cannot tell"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("verdict: healthy"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace collsim::command
