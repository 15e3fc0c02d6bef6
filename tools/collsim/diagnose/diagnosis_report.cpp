#include "tools/collsim/diagnose/diagnosis_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "sim/plan/collective.h"
#include "tools/collsim/core/wrap.h"

namespace collsim::command {

namespace {

constexpr std::size_t max_groups = 5;
constexpr double min_likelihood = 0.01;

double busbw(const RecordedCall& call, Bytes size, Seconds time) {
  return in_gigabytes_per_second(size / time) * busbw_factor(call.collective, call.ranks);
}

/// With the place, where that is one alone.
std::string verdict_text(const DiagnosedSize& size) {
  std::string text(to_string(size.verdict));
  if (size.point.in_place) text += *size.point.in_place ? " in" : " out";
  return text;
}

void print_sizes(const Diagnosis& diagnosis, std::size_t series, std::ostream& out) {
  const RecordedCall& call = diagnosis.calls[series];
  fmt::print(out, "#\n# {}", name_of(call));
  std::string settings;
  for (const auto& [name, value] : call.variables) settings += fmt::format(" {}={}", name, value);
  if (!settings.empty())
    out << "\n" << wrapped(settings, "#  ", "#   ");
  else
    out << "\n";
  fmt::print(out, "#{:>10} {:>10} {:>10} {:>8} {:>8} {:>5} {:>5} {}\n", "size", "measured",
             "expected", "measured", "expected", "ratio", "limit", "verdict");
  fmt::print(out, "#{:>10} {:>10} {:>10} {:>8} {:>8}\n", "(B)", "(us)", "(us)", "(GB/s)", "(GB/s)");
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.series != series) continue;
    const Bytes bytes = size.point.size;
    fmt::print(out, "{:>11} {:>10.2f} {:>10.2f} {:>8.2f} {:>8.2f} {:>5.2f} {:>5.2f} {}\n",
               bytes.count, in_microseconds(size.point.measured), in_microseconds(size.expected),
               busbw(call, bytes, size.point.measured), busbw(call, bytes, size.expected),
               size.ratio(), size.limit(), verdict_text(size));
  }
}

void print_group(const CauseGroup& group, std::ostream& out) {
  const FittedCause& first = group.causes.front();
  out << wrapped(fmt::format("{} (off by {:.0f} %{})", describe(first.hypothesis, first.value),
                             100 * first.residual, first.simulated ? "" : ", estimated"),
                 fmt::format("{:>4.0f} % ", 100 * group.likelihood), "       ");
  if (group.causes.size() == 1) return;
  out << "       or, which these sizes cannot tell from it:\n";
  for (std::size_t i = 1; i < group.causes.size(); ++i) {
    const FittedCause& other = group.causes[i];
    out << wrapped(describe(other.hypothesis, other.value), "       - ", "         ");
  }
}

void print_causes(const Diagnosis& diagnosis, std::ostream& out) {
  if (diagnosis.causes.empty()) return;
  out << "causes, by likelihood:\n";
  std::size_t printed = 0;
  for (const CauseGroup& group : diagnosis.causes) {
    if (printed > 0 && (printed == max_groups || group.likelihood < min_likelihood)) break;
    print_group(group, out);
    ++printed;
  }
  if (diagnosis.likelihood_of_none >= min_likelihood) {
    fmt::print(out, "{:>4.0f} % none of these\n", 100 * diagnosis.likelihood_of_none);
  }
  out << wrapped(diagnosis.causes.front().causes.front().hypothesis.check, "check: ", "  ");
  if (diagnosis.next) out << wrapped(text_of(*diagnosis.next, diagnosis), "next: ", "  ");
}

void print_log(const DiagnosedLog& log, std::ostream& out) {
  const Diagnosis& diagnosis = log.diagnosis;
  std::string head = fmt::format("collsim {}: {}", COLLSIM_VERSION, log.name);
  if (!log.machine.empty()) {
    head += fmt::format(" on {}, as NCCL {} runs it; calibration {}", log.machine, log.nccl,
                        log.calibration);
  }
  out << wrapped(head, "# ", "#   ");
  for (std::size_t series = 0; series < diagnosis.calls.size(); ++series) {
    const bool any = std::any_of(diagnosis.sizes.begin(), diagnosis.sizes.end(),
                                 [&](const DiagnosedSize& size) { return size.series == series; });
    if (any) print_sizes(diagnosis, series, out);
  }
  out << wrapped(fmt::format("{}: {}", to_string(diagnosis.verdict), reason_of(diagnosis)),
                 "verdict: ", "  ");
  print_causes(diagnosis, out);
  for (const std::string& text : log.suspects) out << wrapped(text, "hosts: ", "  ");
  for (const std::string& text : diagnosis.contradictions) out << wrapped(text, "log: ", "  ");
  for (const std::string& text : diagnosis.notes) out << wrapped(text, "note: ", "  ");
}

}  // namespace

std::string name_of(const RecordedCall& call) {
  return fmt::format("{}, {} host{}, {} ranks", to_string(call.collective), call.nodes,
                     call.nodes == 1 ? "" : "s", call.ranks);
}

namespace {

std::string reason_of_impossible(const Diagnosis& diagnosis, std::size_t count) {
  const DiagnosedSize* last = nullptr;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.verdict == Verdict::impossible) last = &size;
  }
  return fmt::format(
      "{} of {} sizes are faster than the links of this machine allow, such as {} B in {:.2f} us "
      "of "
      "at least {:.2f}: the log is of another machine (-t), its ranks sat on other GPUs than the "
      "first of each host, or its figures are wrong",
      count, diagnosis.sizes.size(), last->point.size.count, in_microseconds(last->point.fastest),
      in_microseconds(last->bound));
}

