#include "tools/recorder/sweep.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string_view>

#include "sim/base/input_error.h"
#include "tools/recorder/emulated_hosts.h"
#include "tools/recorder/nccl_choice.h"
#include "tools/recorder/rank_environment.h"
#include "tools/recorder/row_message.h"

namespace collsim::recorder {

namespace {

constexpr int max_failures_of_a_run = 5;
constexpr double probe_stall_seconds = 60;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first warning that NCCL logged in one of the run's processes; empty when there is none.
std::string warning_of(const SweepOptions& options, const std::string& label, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    for (const char* suffix : {"-timing.log", ".log"}) {
      const std::string name = label + '-' + std::to_string(rank) + suffix;
      std::string warning = last_warning(content_of(options.logs / name));
      if (!warning.empty()) return "; NCCL on rank " + std::to_string(rank) + ": " + warning;
    }
  }
  return {};
}

/// One run of the list, from what is left of it to its end.
class RunRecorder {
 public:
  RunRecorder(Run run, std::string label, const SweepOptions& options, const RankWork& work,
              RecordingFile& file)
      : run_(std::move(run)),
        label_(std::move(label)),
        options_(options),
        work_(work),
        file_(file) {}

  Outcome record() {
    for (int failures = 0;; ++failures) {
      Outcome outcome = attempt();
      if (outcome.kind != Outcome::Kind::failed || !outcome.failed_case) return outcome;
      last_failure_ = outcome;
      drop_failed(*outcome.failed_case);
      if (failures + 1 == max_failures_of_a_run) return outcome;
      if (run_.cases.empty()) return outcome;
    }
  }
  const std::optional<Outcome>& last_failure() const { return last_failure_; }
  int rows() const { return rows_; }

 private:
  Outcome attempt() {
    file_.begin_run(run_, recorded_variables(run_));
    Outcome outcome = run_ranks(
        run_.ranks, run_.stall_seconds,
        [&](int rank, SharedState& shared, const RankWork::Tell& tell) {
          work_.record_rank(run_, label_, rank, shared, tell);
        },
        [&](std::string_view line) { take(line); }, options_.interrupted);
    file_.end_run(said(outcome));
    return outcome;
  }

  void take(std::string_view line) {
    const auto message = read_row_message(line);
    if (!message || message->first >= run_.cases.size()) return;
    Row row = message->second;
    row.measured = run_.cases[message->first];
    file_.add(row);
    ++rows_;
  }

  std::string said(Outcome& outcome) const {
    if (outcome.kind == Outcome::Kind::done) return "done";
    if (outcome.kind == Outcome::Kind::interrupted) return "interrupted";
    outcome.why += warning_of(options_, label_, run_.ranks);
    const std::string where = outcome.failed_case && *outcome.failed_case < run_.cases.size()
                                  ? to_string(run_.cases[*outcome.failed_case])
                                  : "starting";
    outcome.why = "failed in " + where + ": " + outcome.why;
    return outcome.why;
  }

  /// Leaves what is not recorded and not likely to fail in the same way: other sizes of the same
  /// call, and the same call in another mode.
  void drop_failed(std::size_t failed) {
    const Case bad = run_.cases.at(std::min(failed, run_.cases.size() - 1));
    std::erase_if(run_.cases, [&](const Case& c) {
      const bool alike = c.collective == bad.collective && c.in_place == bad.in_place &&
                         (c.graph == bad.graph || c.bytes == bad.bytes);
      return alike || file_.has(run_.name, c);
    });
  }

  Run run_;
  std::string label_;
  const SweepOptions& options_;
  const RankWork& work_;
  RecordingFile& file_;
  std::optional<Outcome> last_failure_;
  int rows_ = 0;
};

Run left_of(Run run, const RecordingFile& file) {
  std::erase_if(run.cases, [&](const Case& c) { return file.has(run.name, c); });
  return run;
}

int gpus_of(const Machine& machine) {
  const auto found = machine.facts.find("gpus");
  int gpus = 0;
  if (found != machine.facts.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), gpus);
  }
  return std::min(gpus, max_ranks);
}

