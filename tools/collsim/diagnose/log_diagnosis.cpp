#include "tools/collsim/diagnose/log_diagnosis.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/imports/import.h"
#include "models/imports/machine.h"
#include "models/recordings/named_rows.h"
#include "models/validation/recorded_call.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/diagnose/contradictions.h"
#include "tools/collsim/diagnose/correctness.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/diagnose/log_check.h"
#include "tools/collsim/diagnose/slow_hosts.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/machine_guess.h"
#include "tools/collsim/request/recorded_input.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// A host that is in no slow run; empty where there is none.
std::string good_host(const std::vector<HostRun>& runs, const std::vector<bool>& slow) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!slow[i] && !runs[i].hosts.empty()) return *runs[i].hosts.begin();
  }
  return {};
}

/// A log that is slow next to its like is low, whatever it is on its machine.
void judge_beside_like(DiagnosedLog& log) {
  if (log.beside_like >= log.like_limit) return;
  Diagnosis& diagnosis = log.diagnosis;
  const std::string beside = fmt::format(
      "{:.2f} of the busbw of the fastest log of the same call; of equal hosts noise leaves {:.2f}",
      log.beside_like, log.like_limit);
  if (diagnosis.verdict < Verdict::low) {
    diagnosis.verdict = Verdict::low;
    diagnosis.reason = beside;
  } else {
    diagnosis.notes.push_back(beside);
  }
}

void compare_group(const std::vector<DiagnosedLog*>& logs, const Spread& spread) {
  if (logs.size() < 2) return;
  std::vector<const LikeRun*> like;
  like.reserve(logs.size());
  for (const DiagnosedLog* log : logs) like.push_back(&log->run);
  const std::vector<HostRun> runs = runs_beside_each_other(like);
  if (runs.empty()) return;
  const double limit = like_limit(runs, spread);
  const std::vector<bool> slow = slow_runs(runs, limit);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i]->beside_like = runs[i].busbw;
    if (slow[i]) logs[i]->like_limit = limit;
  }
  for (const SlowHosts& each : slow_hosts(runs, limit)) {
    for (const std::size_t run : each.runs) {
      logs[run]->suspects.push_back(describe(each, good_host(runs, slow)));
    }
  }
}

/// Holds logs of the same calls on the same GPUs, but on other hosts or at other times, against
/// each other, whatever is known of their machine. The hosts, ports and rails that explain one
/// which is slow next to its like by more than noise are named (DiagnosedLog::suspects).
void compare_like_logs(std::vector<DiagnosedLog>& logs, const Spread& spread) {
  std::vector<std::vector<DiagnosedLog*>> groups;
  for (DiagnosedLog& log : logs) {
    if (log.run.times.empty() || log.diagnosis.verdict > Verdict::impossible) continue;
    auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return are_alike(group.front()->run, log.run);
    });
    if (found == groups.end()) found = groups.insert(groups.end(), {{}});
    found->push_back(&log);
  }
  for (const auto& group : groups) compare_group(group, spread);
}

constexpr std::uint32_t max_ranks = 1U << 20U;
constexpr std::uint32_t max_hosts = 1U << 17U;

/// The release whose rules apply.
struct Release {
  NcclVersion version = default_nccl_version;
  bool is_logged = true;  ///< or asked for, or not known
  std::string logged;     ///< else
  bool is_assumed = false;
};

/// That of a log, whose rules may not be known: then those of the nearest that are.
Release logged_release(const std::string& logged) {
  try {
    return {parse_nccl_version(logged), true, logged, false};
  } catch (const InputError&) {
    return {nearest_nccl_version(logged), false, logged, false};
  }
}

Release release_of(const Log& log, const po::variables_map& values) {
  if (const auto asked = nccl_version_option(values)) return {*asked, true, {}, false};
  const std::string logged = release_in(log.recording, log.facts);
  Release release =
      logged.empty() ? Release{default_nccl_version, true, {}, true} : logged_release(logged);
  if (log.recording.nccl_rules) {
    release.version = *log.recording.nccl_rules;
    release.is_assumed = false;
  }
  return release;
}

/// A log that is not held against a machine.
DiagnosedLog uncompared(const Log& log, Verdict verdict, std::string reason) {
  DiagnosedLog diagnosed{log.recording.file.filename().string(), {}, {}, {}, {}};
  diagnosed.diagnosis.verdict = verdict;
  diagnosed.diagnosis.reason = std::move(reason);
  diagnosed.diagnosis.notes = log.recording.notes;
  return diagnosed;
}

void add_notes_of_release(const Release& release, std::vector<std::string>& notes) {
  if (!release.is_logged) {
    notes.push_back(
        fmt::format("NCCL {} is predicted by the rules of {}: limits are twice as wide "
                    "where the algorithm is not forced",
                    release.logged, to_string(release.version)));
  } else if (release.is_assumed) {
    notes.push_back(
        fmt::format("the log does not say which release of NCCL ran: {} is assumed "
                    "(--nccl-version)",
                    to_string(release.version)));
  }
}

