#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "models/recordings/inspector_line.h"
#include "models/recordings/recording.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/base/units.h"
#include "tools/collsim/core/interruption.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/watch/call_stream.h"
#include "tools/collsim/watch/growing_file.h"
#include "tools/collsim/watch/watcher.h"

namespace collsim::command {

namespace {

constexpr std::chrono::milliseconds between_looks{200};
constexpr std::size_t header_lines = 200;  // of nccl-tests, before its table
constexpr std::string_view of_nccl_tests = "nccl-tests";

std::string when(std::int64_t written_us) {
  if (written_us == 0) return {};
  constexpr std::int64_t per_second = 1'000'000;
  return fmt::format(" ({:%Y-%m-%d %H:%M:%S} UTC)",
                     fmt::gmtime(static_cast<std::time_t>(written_us / per_second)));
}

std::string hosts_of(const Alarm& alarm) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, alarm.hosts.size()); ++i) {
    text += (i == 0 ? " on " : ", ") + alarm.hosts[i];
  }
  if (alarm.hosts.size() > shown) text += fmt::format(" and {} more", alarm.hosts.size() - shown);
  return text;
}

std::string comparison(const Alarm& alarm) {
  if (alarm.symptom == Symptom::late_rank) {
    return fmt::format("the last rank comes later: {:.0f} us of waiting in a call of {:.0f} us",
                       alarm.example.longest - alarm.example.microseconds,
                       alarm.example.microseconds);
  }
  std::string text =
      fmt::format("{} of {} takes {:.0f} us",
                  to_string(alarm.example.collective.value_or(Collective::all_reduce)),
                  to_string(Bytes{alarm.example.bytes}), alarm.example.microseconds);
  if (alarm.expected) {
    text += fmt::format(", expected {:.0f} ({:.0f} to {:.0f})", alarm.expected->time,
                        alarm.expected->low, alarm.expected->high);
  }
  return text;
}

void print_alarm(const Alarm& alarm, std::ostream& out) {
  const Slowdown& slowdown = alarm.slowdown;
  fmt::print(
      out,
      "slow: communicator {}, {} ranks{}: {}; {:.2f} times {}, since call {}{}; likeliest: {}\n",
      alarm.communicator, alarm.ranks, hosts_of(alarm), comparison(alarm), slowdown.factor,
      slowdown.from_the_start ? "as long as expected" : "as long as before", slowdown.since,
      when(slowdown.since_us), alarm.cause);
  out.flush();
}

void print_alarm_record(const Alarm& alarm, std::ostream& out) {
  nlohmann::ordered_json record{
      {"communicator", alarm.communicator},
      {"ranks", alarm.ranks},
      {"nodes", alarm.nodes},
      {"hosts", alarm.hosts},
      {"symptom", to_string(alarm.symptom)},
      {"factor", alarm.slowdown.factor},
      {"beside", alarm.slowdown.from_the_start ? "expected" : "before"},
      {"since_call", alarm.slowdown.since},
      {"since_us", alarm.slowdown.since_us},
      {"collective", to_string(alarm.example.collective.value_or(Collective::all_reduce))},
      {"size_bytes", alarm.example.bytes},
      {"time_us", alarm.example.microseconds},
      {"cause", alarm.cause}};
  if (alarm.expected) {
    record["expected_us"] = alarm.expected->time;
    record["p10_us"] = alarm.expected->low;
    record["p90_us"] = alarm.expected->high;
  }
  out << record.dump() << '\n';
  out.flush();
}

/// Calls in the lines of one file: those of the Inspector, or rows of nccl-tests.
class Reader {
 public:
  explicit Reader(const std::string& name) : file_(name), name_(name) {}

  /// Reads a line, if there is one.
  bool read(bool at_end, CallStream& stream, std::vector<StreamedCall>& calls, std::ostream& err) {
    const auto line = file_.next_line(at_end);
    if (!line) return false;
    if (is_inspector_line(*line)) {
      try {
        stream.add(read_inspector_line(file_.place(), *line), calls);
      } catch (const InputError& error) {  // torn by who wrote it
        if (unread_++ == 0) fmt::print(err, "collsim: {}: passed over\n", error.what());
      }
    } else {
      read_row(*line, calls);
    }
    return true;
  }
  GrowingFile& file() { return file_; }

 private:
  /// A row below what has been read of nccl-tests' head.
  void read_row(const std::string& line, std::vector<StreamedCall>& calls) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) return;
    if (line[begin] < '0' || line[begin] > '9') {
      if (head_.size() < header_lines) head_.push_back(line + '\n');
      return;
    }
    std::string text;
    for (const std::string& each : head_) text += each;
    try {
      const Recording recording = read_recording(TextFile{name_, text + line + '\n'});
      for (const RecordedRow& row : recording.rows) {
        if (!row.in_place) calls.push_back(call_of(row));
      }
    } catch (const InputError&) {  // some other program's line
    }
  }
  StreamedCall call_of(const RecordedRow& row) {
    StreamedCall call;
    call.communicator = of_nccl_tests;
    call.collective = row.collective;
    call.number = ++rows_;
    call.bytes = row.size.count;
    call.ranks = row.ranks;
    call.nodes = row.nodes == 0 ? 1 : row.nodes;
    call.microseconds = call.longest = in_microseconds(row.time);
    return call;
  }

  GrowingFile file_;
  std::string name_;
  std::vector<std::string> head_;
  std::int64_t rows_ = 0;
  std::int64_t unread_ = 0;
};

