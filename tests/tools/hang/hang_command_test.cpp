// collsim hang: what is printed, exit codes, bad input.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using nlohmann::json;

const std::string dumps = COLLSIM_SOURCE_DIR "/tests/data/flight-recorder/";

Outcome hang(std::vector<std::string> args) {
  args.insert(args.begin(), "hang");
  return run(args);
}

TEST(HangCommand, begins_with_the_verdict) {
  const Outcome stuck = hang({dumps + "nvrx-lock_gil"});
  EXPECT_EQ(stuck.status, exit_answer_is_no);
  EXPECT_EQ(stuck.out.rfind("stuck on the CPU side: ranks 9, 14\n", 0), 0U) << stuck.out;
  const Outcome failed = hang({dumps + "nvrx-gpu_error"});
  EXPECT_EQ(failed.out.rfind("stuck on the GPU: ranks 12, 14\n", 0), 0U) << failed.out;
  const Outcome late = hang({dumps + "late"});
  EXPECT_EQ(late.status, exit_ok);
  EXPECT_EQ(late.out.rfind("late, not stuck: rank 1\n", 0), 0U) << late.out;
  EXPECT_NE(late.out.find("no dump of rank 1"), std::string::npos) << late.out;
}

TEST(HangCommand, takes_dumps_in_any_order) {
  const std::string zero = dumps + "skip/skip-rank0.pickle";
  const std::string one = dumps + "skip/skip-rank1.pickle";
  EXPECT_EQ(hang({zero, one}).out, hang({one, zero}).out);
  EXPECT_EQ(hang({zero, one}).out, hang({dumps + "skip"}).out);
}

TEST(HangCommand, names_the_lines_of_the_program) {
  const std::string out = hang({dumps + "skip"}).out;
  EXPECT_NE(out.find("faults.py:12 in skip"), std::string::npos) << out;
  EXPECT_NE(out.find("common.py:66 in rank_main"), std::string::npos) << out;
}

TEST(HangCommand, prints_json) {
  const Outcome outcome = hang({dumps + "sizes", "--format", "json"});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  const json root = json::parse(outcome.out);
  EXPECT_EQ(root["verdict"], "other size");
  EXPECT_EQ(root["is_hang"], true);
  const json& finding = root["findings"][0];
  EXPECT_EQ(finding["ranks"], json({0, 1}));
  EXPECT_EQ(finding["call"]["number"], 5);
  EXPECT_EQ(finding["groups"][1]["input_elements"], json({524288}));
}

TEST(HangCommand, finds_none_where_all_is_done) {
  // The first rank alone of those that disagree about sizes: all that it issued has completed.
  const Outcome outcome = hang({dumps + "sizes/sizes-rank0.pickle"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_EQ(outcome.out.rfind("no hang: ", 0), 0U) << outcome.out;
}

TEST(HangCommand, answers_beside_a_cut_off_dump) {
  const test::TemporaryFile cut("rank_1", "\x80\x02}(");
  const std::string name = cut.path().string();
  const Outcome outcome = hang({dumps + "crossed/crossed-rank0.pickle", name});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_EQ(outcome.out.rfind("dump missing: rank 1\n", 0), 0U) << outcome.out;
  EXPECT_TRUE(outcome.err.starts_with("collsim: rank 1 counts as not dumped: " + name +
                                      ": byte 4: the pickle is cut off"))
      << outcome.err;
}

// Kubernetes wraps each line into JSON. All ranks of two but the second have a line.
TEST(HangCommand, reads_lines_that_a_collector_wrapped) {
  std::string lines;
  for (const int rank : {0, 2}) {
    lines += fmt::format(
        "{{\"log\":\"[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
        "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600060 milliseconds before timing "
        "out.\\n\",\"stream\":\"stderr\"}}\n",
        rank);
  }
  const test::TemporaryFile log("pod.log", lines);
  const Outcome outcome = hang({log.path().string()});
  EXPECT_TRUE(outcome.out.starts_with("dump missing: rank 1\n")) << outcome.out << outcome.err;
}

TEST(HangCommand, refuses_bad_input) {
  const test::TemporaryFile text("rank_0.txt", "hello\n");
  const test::TemporaryFile empty("rank_0", "");
  const std::string pickle = dumps + "crossed/crossed-rank0.pickle";
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"no-such-folder"},
                                             {text.path().string()},
                                             {empty.path().string()},
                                             {pickle, dumps + "crossed-json/crossed-rank0.json"},
                                             {pickle, "--format", "csv"},
                                             {pickle, "--patience", "soon"}}) {
    const Outcome outcome = hang(args);
    EXPECT_EQ(outcome.status, exit_bad_input) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace collsim::command