/// A machine that logs are held against, with what is known of its healthy times by release.
struct CachedMachine {
  Topology topology;
  double widening = 1;  ///< of what predictions of it are off by
  std::vector<std::string> guesses{};
  bool guesses_nics = false;
  std::map<NcclVersion, std::shared_ptr<HealthyTimes>> healthy{};
};

/// Diagnoses logs one after the other, and keeps what several have in common.
class LogDiagnoser {
 public:
  LogDiagnoser(const po::variables_map& values, const Spread& spread,
               const std::optional<TextFile>& described, std::ostream& err)
      : values_(values), spread_(spread), described_(described), err_(err) {}

  bool find_causes = true;
  bool one_is_slow = false;  ///< of the next log, by others

  /// A recording may have rows of several machines. Whether its results are right does not depend
  /// on any of them.
  std::vector<DiagnosedLog> diagnose_log(const Log& log) {
    const Correctness correctness = correctness_of(log.recording, log.facts);
    if (correctness.is_wrong()) {
      return {uncompared(log, Verdict::wrong, describe(correctness, log.recording))};
    }
    if (values_.contains("topology") && !hints(log).any()) {
      const auto& name = values_["topology"].as<std::string>();
      return {diagnose_on(
          log, known("-t " + name, [&] { return CachedMachine{load_machine(name).topology}; }))};
    }
    std::vector<DiagnosedLog> diagnosed;
    for (RecordedMachine& part : by_machine(log.recording, {})) {
      const Log of_part{part.recording, log.facts, log.bad_rows};
      if (names_no_machine(of_part)) {
        diagnosed.push_back(diagnose_unnamed(of_part));
        continue;
      }
      if (part.topology.empty() || hints(log).any()) {
        diagnosed.push_back(diagnose_on(of_part, machine_of(of_part)));
        continue;
      }
      diagnosed.push_back(diagnose_on(of_part, known("-t " + part.topology, [&] {
                                        return CachedMachine{load_machine(part.topology).topology};
                                      })));
    }
    return diagnosed;
  }

 private:
  template <typename Make>
  CachedMachine& known(const std::string& key, const Make& make) {
    const auto found = machines_.find(key);
    return found != machines_.end() ? found->second : machines_.emplace(key, make()).first->second;
  }

  /// What the options and files beside the log say of its machine.
  MachineHints hints(const Log& log) const {
    MachineHints hints;
    if (values_.contains("nodes")) {
      hints.nodes = bounded_option(values_, "nodes", 1, max_hosts);
    }
    if (values_.contains("fabric")) hints.fabric = values_["fabric"].as<std::string>();
    if (values_.contains("nic")) hints.nic = values_["nic"].as<std::string>();
    if (values_.contains("topology")) {
      if (hints.any()) hints.base = values_["topology"].as<std::string>();
      return hints;
    }
    if (described_) {
      ImportOptions options;
      const auto gpu = log.recording.machine.find("gpu");
      if (gpu != log.recording.machine.end()) options.gpu = find_gpu_model(gpu->second);
      hints.described = import_node(*described_, options).node;
    }
    return hints;
  }

  bool names_no_machine(const Log& log) const {
    return !described_ && !values_.contains("topology") && log.recording.topology.empty() &&
           !log.recording.machine.contains("gpu") &&
           std::any_of(log.recording.rows.begin(), log.recording.rows.end(),
                       [](const RecordedRow& row) { return row.ranks > 0; });
  }

  /// A table alone: what machines of common GPUs make of it. None of them can be called the log's.
  DiagnosedLog diagnose_unnamed(const Log& log) {
    std::optional<DiagnosedLog> nearest;
    std::vector<std::string> others;
    const bool searched = std::exchange(find_causes, false);
    for (GuessedMachine& guessed : machines_of_unnamed_gpus(log.recording, log.facts, hints(log))) {
      CachedMachine machine{std::move(guessed.topology), guessed.widening()};
      DiagnosedLog diagnosed = diagnose_on(log, machine);
      const double ratio = ratio_of(diagnosed.diagnosis);
      const bool is_too_fast = diagnosed.diagnosis.verdict > Verdict::low;
      others.push_back(is_too_fast ? fmt::format("too fast for {}", guessed.name)
                                   : fmt::format("{:.2f} of what {} has", ratio, guessed.name));
      const auto off = [](const DiagnosedLog& each) {
        return std::abs(std::log(ratio_of(each.diagnosis)));
      };
      if (!is_too_fast && (!nearest || off(diagnosed) < off(*nearest))) {
        nearest = std::move(diagnosed);
      }
    }
    find_causes = searched;
    if (!nearest) return uncompared(log, Verdict::cannot_tell, unnamed(log, others));
    nearest->diagnosis.verdict = Verdict::cannot_tell;
    nearest->diagnosis.reason = unnamed(log, others);
    return std::move(*nearest);
  }

