#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.h"
#include "tools/recorder/program.h"
#include "tools/recorder/rank_recorder.h"
#include "tools/recorder/run_list.h"
#include "tools/recorder/sweep.h"

namespace {

using namespace collsim::recorder;
using collsim::InputError;
using Clock = std::chrono::steady_clock;

constexpr std::string_view usage =
    "Usage: collsim-recorder RUNS OUTPUT [--logs DIR] [--hosts SCRIPT] [--time-limit SECONDS]\n"
    "\n"
    "Records real NCCL runs on this machine's GPUs.\n"
    "\n"
    "  RUNS                  a run list, as collsim-recorder-plan makes it of a plan; - for "
    "standard\n"
    "                        input\n"
    "  OUTPUT                the recording; continued when it exists\n"
    "  --logs DIR            keep NCCL's logs there (else they are removed)\n"
    "  --hosts SCRIPT        what plays several hosts on this machine (tools/recorder/hosts)\n"
    "  --time-limit SECONDS  stop after so long, to be resumed\n"
    "\n"
    "Ends with 0 when all is recorded, 1 when something failed (the recording says what), 2 for "
    "bad\n"
    "input, 3 when it was stopped: run it again to go on.\n";

struct Options {
  std::string runs;
  std::string output;
  std::string logs;
  std::string hosts = "tools/recorder/hosts";
  double time_limit = 1e9;
};

double read_seconds(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || !(seconds > 0)) {
    throw InputError("--time-limit '" + text + "'", "seconds, above 0");
  }
  return seconds;
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == words.size()) throw InputError(word + " without a value", std::string(usage));
      return words[++i];
    };
    if (word == "--logs") {
      options.logs = value();
    } else if (word == "--hosts") {
      options.hosts = value();
    } else if (word == "--time-limit") {
      options.time_limit = read_seconds(value());
    } else if (word.size() > 1 && word.front() == '-') {
      throw InputError("no option " + word, std::string(usage));
    } else {
      files.push_back(word);
    }
  }
  if (files.size() != 2) throw InputError("not two file names", std::string(usage));
  options.runs = files[0];
  options.output = files[1];
  return options;
}

std::vector<Run> load_runs(const std::string& path) {
  if (path == "-") return read_run_list(std::cin, "standard input");
  std::ifstream file(path);
  if (!file) throw InputError({path, 0, 0}, "cannot be read", "a run list");
  return read_run_list(file, path);
}

/// A folder that goes with the object, unless somebody wants to keep it.
class LogFolder {
 public:
  explicit LogFolder(const std::string& kept) : path_(kept), kept_(!kept.empty()) {
    if (kept_) {
      std::filesystem::create_directories(path_);
      path_ = std::filesystem::absolute(path_);
      return;
    }
    std::string name =
        (std::filesystem::temp_directory_path() / "collsim-recorder-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw InputError("no folder " + name, "a folder for temporary files in TMPDIR");
    }
    path_ = name;
  }
  ~LogFolder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool kept_;
};

/// Holds back the signals that ask to stop, so that they are only seen by stop_asked(); processes
/// started after this hold them back too.
void hold_stop_signals() {
  sigset_t stops{};
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  sigprocmask(SIG_BLOCK, &stops, nullptr);
}

bool stop_asked() {
  sigset_t pending{};
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

int record(const Options& options) {
  const std::vector<Run> runs = load_runs(options.runs);
  const LogFolder logs(options.logs);
  hold_stop_signals();
  const auto start = Clock::now();
  const auto interrupted = [&] {
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    return elapsed.count() > options.time_limit || stop_asked();
  };
  const SweepOptions sweep_options{options.output, logs.path(), options.hosts, interrupted};
  const RankWork work{tell_machine, [&](const Run& run, const std::string& label, int rank,
                                        SharedState& shared, const Tell& tell) {
                        record_rank(run, logs.path(), label, rank, shared, tell);
                      }};
  const Machine machine = describe_machine(sweep_options, work, std::cerr);
  switch (sweep(runs, machine, sweep_options, work, std::cerr)) {
    case SweepEnd::done:
      return 0;
    case SweepEnd::some_failed:
      return 1;
    case SweepEnd::interrupted:
      std::cerr << "stopped; the same command goes on from here\n";
      return 3;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv, usage, [](const std::vector<std::string>& words) {
    return record(read_options(words));
  });
}
