// The program itself, by the shell's view of its end: every subcommand with output that cannot be
// written, a reader who leaves, a file that is not there, an option that does not exist, Ctrl-C.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

using Args = std::vector<std::string>;

struct Ending {
  int code;  ///< as a shell has it: 128 + number for a signal
  std::string err;
};

int shell_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Starts the command; `prepare` runs in the child and sets up its standard output.
pid_t start(const Args& args, const std::function<void()>& prepare, const fs::path& err) {
  const pid_t child = fork();
  if (child != 0) return child;
  prepare();
  const int messages = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(messages, STDERR_FILENO);
  close(messages);
  std::string program = COLLSIM_COMMAND;
  std::vector<char*> argv{program.data()};
  Args copies = args;
  for (std::string& arg : copies) argv.push_back(arg.data());
  argv.push_back(nullptr);
  execv(COLLSIM_COMMAND, argv.data());
  _exit(127);
}

Ending run(const Args& args, const std::function<void()>& prepare) {
  const test::TemporaryFile err("stderr", "");
  const pid_t child = start(args, prepare, err.path());
  int status = 0;
  waitpid(child, &status, 0);
  return {shell_code(status), read_text_file(err.path(), "messages").content};
}

void write_to(const char* path) {
  const int file = open(path, O_WRONLY);
  dup2(file, STDOUT_FILENO);
  close(file);
}

/// A pipe that nobody reads from, or, where it is full, that nobody has read from yet.
struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void fill() {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::array<char, 4096> block{};
    while (write(ends[1], block.data(), block.size()) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
  }

  std::array<int, 2> ends{};
};

struct Case {
  std::string name;
  Args args;          ///< a quick call that answers
  Args missing_file;  ///< a call that names a file that is not there; empty: none is taken
};

class ExitCode : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { fs::current_path(COLLSIM_SOURCE_DIR); }

  static Args help() {
    Args args = GetParam().args;
    const bool is_action = args.front() == "topo";
    args.resize(is_action ? 2 : 1);
    args.emplace_back("--help");
    return args;
  }
};

TEST_P(ExitCode, is_2_on_a_full_disk) {
  for (const Args& args : {GetParam().args, help()}) {
    const Ending ending = run(args, [] { write_to("/dev/full"); });
    EXPECT_EQ(ending.code, 2);
    EXPECT_NE(ending.err.find("collsim: the output cannot be written: No space left on device\n"),
              std::string::npos)
        << ending.err;
  }
}

TEST_P(ExitCode, is_2_where_standard_output_is_closed) {
  const Ending ending = run(GetParam().args, [] { close(STDOUT_FILENO); });
  EXPECT_EQ(ending.code, 2);
  EXPECT_NE(ending.err.find("collsim: the output cannot be written: Bad file descriptor\n"),
            std::string::npos)
      << ending.err;
}

// 141 = 128 + SIGPIPE, also where the caller ignores that signal.
TEST_P(ExitCode, is_that_of_sigpipe_where_the_reader_has_left) {
  for (const auto& disposition : {SIG_DFL, SIG_IGN}) {
    const Ending ending = run(help(), [&] {
      std::signal(SIGPIPE, disposition);
      std::array<int, 2> ends{};
      if (pipe(ends.data()) != 0) _exit(127);
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
    });
    EXPECT_EQ(ending.code, 141);
    EXPECT_EQ(ending.err, "");
  }
}

// The text comes in one piece, so that whoever reads its first line has let it all through.
TEST_P(ExitCode, of_help_is_0_for_who_reads_one_line) {
  Pipe pipe;
  const test::TemporaryFile err("stderr", "");
  const pid_t child = start(
      help(), [&] { dup2(pipe.ends[1], STDOUT_FILENO); }, err.path());
  char first = 0;
  EXPECT_EQ(read(pipe.ends[0], &first, 1), 1);
  close(std::exchange(pipe.ends[0], -1));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(shell_code(status), 0);
  EXPECT_EQ(first, 'u');  // sage
}

TEST_P(ExitCode, is_2_for_an_option_that_does_not_exist) {
  Args args = GetParam().args;
  args.emplace_back("--no-such-option");
  const Ending ending = run(args, [] { write_to("/dev/null"); });
  EXPECT_EQ(ending.code, 2);
  EXPECT_TRUE(ending.err.starts_with("collsim: unknown option '--no-such-option'; ")) << ending.err;
}

TEST_P(ExitCode, is_2_for_a_file_that_is_not_there) {
  if (GetParam().missing_file.empty()) return;
  const Ending ending = run(GetParam().missing_file, [] { write_to("/dev/full"); });
  EXPECT_EQ(ending.code, 2);
  EXPECT_NE(ending.err.find("no-such-file"), std::string::npos) << ending.err;
  EXPECT_EQ(ending.err.find("cannot be written"), std::string::npos) << ending.err;
}

// Nobody reads: the command computes, or waits with its first line. Ctrl-C more than once, since
// calibrate ends its search at the first, and then writes.
TEST_P(ExitCode, is_130_after_ctrl_c) {
  Pipe pipe;
  pipe.fill();
  const test::TemporaryFile err("stderr", "");
  const pid_t child = start(
      GetParam().args,
      [&] {
        std::signal(SIGINT, SIG_DFL);
        dup2(pipe.ends[1], STDOUT_FILENO);
      },
      err.path());
  int status = 0;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(child, SIGINT);
  } while (waitpid(child, &status, WNOHANG) == 0);
  EXPECT_EQ(shell_code(status), 130);
}