  static std::string unnamed(const Log& log, const std::vector<std::string>& others) {
    const RunShape shape = shape_of(log.recording, log.facts);
    return fmt::format("the log of {} ranks names no GPU; its busbw is {}; -t names the machine",
                       shape.nodes * shape.per_node, fmt::join(others, ", "));
  }

  /// The machine of rows that do not name one.
  CachedMachine& machine_of(const Log& log) {
    return known(machine_key(log.recording, log.facts), [&] {
      GuessedMachine guessed = guessed_machine(log.recording, log.facts, hints(log));
      if (log.recording.topology.empty() || guessed.composed) say(log, guessed);
      if (values_.contains("keep")) keep(guessed);
      const double widening = guessed.widening();
      return CachedMachine{std::move(guessed.topology), widening, std::move(guessed.guesses),
                           guessed.guesses_nics};
    });
  }

  /// "collsim: my.log: assuming dgx-a100 (-t names another)", or what it was composed of.
  void say(const Log& log, const GuessedMachine& guessed) const {
    report_guess(log.recording, guessed, err_);
    if (!guessed.composed) return;
    fmt::print(err_,
               "collsim: --keep machine.yaml writes it, for -t; --nodes, --fabric and --nic change "
               "it\n");
  }

  void keep(const GuessedMachine& guessed) {
    const auto& file = values_["keep"].as<OutputFile>().name;
    if (!guessed.composed) {
      throw InputError(
          fmt::format("--keep {}: the log's machine is shipped as {}", file, guessed.name),
          "-t " + guessed.name);
    }
    if (is_kept_) {
      throw InputError(fmt::format("--keep {}: the logs are of several machines", file),
                       "logs of one machine");
    }
    is_kept_ = true;
    replace_file(file, composed_text(guessed.composed->parts, guessed.composed->nodes));
  }

  DiagnosedLog diagnose_on(const Log& log, CachedMachine& machine) const {
    const Topology& topology = machine.topology;
    if (std::string why = contradiction(log.recording, topology); !why.empty()) {
      return uncompared(log, Verdict::not_this_machine, std::move(why));
    }
    const Calibration cost =
        values_.contains("calibration")
            ? with_transports(named_calibration(values_["calibration"].as<std::string>()), topology)
            : calibration_for(topology);
    const Release release = release_of(log, values_);
    const Recording recording = placed_on(log.recording, topology);
    DiagnosedLog diagnosed{log.recording.file.filename().string(),
                           topology.name(),
                           cost.name,
                           to_string(release.version),
                           {}};
    DiagnosisInput input{&recording, &log.facts,      &topology,
                         &cost,      release.version, release.is_logged};
    input.find_causes = find_causes;
    input.widening = machine.widening;
    input.guesses_nics = machine.guesses_nics;
    input.one_is_slow = one_is_slow;
    input.known = machine.healthy.try_emplace(release.version, input.known).first->second;
    diagnosed.diagnosis = diagnose(input, spread_);
    std::vector<std::string>& notes = diagnosed.diagnosis.notes;
    add_notes_of_release(release, notes);
    if (!machine.guesses.empty()) {
      notes.push_back(
          fmt::format("limits are {:.2g} times as wide, since of the machine is guessed: "
                      "{}; --nodes, --fabric, --nic or -t say it",
                      machine.widening, fmt::join(machine.guesses, "; ")));
    }
    if (log.bad_rows > 0) {
      notes.push_back(fmt::format("{} rows of the table cannot be read", log.bad_rows));
    }
    if (const auto warning = calibration_warning(cost)) notes.push_back(*warning);
    return diagnosed;
  }

  const po::variables_map& values_;
  const Spread& spread_;
  const std::optional<TextFile>& described_;
  std::ostream& err_;
  std::map<std::string, CachedMachine> machines_;
  bool is_kept_ = false;
};

/// Rows whose ranks so many hosts can share equally are of so many.
void spread_over_hosts(std::uint32_t hosts, Recording& recording) {
  for (RecordedRow& row : recording.rows) {
    if (row.ranks > 0 && row.ranks % hosts == 0) row.nodes = hosts;
  }
}

