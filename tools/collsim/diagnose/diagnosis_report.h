#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "tools/collsim/diagnose/diagnosis.h"
#include "tools/collsim/diagnose/like_runs.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// One log and what came of it.
struct DiagnosedLog {
  std::string name;         ///< of its file
  std::string machine;      ///< the topology's name; empty where none was compared with
  std::string calibration;  ///< the name
  std::string nccl;         ///< the release whose rules apply
  Diagnosis diagnosis;
  LikeRun run{};                        ///< what is held against other logs of the same calls
  std::size_t log = 0;                  ///< its number among the logs that were read
  double beside_like = 0;               ///< busbw as a share of the fastest of its like; 0: none
  double like_limit = 0;                ///< that it is below; 0: none
  std::vector<std::string> suspects{};  ///< hosts that make it slow next to its like, in sentences
};

/// The worst verdict of all.
Verdict verdict_of(const std::vector<DiagnosedLog>& logs);

/// Names a recorded call: "all_reduce, 2 hosts, 16 ranks".
std::string name_of(const RecordedCall& call);
/// Why the verdict is what it is, in one sentence.
std::string reason_of(const Diagnosis& diagnosis);
/// What to measure next, in one sentence.
std::string text_of(const NextMeasurement& next);
/// The middle ratio of the sizes from 1 MiB on, or of all; not a number where no size was compared.
double ratio_of(const Diagnosis& diagnosis);
/// Logs that were not compared come first.
std::vector<const DiagnosedLog*> slowest_first(const std::vector<DiagnosedLog>& logs);
/// Adds a size to a table, as JSON has it, too.
void add_size(const DiagnosedSize& size, const RecordedCall& call, Table& table);
/// A cause as JSON has it.
Record cause_record(const FittedCause& cause);

/// One line for each log, for a prolog of Slurm or Kubernetes:
///
///   low: node7.log: 0.25 of the expected busbw; a link at 0.25 of its rate: node0/nic0 (81 %)
void print_diagnosis_brief(const std::vector<DiagnosedLog>& logs, std::ostream& out);
/// docs/formats.md ("Output of `collsim diagnose`").
Record diagnosis_record(const std::vector<DiagnosedLog>& logs);
/// JUnit's XML: a suite for each log, a case for each size; a failure where it is not healthy.
void print_diagnosis_junit(const std::vector<DiagnosedLog>& logs, std::ostream& out);
/// Prometheus' text exposition format: ratios, verdicts, likelihoods of causes.
void print_diagnosis_prometheus(const std::vector<DiagnosedLog>& logs, std::ostream& out);
/// Adds what came of the logs. In a terminal, at most 80 columns:
///
///   verdict: low: busbw is 75 % below what is expected; ...
///   # all_reduce, 2 hosts, 16 ranks
///   #      size  measured  expected measured expected ratio limit verdict
///   #       (B)      (us)      (us)   (GB/s)   (GB/s)
///      67108864   1714.70    432.95    73.38   290.63 0.252 0.372 low
///
/// `ratio` is measured / expected busbw; below `limit` it is low. Where out of place and in place
/// are far apart, each has a line, which says `out` or `in`. With several logs, a line for each of
/// them comes first.
void add_logs(const std::vector<DiagnosedLog>& logs, Answer& answer);
/// All causes in a table, which only pages have.
AnswerSection cause_section(const Diagnosis& diagnosis);
/// Adds what only pages have of a log: its calls as charts.
void add_log_page(const DiagnosedLog& log, Answer& answer);
/// All of the answer.
Answer answer_of(const std::vector<DiagnosedLog>& logs, const std::string& command);

}  // namespace collsim::command