const std::string machine = "hgx-h200-4";
const std::string recording = "recordings/published/a100x8-80gb-mpi-allreduce.yaml";

const std::vector<Case> cases{
    {"run", {"run", machine, "-b", "8", "-e", "8"}, {"run", "no-such-file.yaml"}},
    {"estimate", {"estimate", machine, "-b", "8", "-e", "8"}, {"estimate", "no-such-file.yaml"}},
    {"expect", {"expect", machine, "-b", "8", "-e", "8"}, {"expect", "no-such-file.yaml"}},
    {"explain", {"explain", machine, "-b", "8"}, {"explain", "no-such-file.yaml", "-b", "8"}},
    {"train",
     {"train", machine, "--model", "gpt2-1.5b"},
     {"train", "no-such-file.yaml", "--model", "gpt2-1.5b"}},
    {"serve",
     {"serve", machine, "--model", "gpt2-1.5b"},
     {"serve", "no-such-file.yaml", "--model", "gpt2-1.5b"}},
    {"moe", {"moe", machine, "--tokens", "8"}, {"moe", "no-such-file.yaml"}},
    {"steps", {"steps"}, {}},
    {"steps_of_a_call", {"steps", machine, "-b", "8"}, {"steps", "no-such-file.yaml", "-b", "8"}},
    {"choose", {"choose", machine}, {"choose", "no-such-file.xml"}},
    {"crossover",
     {"crossover", machine, "-b", "8", "-e", "64"},
     {"crossover", "no-such-file.yaml"}},
    {"validate", {"validate", recording, "--largest", "1K"}, {"validate", "no-such-file.yaml"}},
    {"diagnose", {"diagnose", recording}, {"diagnose", "no-such-file.log"}},
    {"hang", {"hang", "tests/data/flight-recorder/late"}, {"hang", "no-such-file.pickle"}},
    {"watch",
     {"watch", "tests/data/inspector/readme-examples.jsonl", "-t", "hgx-h200"},
     {"watch", "no-such-file.jsonl", "-t", machine}},
    {"replay",
     {"replay", "tests/data/kineto/hta-alexnet-rank0.json.gz"},
     {"replay", "no-such-file.json"}},
    {"calibrate",
     {"calibrate", "-t", machine, "--list"},
     {"calibrate", "no-such-file.log", "-t", machine, "-o", "/dev/null"}},
    {"check", {"check", "-n", "2"}, {"check", "no-such-file.yaml"}},
    {"sweep",
     {"sweep", "sweep-hgx-h200-buffers", "--engine", "analytic"},
     {"sweep", "no-such-file.yaml"}},
    {"advise",
     {"advise", machine, "-b", "8", "-e", "8"},
     {"advise", "no-such-file.yaml", "-b", "8"}},
    {"faults", {"faults", machine, "-b", "8"}, {"faults", "no-such-file.yaml", "-b", "8"}},
    {"trace",
     {"trace", machine, "-b", "8", "--output", "/dev/null"},
     {"trace", "no-such-file.yaml", "-b", "8", "--output", "/dev/null"}},
    {"view",
     {"view", machine, "-b", "8", "--output", "/dev/null"},
     {"view", "no-such-file.yaml", "-b", "8", "--output", "/dev/null"}},
    {"topo_show", {"topo", "show", machine}, {"topo", "show", "no-such-file.yaml"}},
    {"topo_check", {"topo", "check", machine}, {"topo", "check", "no-such-file.yaml"}},
    {"topo_list", {"topo", "list"}, {}},
    {"topo_import",
     {"topo", "import", "tests/data/nvidia-smi/dgx-1-v100.txt", "--gpu", "V100"},
     {"topo", "import", "no-such-file.xml"}},
    {"topo_compose", {"topo", "compose", "dgx-h100"}, {"topo", "compose", "no-such-file.yaml"}},
    {"topo_export", {"topo", "export", machine}, {"topo", "export", "no-such-file.yaml"}},
    {"plan",
     {"plan", machine, "-b", "8"},
     {"plan", machine, "-b", "8", "--prices", "no-such-file.yaml"}},
    {"list", {"list"}, {}},
};

INSTANTIATE_TEST_SUITE_P(Subcommands, ExitCode, testing::ValuesIn(cases),
                         [](const auto& each) { return each.param.name; });

TEST(ExitCodes, are_tested_for_every_subcommand) {
  for (const command::Subcommand& subcommand : command::subcommands()) {
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const Case& each) {
      return each.args.front() == subcommand.name;
    })) << subcommand.name;
  }
}

/// Files of at most one byte, as on a full disk.
void limit_files() {
  write_to("/dev/null");
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit one_byte{1, 1};
  setrlimit(RLIMIT_FSIZE, &one_byte);
}

TEST(OutputFile, that_does_not_fit_leaves_the_old_one_and_nothing_besides) {
  fs::current_path(COLLSIM_SOURCE_DIR);
  for (const Args& args :
       {Args{"topo", "compose", "dgx-h100"}, Args{"topo", "export", machine},
        Args{"topo", "import", "tests/data/nvidia-smi/dgx-1-v100.txt", "--gpu", "v100"}}) {
    const test::TemporaryFile file("out", "old");
    Args with_output = args;
    with_output.insert(with_output.end(), {"-o", file.path().string()});
    EXPECT_EQ(run(with_output, limit_files).code, 2);
    EXPECT_EQ(read_text_file(file.path(), "a file").content, "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(file.path().parent_path()), {}), 1);
  }
}

}  // namespace
}  // namespace collsim