struct Outcome {
  std::int64_t calls = 0;
  std::int64_t alarms = 0;
};

/// Reads a line of each file in turn, so that ranks of a call stay together, and judges what they
/// say. With `follow` until Ctrl-C, else to the end.
Outcome watch_files(std::deque<Reader>& readers, Watcher& watcher, bool follow, bool as_records,
                    std::ostream& out, std::ostream& err) {
  Outcome outcome;
  CallStream stream;
  const Interruption interruption;
  const auto tell = [&](const std::vector<Alarm>& alarms) {
    for (const Alarm& alarm : alarms) (as_records ? print_alarm_record : print_alarm)(alarm, out);
    outcome.alarms += static_cast<std::int64_t>(alarms.size());
  };
  const auto judge = [&](std::vector<StreamedCall>& calls) {
    for (const StreamedCall& call : calls) tell(watcher.add(call));
    outcome.calls += static_cast<std::int64_t>(calls.size());
    calls.clear();
  };
  std::vector<StreamedCall> calls;
  while (!Interruption::asked()) {
    bool any = false;
    for (Reader& reader : readers) any = reader.read(!follow, stream, calls, err) || any;
    judge(calls);
    if (any) continue;
    if (!follow) break;
    std::this_thread::sleep_for(between_looks);
    for (Reader& reader : readers) reader.file().follow_rotation();
  }
  stream.finish(calls);
  judge(calls);
  tell(watcher.finish());
  return outcome;
}

/// The last line: what was judged.
void print_end(const Outcome& outcome, const Watcher& watcher, bool as_record, std::ostream& out) {
  if (as_record) {
    out << nlohmann::ordered_json{{"calls", outcome.calls},
                                  {"judged", watcher.judged()},
                                  {"communicators", watcher.communicators()},
                                  {"alarms", outcome.alarms}}
               .dump()
        << '\n';
    return;
  }
  fmt::print(out, "{} of {} calls judged, in {} communicators; {} slow\n", watcher.judged(),
             outcome.calls, watcher.communicators(), outcome.alarms);
}

int run_watch(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(watch_subcommand, args, out);
  if (!values) return exit_ok;
  if (!values->contains("topology")) {
    throw InputError("watch: no machine", "-t MACHINE, on which the calls run");
  }
  const auto names = (*values)["recording"].as<std::vector<std::string>>();
  std::deque<Reader> readers;
  for (const std::string& name : names) readers.emplace_back(name);
  Watcher watcher(ExpectedCalls(read_request(*values, err)));
  const bool as_records = format_option(*values) == Format::jsonl;
  const Outcome outcome =
      watch_files(readers, watcher, (*values)["follow"].as<bool>(), as_records, out, err);
  if (watcher.judged() == 0) {
    throw InputError(
        outcome.calls == 0
            ? "watch: no line of NCCL's Inspector and no row of nccl-tests"
            : fmt::format("watch: none of {} calls can be on this machine", outcome.calls),
        outcome.calls == 0 ? "files that NCCL's Inspector or nccl-tests writes"
                           : "the machine of the log, with as many nodes (--nodes)");
  }
  print_end(outcome, watcher, as_records, out);
  return outcome.alarms > 0 ? exit_answer_is_no : exit_ok;
}

}  // namespace

const Subcommand watch_subcommand{
    .name = "watch",
    .summary = "say at once when calls of a running job become slow",
    .usages = {"FILE... -t MACHINE [options]"},
    .answers =
        "Says when calls of a running job take longer than they should for longer than noise "
        "explains: of which communicator, since when, on which hosts, and what the likeliest cause "
        "is. It reads what NCCL's Inspector or nccl-tests writes, while it is written. Exit code 1 "
        "means that calls became slow.",
    .manual =
        "Give the files of all ranks: of a call the rank counts that came last, since the others "
        "waited for it. - is standard input. Without --follow it ends at the end of the files. "
        "What is normal for a communicator is learnt from its first 32 calls of a kind; whether "
        "those are slow already, from the machine. docs/operate.md has a Slurm epilog, a unit of "
        "systemd and a job of Kubernetes.",
    .examples = {"watch inspector/*.log -t dgx-h100 --nodes 4",
                 "watch inspector/*.log -t dgx-h100-x4 --follow",
                 "watch - -t hgx-h200 --format jsonl"},
    .argument = "recording",
    .needs = "recording",
    .first = "topology nodes fabric env nccl-version calibration follow format",
    .modes = {{"", "recording topology nodes fabric env nccl-version calibration follow"}},
    .formats = {Format::table, Format::jsonl},
    .run = run_watch,
};

}  // namespace collsim::command
