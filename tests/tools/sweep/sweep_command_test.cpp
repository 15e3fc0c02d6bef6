// collsim sweep: the same rows however they are made, also after a kill and under mpirun.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/installation.h"
#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/sweep/row_selection.h"
#include "tools/collsim/sweep/sweep_file.h"

namespace collsim::command {
namespace {

namespace fs = std::filesystem;

using Args = std::vector<std::string>;

/// Eight rows; sixteen GPUs have no place on the machine.
const std::string small_sweep =
    "collsim: scenario/1\n"
    "name: a sweep\n"
    "topology: switch-8\n"
    "runs:\n"
    "  - { algorithm: ring }\n"
    "  - { algorithm: recursive_halving_doubling }\n"
    "sweep:\n"
    "  - ranks: [2, 8, 16]\n"
    "  - size: [1 KiB, 1 MiB]\n";

class SweepCommand : public testing::Test {
 protected:
  std::string scenario() const { return scenario_.path().string(); }
  std::string file(const std::string& name) const {
    return (scenario_.path().parent_path() / name).string();
  }
  static std::string content(const std::string& path) {
    return read_text_file(path, "rows").content;
  }
  Outcome sweep(const Args& more) const {
    Args args{"sweep", scenario()};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }

  test::TemporaryFile scenario_{"sweep.yaml", small_sweep};
};

TEST_F(SweepCommand, rows_are_those_of_run_with_the_fields_before_them) {
  const Outcome outcome = sweep({"--format", "jsonl"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  std::vector<nlohmann::json> rows;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 12U);
  const nlohmann::json of_run = nlohmann::json::parse(
      run({"run", "switch-8", "-n", "8", "-a", "ring", "-b", "1M", "-e", "1M", "--format", "json"})
          .out);
  // Points 2 ranks, 8 ranks, 16 ranks, two sizes each, two runs each: row 6 is 8 ranks, 1 MiB,
  // ring.
  const nlohmann::json& row = rows[6];
  EXPECT_EQ(row["row"], 6);
  EXPECT_EQ(row["ranks"], "8");
  EXPECT_EQ(row["size"], "1 MiB");
  for (const auto& [key, value] : of_run[0].items()) EXPECT_EQ(row[key], value) << key;
}

TEST_F(SweepCommand, a_point_without_an_answer_says_why) {
  const Outcome outcome = sweep({"-o", file("rows.jsonl")});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.err.find("4 of 12 rows have no answer"), std::string::npos) << outcome.err;
  EXPECT_NE(content(file("rows.jsonl")).find("\"time_us\":null"), std::string::npos);
}

TEST_F(SweepCommand, cores_do_not_change_a_byte) {
  for (const char* const name : {"rows.csv", "rows.jsonl"}) {
    EXPECT_EQ(sweep({"-o", file(name), "--threads", "1"}).status, exit_ok);
    const std::string one = content(file(name));
    fs::remove(file(name));
    EXPECT_EQ(sweep({"-o", file(name), "--threads", "7"}).status, exit_ok);
    EXPECT_EQ(content(file(name)), one);
    fs::remove(file(name));
  }
}

TEST_F(SweepCommand, resumes_after_any_byte) {
  for (const char* const name : {"rows.csv", "rows.jsonl"}) {
    ASSERT_EQ(sweep({"-o", file(name)}).status, exit_ok);
    const std::string whole = content(file(name));
    for (std::size_t size = 0; size <= whole.size(); size += 97) {
      write(file(name), whole.substr(0, size));
      ASSERT_EQ(sweep({"-o", file(name), "--resume"}).status, exit_ok) << size;
      ASSERT_EQ(content(file(name)), whole) << size;
    }
    fs::remove(file(name));
  }
}

TEST_F(SweepCommand, overwrites_nothing_and_resumes_only_its_own_file) {
  const std::string rows = file("rows.csv");
  ASSERT_EQ(sweep({"-o", rows}).status, exit_ok);
  const std::string whole = content(rows);
  EXPECT_NE(sweep({"-o", rows}).err.find("--resume to go on with it"), std::string::npos);
  write(scenario(), small_sweep + "  - root: [0]\n");
  EXPECT_NE(sweep({"-o", rows, "--resume"}).err.find("rows.csv:1: not the columns of this sweep"),
            std::string::npos);
  write(scenario(), small_sweep + "# changed\n");
  const Outcome changed = sweep({"-o", rows, "--resume"});
  EXPECT_EQ(changed.status, exit_bad_input);
  EXPECT_NE(changed.err.find("rows.csv:2: the scenario, collsim or its options have changed"),
            std::string::npos);
  EXPECT_EQ(content(rows), whole);
  write(scenario(), small_sweep);
  EXPECT_NE(sweep({"-o", rows, "--resume", "--engine", "analytic"}).err.find("have changed since"),
            std::string::npos);
  write(rows, whole.substr(0, whole.find('\n') + 1) + "3" + whole.substr(whole.find('\n') + 2));
  EXPECT_NE(sweep({"-o", rows, "--resume"}).err.find("rows.csv:2: not row 0 of a sweep"),
            std::string::npos);
}

// The topology is no part of the scenario's text: its last row comes out otherwise.
TEST_F(SweepCommand, sees_that_the_machine_has_changed) {
  const std::string machine = content(COLLSIM_SOURCE_DIR "/topologies/switch-8.yaml");
  write(file("mine.yaml"), machine);
  std::string text = small_sweep;
  text.replace(text.find("switch-8"), 8, "mine.yaml");
  text.replace(text.find(", 16]"), 5, "]");
  write(scenario(), text);
  ASSERT_EQ(sweep({"-o", file("rows.csv")}).status, exit_ok);
  EXPECT_EQ(sweep({"-o", file("rows.csv"), "--resume"}).status, exit_ok);
  std::string slower = machine;
  const std::size_t rate = slower.find("bandwidth: ");
  ASSERT_NE(rate, std::string::npos);
  slower.insert(rate + 11, "1");
  write(file("mine.yaml"), slower);
  EXPECT_NE(sweep({"-o", file("rows.csv"), "--resume"}).err.find("has another answer now"),
            std::string::npos);
}

TEST_F(SweepCommand, one_process_writes_a_file) {
  const SweepFile held(file("rows.csv"), Format::csv, {"row", "sweep"});
  EXPECT_NE(sweep({"-o", file("rows.csv")}).err.find("another process writes"), std::string::npos);
}

/// Starts the command; returns its process.
pid_t start(const Args& args) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> words;
  Args all{COLLSIM_COMMAND};
  all.insert(all.end(), args.begin(), args.end());
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  execv(words.front(), words.data());
  _exit(127);
}

// COLLSIM_KILLS sets the number of kills; 5 are for every build.
TEST_F(SweepCommand, survives_kills_at_random_moments) {
  const char* const asked = std::getenv("COLLSIM_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 5;
  write(scenario(),
        "collsim: scenario/1\nname: a sweep\ntopology: hgx-h200\nruns:\n  - { algorithm: auto }\n"
        "sweep:\n  - runs.env.NCCL_MAX_NCHANNELS: { from: 1, to: 16, step: 1 }\n"
        "  - size: { from: 1 KiB, to: 1 GiB, factor: 2 }\n");
  const std::string expected = file("expected.csv");
  const std::string rows = file("rows.csv");
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(sweep({"-o", expected}).status, exit_ok);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same kills every time
  std::uniform_real_distribution<double> moment(0.0, seconds);
  int killed = 0;
  for (int tries = 0; killed < kills && tries < 20 * kills; ++tries) {
    if (killed % 10 == 0) fs::remove(rows);  // begin anew now and then, to be killed early, too
    const pid_t child = start({"sweep", scenario(), "-o", rows, "--resume", "--threads", "2"});
    std::this_thread::sleep_for(std::chrono::duration<double>(moment(random) / 3));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      ++killed;
    } else {
      fs::remove(rows);  // it was done
    }
  }
  EXPECT_EQ(killed, kills);
  ASSERT_EQ(sweep({"-o", rows, "--resume"}).status, exit_ok);
  EXPECT_EQ(content(rows), content(expected));
}

// As `collsim run` prints it, once for all points.
TEST_F(SweepCommand, prints_warnings) {
  write(scenario(),
        "collsim: scenario/1\nname: a sweep\ntopology: hgx-h200\nruns:\n"
        "  - { algorithm: ring, env: { NCCL_TIMEOUT: 1 } }\nsweep:\n  - size: [8 B, 16 B]\n");
  EXPECT_EQ(sweep({"--engine", "analytic"}).err,
            "collsim: warning: NCCL_TIMEOUT: not modelled, changes nothing here\n");
}

TEST_F(SweepCommand, ends_after_an_interrupt_and_goes_on) {
  write(scenario(),
        "collsim: scenario/1\nname: a sweep\ntopology: hgx-h200\nruns:\n  - { algorithm: ring }\n"
        "sweep:\n  - size: { from: 1 KiB, to: 1 GiB, factor: 1.01 }\n");
  const pid_t child = start({"sweep", scenario(), "-o", file("rows.csv"), "--exact"});
  while (!fs::exists(file("rows.csv")) || fs::file_size(file("rows.csv")) < 2000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), exit_interrupted);
  EXPECT_TRUE(content(file("rows.csv")).ends_with('\n'));
}

