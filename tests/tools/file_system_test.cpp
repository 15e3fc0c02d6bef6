// Ordinary states of a file system, as the shell sees them: names that lead nowhere, folders that
// may not be entered, pipes, devices without an end, an output that is also an input.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

namespace fs = std::filesystem;

const std::string program = COLLSIM_COMMAND;

/// What a shell prints that has a variable F, and how it ends: at the latest after a minute.
Outcome shell(const std::string& line, const fs::path& f = {}) {
  return run_shell("cd " + std::string(COLLSIM_SOURCE_DIR) + " && F='" + f.string() +
                   "' timeout 60 bash -c '" + line + "'");
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// One call of every reader of files, with `@` where the file's name belongs.
std::vector<std::string> calls_with_a_file() {
  return {"run @",
          "run -t @ -b 8",
          "run hgx-h200 -b 8 -e 8 --calibration @",
          "run hgx-h200 -b 8 -e 8 --env NCCL_TOPO_FILE=@",
          "estimate -t @ -b 8",
          "explain @ -b 8",
          "steps @ -a ring -b 8",
          "view @ -b 8 --output /dev/null",
          "trace @ -b 8 --output /dev/null",
          "sweep @",
          "choose @",
          "crossover -t @",
          "plan @ -b 1M --nodes 1",
          "plan dgx-h100 -b 1M --nodes 1 --prices @",
          "plan dgx-h100 -b 1M --nodes 2 --fabric @",
          "validate @ -t hgx-h200",
          "diagnose @ -t hgx-h200",
          "hang @",
          "train @ --model gpt2-1.5b",
          "train --validate @",
          "calibrate @ -t hgx-h200 -o /dev/null",
          "calibrate recordings/h200.csv --from @ -o /dev/null",
          "check @",
          "advise hgx-h200 -b 8 -e 8 --settings @",
          "faults @ -b 8",
          "topo show @",
          "topo check @",
          "topo import @",
          "topo compose @",
          "topo export @"};
}

std::string with_file(std::string call, const std::string& file) {
  for (auto place = call.find('@'); place != std::string::npos; place = call.find('@')) {
    call.replace(place, 1, file);
  }
  return program + " " + call;
}

/// A folder with a link that leads to itself and one that root alone may enter.
class FileSystem : public testing::Test {
 protected:
  FileSystem() : file_("plain.yaml", "a: 1\n"), folder_(file_.path().parent_path()) {
    fs::create_symlink("loop", folder_ / "loop");
    fs::create_directory(folder_ / "locked");
    fs::permissions(folder_, fs::perms::all);
    fs::permissions(folder_ / "locked", fs::perms::none);
  }
  ~FileSystem() override { fs::permissions(folder_ / "locked", fs::perms::owner_all); }

  test::TemporaryFile file_;
  fs::path folder_;
};

// "Not a directory", "too many levels of symbolic links", "file name too long": what the system
// says of a name is no bug of collsim (exit code 3).
TEST_F(FileSystem, names_that_lead_nowhere_are_bad_input) {
  for (const std::string& name :
       {file_.path().string() + "/x.yaml", (folder_ / "loop").string(), std::string(300, 'n')}) {
    for (const std::string& call : calls_with_a_file()) {
      const Outcome outcome = shell(with_file(call, name));
      EXPECT_EQ(outcome.status, exit_bad_input) << call << " " << name << "\n" << outcome.out;
      EXPECT_EQ(outcome.out.find("internal error"), std::string::npos) << outcome.out;
    }
  }
}

/// Root may enter every folder; nobody may not.
std::string as_nobody() {
  return geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
}

TEST_F(FileSystem, folders_that_may_not_be_entered_are_bad_input) {
  const std::string name = (folder_ / "locked/x.yaml").string();
  for (const std::string& call : calls_with_a_file()) {
    const Outcome outcome = shell(as_nobody() + with_file(call, name));
    EXPECT_EQ(outcome.status, exit_bad_input) << call << "\n" << outcome.out;
    EXPECT_NE(outcome.out.find("Permission denied"), std::string::npos) << call << outcome.out;
  }
}

// A shipped machine is found from anywhere.
TEST_F(FileSystem, the_current_folder_need_not_be_readable_or_there) {
  const std::string run = program + " run hgx-h200 -b 8 -e 8 --format csv";
  const Outcome locked =
      shell(as_nobody() + "bash -c \"true\"; cd $F/locked; exec " + as_nobody() + run, folder_);
  EXPECT_EQ(locked.status, exit_ok) << locked.out;
  fs::create_directory(folder_ / "gone");
  const Outcome gone = shell("cd $F/gone; rmdir $F/gone; " + run, folder_);
  EXPECT_EQ(gone.status, exit_ok) << gone.out;
}

// What each of these answers of a file it answers of a pipe with the same text, whatever the number
// of times it asks for it: kind of file, machine, once more for another size.
TEST_F(FileSystem, a_pipe_is_read_wherever_a_file_is) {
  const std::string machine = "topologies/switch-8.yaml";
  const std::vector<std::pair<std::string, std::string>> calls{
      {"run @ -b 8 -e 64 --format csv", machine},
      {"run -t @ -b 8 -e 64 --format csv", machine},
      {"run hgx-h200 -b 8 -e 8 --calibration @ --format csv",
       "models/data/calibrations/ideal.yaml"},
      {"explain @ -b 8", machine},
      {"crossover @ -b 8 -e 64 -a ring,tree", machine},
      {"topo show @", machine},
      {"topo check switch-8 @ | grep -c ok", machine},
      {"plan @ -b 1M --nodes 1 --estimate --format csv | cut -d, -f8", "topologies/dgx-h100.yaml"},
      {"validate @ -t hgx-h200 --largest 1K --engine analytic --format csv", "recordings/h200.csv"},
      {"validate recordings/h200.csv recordings/h200.csv -t @ --largest 1K --engine analytic "
       "--format csv",
       "topologies/hgx-h200.yaml"}};
  for (const auto& [call, file] : calls) {
    const Outcome of_file = shell(with_file(call, file));
    const Outcome of_pipe = shell(with_file(call, "<(cat " + file + ")"));
    EXPECT_EQ(of_pipe.status, exit_ok) << call << "\n" << of_pipe.out;
    EXPECT_EQ(of_pipe.out.size() > 1, of_file.out.size() > 1) << call;
  }
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Outcome outcome =
      shell("cat " + machine + " > $F & " + program + " run $F -b 8 -e 8; wait", fifo);
  EXPECT_NE(outcome.out.find("# collsim"), std::string::npos) << outcome.out;
}

// 8 MiB of zeros are read in no time; all of them never end.
TEST(Device, without_an_end_is_refused_early) {
  for (const std::string& call : calls_with_a_file()) {
    if (call.find("prices") != std::string::npos) continue;
    const Outcome outcome = shell("ulimit -v 4000000; " + with_file(call, "/dev/zero"));
    EXPECT_EQ(outcome.status, exit_bad_input) << call << "\n" << outcome.out;
    const std::string limit = call.starts_with("hang") ? "larger than 64 MiB" : "larger than 8 MiB";
    EXPECT_NE(outcome.out.find(limit), std::string::npos) << call << outcome.out;
  }
  for (const char* call : {"validate - -t hgx-h200", "diagnose - -t hgx-h200",
                           "advise hgx-h200 -b 8 -e 8 --settings -"}) {
    const Outcome outcome = shell("ulimit -v 4000000; " + program + " " + call + " < /dev/zero");
    EXPECT_EQ(outcome.status, exit_bad_input) << call << "\n" << outcome.out;
    EXPECT_NE(outcome.out.find("larger than 8 MiB"), std::string::npos) << call << outcome.out;
  }
}

TEST(Device, that_is_full_ends_a_sweep) {
  const Outcome outcome = shell(program + " sweep sweep-hgx-h200-buffers -o /dev/full");
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_NE(outcome.out.find("No space left on device"), std::string::npos) << outcome.out;
}

TEST(Device, of_standard_output_takes_what_a_file_takes) {
  const test::TemporaryFile file("out", "");
  const auto same = [&](const std::string& call, const std::string& output) {
    const Outcome to_file = shell(program + " " + call + " " + output + " $F", file.path());
    EXPECT_EQ(to_file.status, exit_ok) << to_file.out;
    const Outcome piped = shell("set -o pipefail; " + program + " " + call + " " + output +
                                " /dev/stdout 2>/dev/null | cat");
    EXPECT_EQ(piped.status, exit_ok) << piped.out;
    EXPECT_EQ(piped.out, content_of(file.path())) << call;
  };
  same("topo export hgx-h200", "-o");
  same("trace switch-8 -a ring -b 8", "--output");
  same("crossover hgx-h200 -n 2 -b 1M -e 2M --format json", "--export-env");
}

/// Whether the command leaves its input as it was, and says why. `@` is the input's name, `%` the
/// output's.
void expect_refusal(const std::string& call, const fs::path& input, const fs::path& output) {
  const std::string before = content_of(input);
  std::string line = with_file(call, input.string());
  for (auto place = line.find('%'); place != std::string::npos; place = line.find('%')) {
    line.replace(place, 1, output.string());
  }
  const Outcome outcome = shell(line);
  EXPECT_EQ(outcome.status, exit_bad_input) << call << "\n" << outcome.out;
  EXPECT_NE(outcome.out.find("is to be written, and"), std::string::npos) << outcome.out;
  EXPECT_EQ(content_of(input), before) << call;
}

TEST(Output, never_replaces_its_own_input) {
  const fs::path source = COLLSIM_SOURCE_DIR;
  const test::TemporaryFile machine("m.yaml", content_of(source / "topologies/switch-8.yaml"));
  const test::TemporaryFile log("log.csv", content_of(source / "recordings/h200.csv"));
  const fs::path folder = machine.path().parent_path();
  fs::create_symlink(machine.path(), folder / "link.yaml");
  for (const fs::path& output :
       {machine.path(), folder / "link.yaml", folder / "../" / folder.filename() / "m.yaml"}) {
    expect_refusal("trace @ -a ring -b 8 --output %", machine.path(), output);
    expect_refusal("view @ -a ring -b 8 --output %", machine.path(), output);
    expect_refusal("topo export @ -o %", machine.path(), output);
  }
  expect_refusal("calibrate @ -t hgx-h200 -o %", log.path(), log.path());
}

/// Reads another file: it names the topology of the scenario.
std::string scenario_on(const fs::path& machine) {
  return "collsim: scenario/1\nname: q\ntopology: " + machine.string() +
         "\ncollective: all_reduce\nsizes: { from: 8 B, to: 8 B, factor: 2 }\n"
         "runs:\n  - { schedule: textbook, algorithm: ring }\n";
}

// However an input comes: by an option, within a setting, through another file.
TEST(Output, never_replaces_an_input_that_an_option_names) {
  const fs::path source = COLLSIM_SOURCE_DIR;
  const test::TemporaryFile ring("ring.yaml",
                                 content_of(source / "docs/learn/schedules/ring.yaml"));
  const test::TemporaryFile matrix("m.csv", "0,8\n8,0\n");
  const test::TemporaryFile machine("s.yaml", content_of(source / "topologies/switch-8.yaml"));
  const test::TemporaryFile scenario("q.yaml", scenario_on(machine.path()));
  const test::TemporaryFile costs("c.yaml",
                                  content_of(source / "models/data/calibrations/ideal.yaml"));
  expect_refusal("steps -a @ -n 4 --msccl %", ring.path(), ring.path());
  expect_refusal("view switch-8 -a @ -n 4 -b 64 --output %", ring.path(), ring.path());
  expect_refusal("trace switch-8 -a tree,@ -n 4 -b 64 --output %", ring.path(), ring.path());
  expect_refusal("moe hgx-h200 -n 2 -c all_to_all_v --matrix @ --svg %", matrix.path(),
                 matrix.path());
  expect_refusal("moe hgx-h200 --skew @ --svg %", matrix.path(), matrix.path());
  expect_refusal("view hgx-h200 -b 8 --env NCCL_TOPO_FILE=@ --output %", costs.path(),
                 costs.path());
  expect_refusal("trace hgx-h200 -b 8 --calibration @ --output %", costs.path(), costs.path());
  expect_refusal(
      "crossover --alpha 1us --bandwidth 50GB/s -n 4 -a ring -b 8 -e 8 --calibration @ --html %",
      costs.path(), costs.path());
  expect_refusal("view @ -b 8 --output " + machine.path().string(), scenario.path(),
                 machine.path());
}

TEST(Output, is_not_two_of_one_name) {
  const test::TemporaryFile map("map", "kept");
  for (const std::string call :
       {"crossover hgx-h200 -n 2 -b 1M -e 2M --map --svg % --html %",
        "crossover hgx-h200 -n 2 -b 1M -e 2M --export-tuner % --export-env %",
        "crossover switch-8 -a ring,tree -b 1M -e 2M --svg % --png %"}) {
    expect_refusal(call, map.path(), map.path());
    expect_refusal(call, map.path(), map.path().parent_path() / "new");
  }
}

// A text of the page's data that opens a script in a comment would hide the page's own end.
TEST(Output, has_nothing_of_a_name_in_the_markup_of_its_scripts) {
  const fs::path source = COLLSIM_SOURCE_DIR;
  const test::TemporaryFile ring("<!--<script>.yaml",
                                 content_of(source / "docs/learn/schedules/ring.yaml"));
  const fs::path page = ring.path().parent_path() / "page.html";
  const std::string output = "\"$(dirname \"$F\")/page.html\"";
  for (const std::string& call :
       {"crossover --alpha 1us --bandwidth 50GB/s -n 4 -b 64 -e 64 -a @ --html " + output,
        "view switch-8 -n 4 -b 64 -a @ --output " + output,
        "run switch-8 -n 4 -b 64 -e 64 -a @ --format html > " + output}) {
    const Outcome outcome = shell(with_file(call, "\"$F\""), ring.path());
    EXPECT_EQ(outcome.status, exit_ok) << call << outcome.out;
    EXPECT_EQ(content_of(page).find("<!--<script>"), std::string::npos) << call;
    fs::remove(page);
  }
}

}  // namespace
}  // namespace collsim::command
