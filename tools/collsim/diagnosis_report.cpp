#include "tools/collsim/diagnosis_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "sim/plan/collective.h"
#include "tools/collsim/wrap.h"

namespace collsim::command {

namespace {

constexpr std::size_t most_groups = 5;
constexpr double least_likelihood = 0.01;

double busbw(const RecordedCall& call, Bytes size, Seconds time) {
  return in_gigabytes_per_second(size / time) * busbw_factor(call.collective, call.ranks);
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
  fmt::print(out, "#{:>11} {:>10} {:>10} {:>8} {:>8} {:>6} {:>6} {}\n", "size", "measured",
             "expected", "measured", "expected", "ratio", "limit", "verdict");
  fmt::print(out, "#{:>11} {:>10} {:>10} {:>8} {:>8}\n", "(B)", "(us)", "(us)", "(GB/s)", "(GB/s)");
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.series != series) continue;
    const Bytes bytes = size.point.size;
    fmt::print(out, "{:>12} {:>10.2f} {:>10.2f} {:>8.2f} {:>8.2f} {:>6.2f} {:>6.2f} {}\n",
               bytes.count, in_microseconds(size.point.measured), in_microseconds(size.expected),
               busbw(call, bytes, size.point.measured), busbw(call, bytes, size.expected),
               size.ratio(), std::exp(-size.spread), to_string(size.verdict));
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
    if (printed > 0 && (printed == most_groups || group.likelihood < least_likelihood)) break;
    print_group(group, out);
    ++printed;
  }
  if (diagnosis.likelihood_of_none >= least_likelihood) {
    fmt::print(out, "{:>4.0f} % none of these\n", 100 * diagnosis.likelihood_of_none);
  }
  out << wrapped(diagnosis.causes.front().causes.front().hypothesis.check, "check: ", "  ");
  if (diagnosis.next) out << wrapped(text_of(*diagnosis.next, diagnosis), "next: ", "  ");
}

void print_log(const DiagnosedLog& log, std::ostream& out) {
  const Diagnosis& diagnosis = log.diagnosis;
  out << wrapped(fmt::format("collsim {}: {} on {}, as NCCL {} runs it; calibration {}",
                             COLLSIM_VERSION, log.name, log.machine, log.nccl, log.calibration),
                 "# ", "#   ");
  for (std::size_t series = 0; series < diagnosis.calls.size(); ++series) {
    const bool any = std::any_of(diagnosis.sizes.begin(), diagnosis.sizes.end(),
                                 [&](const DiagnosedSize& size) { return size.series == series; });
    if (any) print_sizes(diagnosis, series, out);
  }
  out << wrapped(fmt::format("{}: {}", to_string(diagnosis.verdict), reason_of(diagnosis)),
                 "verdict: ", "  ");
  print_causes(diagnosis, out);
  for (const std::string& text : diagnosis.contradictions) out << wrapped(text, "log: ", "  ");
  for (const std::string& text : diagnosis.notes) out << wrapped(text, "note: ", "  ");
}

}  // namespace

std::string name_of(const RecordedCall& call) {
  return fmt::format("{}, {} host{}, {} ranks", to_string(call.collective), call.nodes,
                     call.nodes == 1 ? "" : "s", call.ranks);
}

std::string reason_of(const Diagnosis& diagnosis) {
  std::size_t count = 0;
  const DiagnosedSize* worst = nullptr;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.verdict != diagnosis.verdict) continue;
    ++count;
    if (worst == nullptr || size.ratio() < worst->ratio()) worst = &size;
  }
  if (diagnosis.verdict == Verdict::healthy) {
    const std::string low =
        count == diagnosis.sizes.size() ? "" : "; single low sizes do not count";
    return fmt::format("{} of {} sizes are within what is known of this machine{}", count,
                       diagnosis.sizes.size(), low);
  }
  if (diagnosis.verdict == Verdict::wrong) {
    return fmt::format(
        "{} of {} sizes have wrong results (#wrong): a GPU, a link or memory "
        "corrupts data, and no time counts",
        count, diagnosis.sizes.size());
  }
  if (diagnosis.verdict == Verdict::impossible) {
    const DiagnosedSize* first = nullptr;
    for (const DiagnosedSize& size : diagnosis.sizes) {
      if (size.verdict == Verdict::impossible) first = &size;
    }
    return fmt::format(
        "{} of {} sizes are faster than the links of this machine allow, such as {} "
        "B in {:.2f} us of at least {:.2f}: the log is of another machine (-t), or "
        "its figures are wrong",
        count, diagnosis.sizes.size(), first->point.size.count,
        in_microseconds(first->point.fastest), in_microseconds(first->bound));
  }
  if (worst == nullptr) {
    return "no size is beyond the limit, but the log shows a cause that explains its times better";
  }
  return fmt::format("{} of {} sizes; worst {} B: {:.2f} of the expected busbw", count,
                     diagnosis.sizes.size(), worst->point.size.count, worst->ratio());
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
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return ratio_of(a->diagnosis) < ratio_of(b->diagnosis);
  });
  out << "\n# all logs, the slowest first: measured / expected busbw, in the middle\n";
  for (const DiagnosedLog* log : sorted) {
    fmt::print(out, "{:>6.2f} {:<10} {}\n", ratio_of(log->diagnosis),
               to_string(log->diagnosis.verdict), log->name);
  }
}

}  // namespace collsim::command