TEST_F(SweepCommand, processes_of_mpirun_write_the_same_bytes) {
  const std::string module =
      fs::path(COLLSIM_COMMAND).parent_path() / "lib/collsim/libcollsim-mpi.so";
  if (!fs::exists(module)) GTEST_SKIP() << "built without MPI";
  if (run_shell("command -v mpirun").status != 0) GTEST_SKIP() << "no mpirun";
  ASSERT_EQ(sweep({"-o", file("one.csv")}).status, exit_ok);
  // Open MPI leaks at exit: under sanitizers its leaks are not ours to report.
  const std::string mpirun =
      "ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root "
      "--oversubscribe -n 3 " COLLSIM_COMMAND " ";
  const Outcome outcome = run_shell(mpirun + "sweep " + scenario() + " -o " + file("three.csv"));
  EXPECT_EQ(outcome.status, exit_ok) << outcome.out;
  EXPECT_EQ(content(file("three.csv")), content(file("one.csv")));
  const Outcome wrong = run_shell(mpirun + "sweep " + scenario() + " -o /nowhere/rows.csv");
  EXPECT_NE(wrong.status, exit_ok);
  EXPECT_NE(wrong.out.find("cannot write /nowhere/rows.csv"), std::string::npos) << wrong.out;
}

Record row_with(double time, double ranks, const std::string& rate = "1 GB/s") {
  return {{"time_us", time}, {"nranks", ranks}, {"busbw_GBps", 100 / time}, {"rate", rate}};
}