/// NCCL's log without times: what it says by itself and, where a person names one, of its machine.
DiagnosedLog check_alone(const LogFiles& files, const po::variables_map& values) {
  LogCheck check = check_log(files.common);
  DiagnosedLog checked{files.info_name, {}, {}, files.common.nccl, {}};
  Diagnosis& diagnosis = checked.diagnosis;
  if (values.contains("topology") && files.common.ranks > 0) {
    const Topology topology = load_machine(values["topology"].as<std::string>()).topology;
    const Calibration cost = calibration_for(topology);
    RecordedCall call;
    call.ranks = files.common.ranks;
    call.nodes = std::max(1U, files.common.nodes);
    const CallCompiler compiler(spec_of(call, topology, cost, default_nccl_version));
    for (std::string& text : contradictions(files.common, compiler, call)) {
      if (!text.starts_with("NCCL warns")) check.odd.push_back(std::move(text));
    }
    checked.machine = topology.name();
  }
  diagnosis.verdict = check.odd.empty() ? Verdict::healthy : Verdict::cannot_tell;
  diagnosis.reason =
      fmt::format("NCCL's log alone, without times: {}",
                  check.odd.empty() ? std::string("nothing odd in it")
                                    : fmt::format("{} thing{} to look at", check.odd.size(),
                                                  check.odd.size() == 1 ? "" : "s"));
  diagnosis.contradictions = std::move(check.odd);
  diagnosis.notes = std::move(check.seen);
  return checked;
}

/// Judges logs of a batch as single ones are, by all that may have made them, and by what others
/// say of their hosts.
void judge_all(const std::vector<Log>& logs, LogDiagnoser& diagnoser,
               std::vector<DiagnosedLog>& diagnosed) {
  diagnoser.find_causes = true;
  std::vector<DiagnosedLog> parts;  // of one log
  for (std::size_t i = 0, part = 0; i < diagnosed.size(); ++i, ++part) {
    DiagnosedLog& each = diagnosed[i];
    if (i > 0 && diagnosed[i - 1].log != each.log) {
      parts.clear();
      part = 0;
    }
    if (each.diagnosis.verdict > Verdict::low || each.diagnosis.sizes.empty()) continue;
    diagnoser.one_is_slow = !each.suspects.empty();
    if (parts.empty()) parts = diagnoser.diagnose_log(logs[each.log]);
    each.diagnosis = std::move(parts.at(part).diagnosis);
  }
}

}  // namespace

/// What the options say of rows: which are wanted, and what those are that do not say it.
ValidationOptions row_options(const po::variables_map& values) {
  ValidationOptions options;
  if (values.contains("collective")) options.collective = collective_option(values);
  if (values.contains("ranks")) options.ranks = bounded_option(values, "ranks", 1, max_ranks);
  return options;
}

void select_rows(Recording& recording, const ValidationOptions& options) {
  name_rows(recording, {options.collective, options.ranks});
  std::erase_if(recording.rows, [&](const RecordedRow& row) { return excluded(row, options); });
  if (!recording.rows.empty()) return;
  throw InputError(SourcePosition{recording.file.string(), 0, 0},
                   "no row is of the collective and ranks that are asked for", "other -c and -n");
}

std::vector<DiagnosedLog> diagnose_logs(LogFiles files, const po::variables_map& values,
                                        const Spread& spread, std::ostream& err) {
  if (files.logs.empty()) return {check_alone(files, values)};
  const ValidationOptions options = row_options(values);
  LogDiagnoser diagnoser(values, spread, files.described, err);
  diagnoser.find_causes = files.logs.size() == 1;
  std::vector<DiagnosedLog> diagnosed;
  for (std::size_t i = 0; i < files.logs.size(); ++i) {
    Log& log = files.logs[i];
    const Waiting waiting(err, "diagnosing " + log.recording.file.filename().string());
    const std::size_t before = diagnosed.size();
    try {
      select_rows(log.recording, options);
      if (values.contains("nodes")) {
        spread_over_hosts(bounded_option(values, "nodes", 1, max_hosts), log.recording);
      } else {
        join_trays(log.recording, log.facts);
      }
      for (DiagnosedLog& each : diagnoser.diagnose_log(log)) diagnosed.push_back(std::move(each));
    } catch (const InputError& error) {
      if (files.logs.size() == 1) throw;
      fmt::print(err, "collsim: {}\n", error.what());
      diagnosed.push_back(uncompared(log, Verdict::cannot_tell, error.what()));
    }
    if (diagnosed.size() == before + 1) diagnosed.back().run = like_run(log.recording, log.facts);
    for (std::size_t each = before; each < diagnosed.size(); ++each) diagnosed[each].log = i;
  }
  compare_like_logs(diagnosed, spread);
  if (!diagnoser.find_causes) judge_all(files.logs, diagnoser, diagnosed);
  for (DiagnosedLog& each : diagnosed) {
    judge_beside_like(each);
    if (!values["no-causes"].as<bool>()) continue;
    each.diagnosis.causes.clear();
    each.diagnosis.next.reset();
  }
  return diagnosed;
}

}  // namespace collsim::command
