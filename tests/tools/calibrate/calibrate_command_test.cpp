// collsim calibrate: what it writes and prints, and what it refuses.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/interruption.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

namespace fs = std::filesystem;

const std::string recording =
    std::string(COLLSIM_SOURCE_DIR) + "/recordings/h200x4/forced-4-ranks.yaml";

Outcome calibrate(std::vector<std::string> args) {
  args.insert(args.begin(), "calibrate");
  return run(args);
}

class CalibrateCommand : public testing::Test {
 protected:
  /// A fit of few constants to few rows.
  std::vector<std::string> small_and(const std::vector<std::string>& more) const {
    std::vector<std::string> args{recording,
                                  "-t",
                                  "hgx-h200",
                                  "-o",
                                  output(),
                                  "--id",
                                  "forced/4/Ring/Simple",
                                  "-e",
                                  "4M",
                                  "--fit",
                                  "simple.step,simple.alpha.*"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  std::string output() const { return folder().string() + "/mine.yaml"; }
  fs::path folder() const { return place_.path().parent_path(); }
  std::string written() const { return read_text_file(output(), "a calibration").content; }

  test::TemporaryFile place_{"place", ""};
};

TEST_F(CalibrateCommand, writes_a_calibration_with_its_provenance) {
  const Outcome outcome = calibrate(small_and({"--hold-out", "id=*/ch1"}));
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const std::string text = written();
  for (const char* line :
       {"name: \"mine\"", "gpu: \"NVIDIA H200\"", "nccl: \"2.28.9\"", "start: { name: \"hgx-h200\"",
        "    simple.alpha.nvlink: [", "    simple.alpha.pcie: \"no row depends on it\"",
        "file: \"forced-4-ranks.yaml\", rows: "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(load_calibration(output()).name, "mine");
  for (const char* part : {"simple.alpha.nvlink", "95 % interval", "start, with hgx-h200",
                           "held out", "no row depends on them: simple.alpha.pcie"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 2);
}

/// A plan of a small fit; `more` are lines of its recording.
std::string small_plan(const std::string& more = "") {
  return "collsim: calibration/1\n"
         "name: planned\n"
         "extends: hgx-h200\n"
         "source: a test\n"
         "date: 2026-11-21\n"
         "trust: { models: [H200], gpu: measured }\n"
         "issue: 5 us\n"
         "protocols: { simple: { step: 2 us } }\n"
         "fit:\n"
         "  constants: [simple.step]\n"
         "  sizes: 4\n"
         "  up_to: 4 MiB\n"
         "  recordings:\n"
         "    - file: " +
         recording +
         "\n"
         "      machine: hgx-h200-4\n"
         "      rows: [id=forced/4/Ring/Simple*]\n"
         "      fit: [id=*/ch4]\n" +
         more;
}

// It extends another calibration and states two constants; one is fitted, one pinned.
TEST_F(CalibrateCommand, a_plan_makes_the_same_file_again) {
  const test::TemporaryFile plan("planned.yaml", small_plan());
  const Outcome outcome = calibrate({plan.path().string(), "-o", output()});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const std::string first = written();
  for (const char* line :
       {"name: \"planned\"", "date: 2026-11-21", "trust: { models: [H200], gpu: measured }",
        "extends: hgx-h200", "issue: 5 us", "command: \"collsim calibrate planned.yaml\"",
        "  held_out:", "    simple.step: ["}) {
    EXPECT_NE(first.find(line), std::string::npos) << line << "\n" << first;
  }
  EXPECT_EQ(first.find("version:"), std::string::npos);
  EXPECT_EQ(first.find("jitter"), std::string::npos);  // as what it extends has it
  const Outcome again = calibrate({plan.path().string(), "-o", output(), "--threads", "3"});
  ASSERT_EQ(again.status, exit_ok) << again.err;
  EXPECT_EQ(written(), first);
}

TEST_F(CalibrateCommand, a_plan_says_all_but_where_to_write) {
  const test::TemporaryFile plan("planned.yaml", small_plan());
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"-t", "hgx-h200"}, {"--fit", "launch"}, {"-e", "1M"}, {recording}}) {
    std::vector<std::string> args{plan.path().string(), "-o", output()};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = calibrate(args);
    EXPECT_EQ(outcome.status, exit_bad_input) << more.front();
    EXPECT_NE(outcome.err.find("plan"), std::string::npos) << outcome.err;
  }
  const test::TemporaryFile wrong("wrong.yaml", small_plan("      when: now\n"));
  const Outcome outcome = calibrate({wrong.path().string(), "-o", output()});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_NE(outcome.err.find("wrong.yaml:18:7"), std::string::npos) << outcome.err;
}

TEST_F(CalibrateCommand, ablate_says_what_a_constant_earns) {
  const test::TemporaryFile plan("planned.yaml", small_plan());
  const Outcome outcome = calibrate({plan.path().string(), "--ablate"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const std::size_t table = outcome.out.find("left out, and the others fitted again");
  ASSERT_NE(table, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nsimple.step ", table), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(output()));
}

/// The recording with every time twice as long.
std::string at_half_speed() {
  std::ifstream file(recording);
  std::string text;
  constexpr int time_column = 10;  // of the fields in brackets
  for (std::string line; std::getline(file, line); text += line + "\n") {
    if (!line.starts_with("      - [")) continue;
    std::size_t begin = 0;
    for (int column = 0; column < time_column; ++column) begin = line.find(", ", begin) + 2;
    const std::size_t end = line.find(',', begin);
    const double time = std::stod(line.substr(begin, end - begin));
    line.replace(begin, end - begin, std::to_string(2 * time));
  }
  return text;
}

// Rings on 24 channels fill links, LL's wire factor is 2 by what is on the wire: twice the time
// makes a link of about 38 % (76 % is healthy) and a wire factor far above 2.
TEST_F(CalibrateCommand, a_sick_machine_is_not_calibrated_unless_forced) {
  const test::TemporaryFile log("half.yaml", at_half_speed());
  struct Case {
    std::string id;
    std::string fit;
    std::vector<std::string> complaints;
  };
  const auto fit_of = [&](const Case& each) {
    return std::vector<std::string>{log.path().string(),
                                    "-t",
                                    "hgx-h200-4",
                                    "-o",
                                    output(),
                                    "--id",
                                    each.id,
                                    "-b",
                                    "64K",
                                    "--fit",
                                    each.fit};
  };
  const Case of_links{"forced/4/Ring/Simple/ch24",
                      "efficiency.nvlink,simple.step",
                      {"efficiency.nvlink is", "times the busbw that is expected"}};
  const Case of_lines{
      "forced/4/Ring/LL128", "efficiency.nvlink,ll128.work", {"efficiency.nvlink is"}};
  for (const Case& each : {of_links, of_lines}) {
    const Outcome refused = calibrate(fit_of(each));
    EXPECT_EQ(refused.status, exit_answer_is_no) << refused.err;
    EXPECT_NE(refused.err.find("not written"), std::string::npos) << refused.err;
    for (const std::string& complaint : each.complaints) {
      EXPECT_NE(refused.err.find(complaint), std::string::npos) << refused.err;
    }
    EXPECT_FALSE(fs::exists(output()));
  }
  std::vector<std::string> forced_fit = fit_of(of_links);
  forced_fit.emplace_back("--force");
  const Outcome forced = calibrate(forced_fit);
  EXPECT_EQ(forced.status, exit_ok);
  EXPECT_NE(forced.err.find("WARNING"), std::string::npos) << forced.err;
  EXPECT_TRUE(fs::exists(output()));
}

/// The recording with every time a third longer, but for runs on one channel.
std::string slower_on_several_channels() {
  std::ifstream file(recording);
  std::string text;
  constexpr int time_column = 10;
  bool slower = false;
  for (std::string line; std::getline(file, line); text += line + "\n") {
    if (line.starts_with("  - run:")) slower = line.find("/ch1\"") == std::string::npos;
    if (!slower || !line.starts_with("      - [")) continue;
    std::size_t begin = 0;
    for (int column = 0; column < time_column; ++column) begin = line.find(", ", begin) + 2;
    const std::size_t end = line.find(',', begin);
    const double time = std::stod(line.substr(begin, end - begin));
    line.replace(begin, end - begin, std::to_string(time * 4 / 3));
  }
  return text;
}

// Steps as slow as runs on several channels now say make those on one channel, which are held out
// and as they were, too slow: by 5 % at the start, by up to a third then.
TEST_F(CalibrateCommand, what_predicts_held_out_rows_worse_is_not_written_unless_forced) {
  const test::TemporaryFile log("slower.yaml", slower_on_several_channels());
  std::vector<std::string> args{log.path().string(),
                                "-t",
                                "hgx-h200-4",
                                "-o",
                                output(),
                                "--id",
                                "forced/4/Ring/Simple",
                                "-e",
                                "1M",
                                "--fit",
                                "simple.step",
                                "--hold-out",
                                "id=*/ch1"};
  const Outcome refused = calibrate(args);
  EXPECT_EQ(refused.status, exit_answer_is_no) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("held out worse"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(output()));
  args.emplace_back("--force");
  EXPECT_EQ(calibrate(args).status, exit_ok);
  EXPECT_TRUE(fs::exists(output()));
}

// Every third size is held out, and one line says how well those are predicted before and after.
TEST_F(CalibrateCommand, holds_sizes_out_by_itself) {
  const Outcome outcome =
      calibrate({recording, "-t", "hgx-h200-4", "-o", output(), "--id", "forced/4/Ring/Simple/ch4",
                 "-e", "1M", "--fit", "simple.step", "--force"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("\nmean error "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not fitted to (before: hgx-h200-4)"), std::string::npos)
      << outcome.out;
  EXPECT_NE(written().find("  held_out:"), std::string::npos);
}

// Of rows over several nodes alone the network's two numbers are fitted, to every other size.
TEST_F(CalibrateCommand, fits_two_numbers_to_a_network) {
  const std::string two_nodes =
      COLLSIM_SOURCE_DIR "/recordings/published/h100x8x2-gj-ib400-allreduce-ring-ctas24-qps2.yaml";
  const Outcome outcome = calibrate({two_nodes, "-o", output(), "--force"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  // 14 sizes, out of place and in place: half of them are held out.
  EXPECT_NE(outcome.out.find(" % on 14 rows not fitted to (before: h100+ib)"), std::string::npos)
      << outcome.out;
  const std::string text = written();
  for (const char* line : {"    efficiency.network: [", "    ll.alpha.network: ["}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(text.find("    launch: ["), std::string::npos) << text;
  const Outcome ablated = calibrate({two_nodes, "--ablate"});
  EXPECT_EQ(ablated.status, exit_bad_input);
  EXPECT_NE(ablated.err.find("--fit"), std::string::npos) << ablated.err;
}

// What `run` uses on a cluster has a transport; it is named like a shipped calibration.
TEST_F(CalibrateCommand, begins_with_what_run_uses) {
  const Outcome by_machine = calibrate({"-t", "azure-ndv5-x8", "--list"});
  EXPECT_NE(by_machine.out.find("# constants of h100+ib"), std::string::npos) << by_machine.out;
  const Outcome named = calibrate({"-t", "azure-ndv5-x8", "--from", "h100+ib", "--list"});
  EXPECT_EQ(named.out, by_machine.out);
  const Outcome unknown = calibrate({"-t", "azure-ndv5-x8", "--from", "h100+ip", "--list"});
  EXPECT_EQ(unknown.status, exit_bad_input);
  EXPECT_NE(unknown.err.find("ip"), std::string::npos) << unknown.err;
}

TEST_F(CalibrateCommand, takes_the_machine_from_the_recording) {
  const Outcome outcome = calibrate({recording, "-o", output(), "--id", "forced/4/Ring/Simple/ch4",
                                     "-e", "1M", "--fit", "simple.step"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.err.find("assuming hgx-h200-4"), std::string::npos) << outcome.err;
}

TEST_F(CalibrateCommand, lists_constants) {
  const Outcome outcome = calibrate({"-t", "hgx-h200", "--list"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("* simple.alpha.nvlink"), std::string::npos);
  EXPECT_NE(outcome.out.find("  simple.over.network.read"), std::string::npos);  // not stated
}

TEST_F(CalibrateCommand, begins_where_it_is_told) {
  const Outcome outcome = calibrate({"-t", "dgx-h100", "--from", "hgx-h200", "--list"});
  EXPECT_NE(outcome.out.find("# constants of hgx-h200"), std::string::npos);
}

TEST_F(CalibrateCommand, ends_early_when_interrupted_and_says_so) {
  const Interruption interruption;  // so that the signal waits until the command asks
  ASSERT_EQ(std::raise(SIGINT), 0);
  const Outcome outcome = calibrate(small_and({}));
  EXPECT_EQ(outcome.status, exit_interrupted);
  EXPECT_NE(outcome.err.find("stopped early"), std::string::npos);
  EXPECT_NE(written().find("stopped: true"), std::string::npos);
  EXPECT_EQ(load_calibration(output()).name, "mine");
  EXPECT_FALSE(Interruption::asked());  // it has been taken
}

TEST_F(CalibrateCommand, bad_input_is_told) {
  const test::TemporaryFile of_another(
      "all_reduce_perf.log",
      "#  Rank  0 Pid 1 on a device 0 [0x1] Tesla K80\n"
      "#  Rank  1 Pid 1 on a device 1 [0x2] Tesla K80\n"
      "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
      "   1024  256  float  sum  20.0  0.05  0.05  0e+00  20.0  0.05  0.05  0e+00\n");
  const test::TemporaryFile garbage("garbage.yaml", "collsim: recording/1\nmachine: 3\n");
  struct Case {
    std::vector<std::string> args;
    std::string message;
  };
  const std::vector<Case> cases{
      {{"-o", output()}, "no topology"},
      {{"-t", "hgx-h200", "-o", output()}, "no recording"},
      {{recording, "-t", "hgx-h200"}, "no output"},
      {{"no-such.log", "-t", "hgx-h200", "-o", output()}, "no such file"},
      {{garbage.path().string(), "-t", "hgx-h200", "-o", output()}, "garbage.yaml:2"},
      {{of_another.path().string(), "-t", "hgx-h200", "-o", output()}, "Tesla K80"},
      {{recording, "-t", "hgx-h200", "-o", "/no/such/folder/x.yaml"}, "cannot write"},
      {small_and({"--hold-out", "color=red"}), "color=red"},
      {small_and({"-b", "8M"}), "sizes from"},
      {small_and({"-c", "shuffle"}), "shuffle"},
      {small_and({"-c", "broadcast"}), "no recorded rows"},
      {small_and({"--from", "nowhere"}), "nowhere"},
      {{recording, "-t", "hgx-h200", "-o", output(), "--fit", "simple.alhpa"}, "simple.alhpa"},
      {{recording, "-t", "one-gpu-ethernet-5g", "-o", output()}, "no recorded rows"}};
  for (const Case& each : cases) {
    const Outcome outcome = calibrate(each.args);
    EXPECT_EQ(outcome.status, exit_bad_input) << each.message;
    EXPECT_NE(outcome.err.find(each.message), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(output())) << each.message;
  }
}

TEST(ReplaceFile, leaves_the_old_one_where_it_fails) {
  const test::TemporaryFile file("old.txt", "old");
  replace_file(file.path(), "new");
  std::ifstream stream(file.path());
  std::string word;
  stream >> word;
  EXPECT_EQ(word, "new");
  EXPECT_THROW(replace_file(file.path() / "below", "x"), InputError);
  EXPECT_THROW(check_writable(file.path().parent_path()), InputError);  // a folder
}

}  // namespace
}  // namespace collsim::command