/// Of the size that is farthest off, of those with the log's verdict.
std::string reason_of_ratio(const Diagnosis& diagnosis, std::size_t count,
                            const DiagnosedSize& farthest) {
  std::string reason = fmt::format(
      "{} of {} sizes; {} {} B: {:.2f} of the expected busbw", count, diagnosis.sizes.size(),
      diagnosis.verdict == Verdict::not_this_machine ? "fastest" : "worst",
      farthest.point.size.count, farthest.ratio());
  if (diagnosis.verdict == Verdict::cannot_tell) {
    reason += fmt::format(
        "; with what is known of this machine or release, it is healthy from {:.2f} and low below "
        "{:.2f}",
        farthest.healthy_from(), farthest.limit());
  }
  if (diagnosis.verdict == Verdict::not_this_machine) {
    reason +=
        "; the log is of another machine (-t), or its ranks sat on other GPUs than the first of "
        "each "
        "host";
  }
  return reason;
}

}  // namespace

std::string reason_of(const Diagnosis& diagnosis) {
  if (!diagnosis.reason.empty()) return diagnosis.reason;
  const bool is_fast = diagnosis.verdict == Verdict::not_this_machine;
  std::size_t count = 0;
  const DiagnosedSize* farthest = nullptr;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.verdict != diagnosis.verdict) continue;
    ++count;
    const bool is_farther = farthest == nullptr || (is_fast ? size.ratio() > farthest->ratio()
                                                            : size.ratio() < farthest->ratio());
    if (is_farther) farthest = &size;
  }
  if (diagnosis.verdict == Verdict::healthy) {
    const std::string low =
        count == diagnosis.sizes.size() ? "" : "; single sizes beyond that do not count";
    return fmt::format("{} of {} sizes are within what is known of this machine{}", count,
                       diagnosis.sizes.size(), low);
  }
  if (diagnosis.verdict == Verdict::impossible) return reason_of_impossible(diagnosis, count);
  if (farthest == nullptr) {
    return "no size is beyond the limit, but the log shows a cause that explains its times better";
  }
  return reason_of_ratio(diagnosis, count, *farthest);
}

std::string text_of(const NextMeasurement& next, const Diagnosis& diagnosis) {
  std::vector<const FittedCause*> causes;
  for (const CauseGroup& group : diagnosis.causes) {
    for (const FittedCause& cause : group.causes) causes.push_back(&cause);
  }
  const auto figure = [&](Seconds time) {
    return fmt::format("{:.1f} GB/s ({:.0f} us)", busbw(next.call, next.size, time),
                       in_microseconds(time));
  };
  return fmt::format("run {} of {} on {} host{}, {} ranks: {} with \"{}\", {} with \"{}\"",
                     to_string(next.call.collective), to_string(next.size), next.call.nodes,
                     next.call.nodes == 1 ? "" : "s", next.call.ranks, figure(next.first),
                     describe(causes[0]->hypothesis, causes[0]->value), figure(next.second),
                     describe(causes[1]->hypothesis, causes[1]->value));
}

double ratio_of(const Diagnosis& diagnosis) {
  if (diagnosis.sizes.empty()) return std::nan("");
  std::vector<double> ratios;
  for (const std::int64_t least : {std::int64_t{1} << 20, std::int64_t{0}}) {
    for (const DiagnosedSize& size : diagnosis.sizes) {
      if (size.point.size.count >= least) ratios.push_back(size.ratio());
    }
    if (!ratios.empty()) break;
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios[ratios.size() / 2];
}

bool is_slower(const DiagnosedLog* a, const DiagnosedLog* b) {
  const auto place = [](const DiagnosedLog* log) {
    const double ratio = ratio_of(log->diagnosis);
    return std::isnan(ratio) ? -1 : ratio;
  };
  return place(a) < place(b);
}

Verdict verdict_of(const std::vector<DiagnosedLog>& logs) {
  Verdict worst = Verdict::healthy;
  for (const DiagnosedLog& log : logs) worst = std::max(worst, log.diagnosis.verdict);
  return worst;
}

void print_diagnosis_table(const std::vector<DiagnosedLog>& logs, std::ostream& out) {
  for (const DiagnosedLog& log : logs) {
    if (&log != &logs.front()) out << "\n";
    print_log(log, out);
  }
  if (logs.size() < 2) return;
  std::vector<const DiagnosedLog*> sorted;
  sorted.reserve(logs.size());
  for (const DiagnosedLog& log : logs) sorted.push_back(&log);
  std::stable_sort(sorted.begin(), sorted.end(), is_slower);
  out << "\n# all logs, the slowest first: measured / expected busbw, in the middle\n";
  for (const DiagnosedLog* log : sorted) {
    const double ratio = ratio_of(log->diagnosis);
    fmt::print(out, "{:>6} {:<16} {}\n",
               std::isnan(ratio) ? std::string("-") : fmt::format("{:.2f}", ratio),
               to_string(log->diagnosis.verdict), log->name);
  }
  std::vector<std::string> suspects;
  for (const DiagnosedLog* log : sorted) {
    for (const std::string& text : log->suspects) {
      if (std::find(suspects.begin(), suspects.end(), text) == suspects.end()) {
        suspects.push_back(text);
      }
    }
  }
  for (const std::string& text : suspects) out << wrapped(text, "hosts: ", "  ");
}

}  // namespace collsim::command