void take_fact(std::string_view line, Machine& machine) {
  constexpr std::string_view key = "fact ";
  if (line.substr(0, key.size()) != key) return;
  line.remove_prefix(key.size());
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return;
  machine.facts[std::string(line.substr(0, space))] = line.substr(space + 1);
}

/// NCCL's dump of the topology of all GPUs; empty when NCCL cannot start on them.
std::string dump_topology(int gpus, const SweepOptions& options, const RankWork& work,
                          std::ostream& progress) {
  Run run;
  run.ranks = gpus;
  for (int gpu = 0; gpu < gpus; ++gpu) run.gpus.push_back(gpu);
  const auto path = options.logs / "topology.xml";
  run.environment["NCCL_TOPO_DUMP_FILE"] = path.string();
  const Outcome outcome = run_ranks(
      run.ranks, probe_stall_seconds,
      [&](int rank, SharedState& shared, const RankWork::Tell& tell) {
        work.record_rank(run, "topology", rank, shared, tell);
      },
      [](std::string_view) {}, options.interrupted);
  if (outcome.kind == Outcome::Kind::failed) {
    progress << "no topology: " << outcome.why << warning_of(options, "topology", gpus) << '\n';
  }
  return content_of(path);
}

}  // namespace

Machine describe_machine(const SweepOptions& options, const RankWork& work,
                         std::ostream& progress) {
  Machine machine;
  const Outcome outcome = run_ranks(
      1, probe_stall_seconds,
      [&](int, SharedState& shared, const RankWork::Tell& tell) {
        work.tell_machine(shared, tell);
      },
      [&](std::string_view line) { take_fact(line, machine); }, options.interrupted);
  if (outcome.kind == Outcome::Kind::failed) {
    throw InputError("this machine cannot be recorded on: " + outcome.why,
                     "a machine with CUDA GPUs and NCCL");
  }
  machine.topology = dump_topology(gpus_of(machine), options, work, progress);
  return machine;
}

SweepEnd sweep(const std::vector<Run>& runs, const Machine& machine, const SweepOptions& options,
               const RankWork& work, std::ostream& progress) {
  using Clock = std::chrono::steady_clock;
  RecordingFile file(options.output, machine);
  PlayedHosts hosts(options.hosts_script);
  SweepEnd end = SweepEnd::done;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (options.interrupted()) return SweepEnd::interrupted;
    Run run = left_of(runs[i], file);
    progress << '[' << i + 1 << '/' << runs.size() << "] " << run.name << ": " << std::flush;
    if (run.cases.empty()) {
      progress << "recorded already\n";
      continue;
    }
    const auto start = Clock::now();
    Outcome outcome;
    int rows = 0;
    try {
      hosts.become(run.hosts);
      RunRecorder recorder(run, "run" + std::to_string(i), options, work, file);
      outcome = recorder.record();
      rows = recorder.rows();
      if (outcome.kind == Outcome::Kind::done && recorder.last_failure()) {
        outcome = *recorder.last_failure();
      }
    } catch (const InputError&) {
      throw;  // the output cannot be written
    } catch (const std::exception& error) {
      outcome = {Outcome::Kind::failed, error.what(), std::nullopt};
      file.begin_run(run, recorded_variables(run));
      file.end_run(outcome.why);
    }
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    progress << rows << " of " << run.cases.size() << " cases in " << elapsed.count() << " s";
    if (outcome.kind != Outcome::Kind::done) progress << ": " << outcome.why;
    progress << std::endl;
    if (outcome.kind == Outcome::Kind::interrupted) return SweepEnd::interrupted;
    if (outcome.kind == Outcome::Kind::failed) end = SweepEnd::some_failed;
  }
  return end;
}

}  // namespace collsim::recorder