// (10, 8), (20, 4) and (20, 4) again stay; (30, 4) loses to (20, 4), (15, 8) to (10, 8).
TEST(ParetoFronts, keep_what_no_other_row_beats) {
  ParetoFront front({"time_us", "nranks"});
  for (const Record& row :
       {row_with(20, 4), row_with(30, 4), row_with(10, 8), row_with(15, 8), row_with(20, 4)}) {
    front.add(row);
  }
  std::vector<double> times;
  for (const Record& row : front.rows()) times.push_back(row["time_us"]);
  EXPECT_EQ(times, (std::vector<double>{10, 20, 20}));
}

// 2 GB/s at 20 us and 1 GB/s at 30 us: more of a rate, less of an amount.
TEST(ParetoFronts, take_more_of_a_rate_and_amounts_with_units) {
  ParetoFront front({"busbw_GBps", "rate"});
  front.add(row_with(20, 4, "2 GB/s"));
  front.add(row_with(30, 4, "1 GB/s"));
  front.add(row_with(30, 4, "3000 MB/s"));
  ASSERT_EQ(front.rows().size(), 2U);
  EXPECT_EQ(front.rows()[0]["rate"], "2 GB/s");
  EXPECT_EQ(front.rows()[1]["rate"], "1 GB/s");
  EXPECT_THROW(front.add(row_with(1, 1, "fast")), std::runtime_error);
}

TEST(FastestRows, are_one_for_each_value) {
  FastestBy fastest("nranks");
  for (const Record& row : {row_with(20, 4), row_with(30, 2), row_with(10, 4), row_with(30, 2)}) {
    fastest.add(row);
  }
  ASSERT_EQ(fastest.rows().size(), 2U);
  EXPECT_EQ(fastest.rows()[0]["time_us"], 10);
  EXPECT_EQ(fastest.rows()[1]["nranks"], 2);
}

TEST_F(SweepCommand, selections_are_the_same_from_a_file_that_was_resumed) {
  const std::string rows = file("rows.csv");
  const Outcome first = sweep({"-o", rows, "--best-by", "size", "--format", "csv"});
  ASSERT_EQ(first.status, exit_ok) << first.err;
  const std::string whole = content(rows);
  write(rows, whole.substr(0, whole.size() / 2));
  const Outcome resumed = sweep({"-o", rows, "--resume", "--best-by", "size", "--format", "csv"});
  EXPECT_EQ(resumed.out, first.out);
  EXPECT_EQ(std::count(first.out.begin(), first.out.end(), '\n'), 3);  // header and two sizes
  EXPECT_NE(sweep({"--best-by", "sise"}).err.find("did you mean 'size'?"), std::string::npos);
}

}  // namespace
}  // namespace collsim::command
