// The command where memory runs out, a disk is full, or a file cannot get its name: at every such
// call, or at many of them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

namespace fs = std::filesystem;

/// The command with call `number` of a kind failing; 0: none fails, and they are counted into
/// `count`.
Outcome run_with_failure(const std::string& kind, long number, const std::string& call,
                         const fs::path& count = {}) {
  const std::string counted = count.empty() ? "" : "COLLSIM_CALLS_FILE=" + count.string();
  // `timeout` stands before `env`, for it is not to be preloaded.
  return run_shell(fmt::format(
      "cd {} && timeout 60 env COLLSIM_FAILING_CALL={} COLLSIM_FAILING_NUMBER={} {} LD_PRELOAD={} "
      "{} {}",
      COLLSIM_SOURCE_DIR, kind, number, counted, COLLSIM_FAILING_CALLS, COLLSIM_COMMAND, call));
}

/// How many calls of the kind the command makes where none fails.
long count_calls(const std::string& kind, const std::string& call) {
  const test::TemporaryFile count("count", "");
  const Outcome outcome = run_with_failure(kind, 0, call, count.path());
  EXPECT_LT(outcome.status, exit_bad_input) << call << outcome.out;
  long calls = 0;
  std::ifstream(count.path()) >> calls;
  return calls;
}

class FailingCall : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  }
};

// Every reader of outside input, and what follows it. Any allocation may fail: the first ten, and
// thirty spread over the rest. In most of them there is no more to say than that memory ran out.
TEST_F(FailingCall, of_memory_ends_every_command_with_a_message) {
  const std::vector<std::string> calls{
      "run hgx-h200 -b 1M -e 1M",
      "run hgx-h200-all-reduce -b 1M -e 1M",
      "diagnose tests/fuzz/seeds/info.log",
      "validate tests/fuzz/seeds/recording.csv -t hgx-h200",
      "hang tests/data/flight-recorder/crossed/*",
      "steps -a docs/learn/schedules/ring.yaml",
      "topo import tests/data/nccl-dumps/azure-nc-a100-v4.xml",
      "train tests/data/programs/two-communicators.yaml -t hgx-h200",
  };
  for (const std::string& call : calls) {
    const long all = count_calls("allocate", call);
    ASSERT_GT(all, 40) << call;
    for (long i = 0; i < 40; ++i) {
      const long number = i < 10 ? i + 1 : 10 + (i - 9) * (all - 10) / 30;
      const Outcome outcome = run_with_failure("allocate", number, call);
      const bool went_through = outcome.status == exit_ok || outcome.status == exit_answer_is_no;
      EXPECT_TRUE(went_through || outcome.status == exit_bad_input)
          << call << ": allocation " << number << " of " << all << " ends with " << outcome.status
          << "\n"
          << outcome.out;
    }
  }
}

// Whoever starts threads does with fewer, down to none; a time limit cannot, and says so.
TEST_F(FailingCall, of_a_thread_ends_no_command_but_a_limited_one) {
  const std::vector<std::string> calls{
      "sweep sweep-hgx-h200-buffers",
      "faults hgx-h200 -b 1M --threads 4",
      "advise hgx-h200 -b 1M -e 1M",
      "plan dgx-h100 --nodes 2,4 -b 1M",
      "crossover hgx-h200 -b 1M -e 8M",
      "estimate dgx-h100-x256 -a ring -b 1M -e 1M",
      "explain dgx-h100-x128 -a ring -b 1M",
      "validate tests/fuzz/seeds/recording.csv -t hgx-h200 --threads 4",
  };
  for (const std::string& call : calls) {
    const Outcome whole = run_with_failure("none", 0, call);
    for (const long number : {1, 2, 3}) {
      const Outcome outcome = run_with_failure("thread", number, call);
      EXPECT_EQ(outcome.status, whole.status) << call << ' ' << number << outcome.out;
      EXPECT_EQ(outcome.out, whole.out) << call << ' ' << number;
    }
  }
  const Outcome limited = run_with_failure("thread", 1, "run hgx-h200 -b 1M -e 1M --time-limit 9");
  EXPECT_EQ(limited.status, exit_bad_input) << limited.out;
  EXPECT_NE(limited.out.find("--time-limit: the system gives no thread"), std::string::npos);
}

/// Commands that replace a file, with `@` where its name belongs.
std::vector<std::string> calls_that_replace() {
  return {"topo export hgx-h200 -o @", "trace switch-8 -a ring -b 8 --output @",
          "view switch-8 -a ring -b 8 --output @"};
}

std::string with_name(std::string call, const fs::path& name) {
  return call.replace(call.find('@'), 1, name.string());
}

// A file that is to be replaced holds what it held before, whichever call fails, and nothing lies
// beside it.
TEST_F(FailingCall, of_a_disk_leaves_the_file_that_was_there) {
  for (const std::string& call : calls_that_replace()) {
    for (const std::string kind : {"write", "name"}) {
      const test::TemporaryFile file("out", "before");
      const std::string command = with_name(call, file.path());
      const long all = count_calls(kind, command);
      ASSERT_GT(all, 0) << command;
      for (long number = 1; number <= all; ++number) {
        std::ofstream(file.path()) << "before";
        const Outcome outcome = run_with_failure(kind, number, command);
        const std::string content = read_text_file(file.path(), "a file").content;
        // The first name of a file is tried in vain where there is one already.
        if (outcome.status == exit_ok) continue;
        EXPECT_EQ(outcome.status, exit_bad_input) << command << outcome.out;
        EXPECT_NE(outcome.out.find("cannot write"), std::string::npos) << outcome.out;
        EXPECT_EQ(content, "before") << command << ' ' << kind << ' ' << number;
        const auto files = fs::directory_iterator(file.path().parent_path());
        EXPECT_EQ(std::distance(begin(files), end(files)), 1) << command;
      }
    }
  }
}

// A sweep appends row by row: where the disk fills, whole rows stay, and the same command goes on
// from there.
TEST_F(FailingCall, of_a_disk_leaves_whole_rows_of_a_sweep) {
  const test::TemporaryFile file("rows", "");
  const std::string call = "sweep sweep-hgx-h200-buffers -o " + file.path().string();
  fs::remove(file.path());
  const long all = count_calls("write", call);
  const std::string whole = read_text_file(file.path(), "a file").content;
  ASSERT_GT(all, 3);
  for (const long number : {long{1}, all / 2, all}) {
    fs::remove(file.path());
    EXPECT_EQ(run_with_failure("write", number, call).status, exit_bad_input) << number;
    EXPECT_EQ(run_with_failure("none", 0, call + " --resume").status, exit_ok) << number;
    EXPECT_EQ(read_text_file(file.path(), "a file").content, whole) << number;
  }
}

}  // namespace
}  // namespace collsim::command
