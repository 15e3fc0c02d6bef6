#include "tools/collsim/diagnose/diagnosis_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <utility>

#include "models/nccl/settings/environment.h"
#include "sim/plan/collective.h"
#include "tools/collsim/diagnose/place_text.h"

namespace collsim::command {

namespace {

constexpr std::size_t max_groups = 5;
constexpr std::size_t max_alike = 6;  // of a group, beside the first
constexpr std::size_t max_logs_in_full = 4;
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

/// What is expected heeds the first ones of a call's settings, and not those after them.
std::string settings_of(const RecordedCall& call, const std::vector<std::string>& unpriced) {
  const std::vector<std::string> modelled = modelled_nccl_variables();
  std::string heeded;
  std::string others;
  for (const auto& [name, value] : call.variables) {
    const std::string text = fmt::format("{}={}", name, value);
    const bool is_heeded = std::find(modelled.begin(), modelled.end(), name) != modelled.end() &&
                           std::find(unpriced.begin(), unpriced.end(), text) == unpriced.end();
    (is_heeded ? heeded : others) += " " + text;
  }
  return others.empty() ? heeded : heeded + " not simulated:" + others;
}

std::vector<Note> group_notes(const CauseGroup& group) {
  const FittedCause& first = group.causes.front();
  std::vector<Note> notes{
      {fmt::format("{} (off by {:.0f} %{})", describe(first.hypothesis, first.value),
                   100 * first.residual, first.simulated ? "" : ", estimated"),
       fmt::format("{:>4.0f} % ", 100 * first.likelihood), "       "}};
  if (group.causes.size() == 1) return notes;
  notes.emplace_back(fmt::format("or, which these sizes cannot tell from it ({:.0f} % together):",
                                 100 * group.likelihood),
                     "       ", "       ");
  for (std::size_t i = 1; i < group.causes.size(); ++i) {
    if (i > max_alike) {
      notes.emplace_back(fmt::format("{} more, whose checks are below", group.causes.size() - i),
                         "       - ", "         ");
      break;
    }
    const FittedCause& other = group.causes[i];
    notes.emplace_back(describe(other.hypothesis, other.value),
                       fmt::format("  {:>4.0f} % - ", 100 * other.likelihood), "           ");
  }
  return notes;
}

/// What to look at for each cause of a group, each once.
std::vector<std::string> checks_of(const CauseGroup& group) {
  std::vector<std::string> checks;
  for (const FittedCause& cause : group.causes) {
    const std::string& check = cause.hypothesis.check;
    if (std::find(checks.begin(), checks.end(), check) == checks.end()) checks.push_back(check);
  }
  return checks;
}

/// Where the likeliest cause may act; empty where that is one place, or no matter.
std::string places_of(const Diagnosis& diagnosis) {
  const Hypothesis& hypothesis = diagnosis.causes.front().causes.front().hypothesis;
  if (hypothesis.alike.size() < 2) return {};
  return fmt::format("{}: this log cannot tell which", places_text(hypothesis.alike));
}

/// What cures the likeliest cause, and what that brings.
std::string remedy_of(const Diagnosis& diagnosis) {
  const FittedCause* const cause = likeliest_cause(diagnosis);
  if (cause == nullptr || cause->hypothesis.remedy.empty()) return {};
  constexpr double sure = 0.8;  // enough to end work on a GPU or to open a host
  if (cause->hypothesis.destroys && cause->likelihood <= sure) return {};
  const auto gain = gain_of(*cause, diagnosis);
  if (!gain) return {};
  const RecordedCall& call = diagnosis.calls.front();
  const Bytes size = gain->size->point.size;
  return fmt::format("{}; simulated: {:.1f} GB/s of {} become {:.1f}", cause->hypothesis.remedy,
                     busbw(call, size, gain->with), to_string(size),
                     busbw(call, size, gain->size->expected));
}

/// The likeliest causes, for a terminal.
std::vector<Note> cause_notes(const Diagnosis& diagnosis) {
  std::vector<Note> notes{"causes, by likelihood:"};
  std::size_t shown = 0;
  for (const CauseGroup& group : diagnosis.causes) {
    if (shown > 0 && (shown == max_groups || group.likelihood < min_likelihood)) break;
    for (Note& note : group_notes(group)) notes.push_back(std::move(note));
    ++shown;
  }
  const auto add = [&](double likelihood, std::string text) {
    if (likelihood < min_likelihood) return;
    notes.emplace_back(std::move(text), fmt::format("{:>4.0f} % ", 100 * likelihood), "       ");
  };
  add(diagnosis.likelihood_of_healthy, "nothing is wrong");
  std::string none = "none of these";
  if (!diagnosis.unpriced.empty()) {
    none +=
        fmt::format(": {} set, whose cost is not simulated", fmt::join(diagnosis.unpriced, ", "));
  }
  add(diagnosis.likelihood_of_none, std::move(none));
  return notes;
}

/// What to do about the causes.
std::vector<Note> remedy_notes(const Diagnosis& diagnosis) {
  std::vector<Note> notes;
  if (const std::string text = places_of(diagnosis); !text.empty()) {
    notes.push_back(labelled("where", "one of " + text));
  }
  for (const std::string& check : checks_of(diagnosis.causes.front())) {
    notes.push_back(labelled("check", check));
  }
  if (const std::string text = remedy_of(diagnosis); !text.empty()) {
    notes.push_back(labelled("remedy", text));
  }
  if (diagnosis.next) notes.push_back(labelled("next", text_of(*diagnosis.next)));
  return notes;
}

/// What the log says of its machine, in one sentence.
std::string verdict_sentence(const Diagnosis& diagnosis) {
  const double ratio = ratio_of(diagnosis);
  std::string loss;
  constexpr double worth_saying = 0.95;  // else a few sizes are low, which the reason says
  if (diagnosis.verdict == Verdict::low && ratio < worth_saying) {
    loss = fmt::format("busbw is {:.0f} % below what is expected; ", 100 * (1 - ratio));
  }
  return fmt::format("{}: {}{}", to_string(diagnosis.verdict), loss, reason_of(diagnosis));
}

std::string head_of(const DiagnosedLog& log) {
  std::string head = fmt::format("collsim {}: {}", COLLSIM_VERSION, log.name);
  if (!log.machine.empty()) {
    head += fmt::format(" on {}, as NCCL {} runs it; calibration {}", log.machine, log.nccl,
                        log.calibration);
  }
  return head;
}

/// What the log shows beside its causes.
std::vector<Note> other_notes(const DiagnosedLog& log) {
  const Diagnosis& diagnosis = log.diagnosis;
  std::vector<Note> notes;
  const auto add = [&](const char* label, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) notes.push_back(labelled(label, text));
  };
  add("hosts", log.suspects);
  add("log", diagnosis.contradictions);
  add("setting", diagnosis.gains);
  if (!diagnosis.unpriced.empty()) {
    add("setting",
        {fmt::format("what is expected is as without {}: what that costs is not simulated",
                     fmt::join(diagnosis.unpriced, ", "))});
  }
  add("note", diagnosis.notes);
  return notes;
}

/// The sizes of one call.
AnswerSection size_section(const Diagnosis& diagnosis, std::size_t series) {
  const RecordedCall& call = diagnosis.calls[series];
  Table table;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.series != series) continue;
    add_size(size, call, table);
    table.rows.back()["verdict"] = verdict_text(size);
  }
  AnswerSection section;
  if (table.rows.empty()) return section;
  section.notes = {comment(""), comment(name_of(call))};
  const std::string settings = settings_of(call, diagnosis.unpriced);
  if (!settings.empty()) section.notes.emplace_back(settings, "#  ", "#   ");
  section.tables.push_back(std::move(table));
  return section;
}

/// A line for each log, the slowest first, and the hosts that explain the slow ones.
AnswerSection summary_of(const std::vector<DiagnosedLog>& logs) {
  Table table;
  AnswerSection section;
  section.notes.push_back(
      comment("all logs, the slowest first: measured / expected busbw, in the middle; busbw of the "
              "fastest log of the same calls that each has"));
  const auto share = [](double value) {
    return std::isnan(value) || value == 0 ? Record() : Record(value);
  };
  std::set<std::string> suspects;
  for (const DiagnosedLog* log : slowest_first(logs)) {
    NewRow add(table);
    add({"ratio", "ratio"}, share(ratio_of(log->diagnosis)));
    add({"like", "like"}, share(log->beside_like));
    add({"verdict", "verdict"}, to_string(log->diagnosis.verdict));
    add({"log", "log"}, log->name);
    for (const std::string& text : log->suspects) {
      if (suspects.insert(text).second) section.after.push_back(labelled("hosts", text));
    }
  }
  section.tables.push_back(std::move(table));
  return section;
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

std::string text_of(const NextMeasurement& next) {
  const auto outcome = [&](const FittedCause& cause, Seconds time) {
    return fmt::format("{:.1f} GB/s ({:.0f} us) with \"{}\"", busbw(next.call, next.size, time),
                       in_microseconds(time), describe(cause.hypothesis, cause.value));
  };
  return fmt::format("run {} of {}: {}, {}", to_string(next.size), name_of(next.call),
                     outcome(next.causes[0], next.first), outcome(next.causes[1], next.second));
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

std::vector<const DiagnosedLog*> slowest_first(const std::vector<DiagnosedLog>& logs) {
  std::vector<const DiagnosedLog*> sorted;
  sorted.reserve(logs.size());
  for (const DiagnosedLog& log : logs) sorted.push_back(&log);
  const auto place = [](const DiagnosedLog* log) {
    const double ratio = ratio_of(log->diagnosis);
    if (!std::isnan(ratio)) return ratio;
    return log->beside_like > 0 ? log->beside_like : -1;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* a, const auto* b) { return place(a) < place(b); });
  return sorted;
}

Verdict verdict_of(const std::vector<DiagnosedLog>& logs) {
  Verdict worst = Verdict::healthy;
  for (const DiagnosedLog& log : logs) worst = std::max(worst, log.diagnosis.verdict);
  return worst;
}

void print_diagnosis_brief(const std::vector<DiagnosedLog>& logs, std::ostream& out) {
  for (const DiagnosedLog& log : logs) {
    const Diagnosis& diagnosis = log.diagnosis;
    std::string line = fmt::format("{}: {}", to_string(diagnosis.verdict), log.name);
    const double ratio = ratio_of(diagnosis);
    if (std::isnan(ratio)) {
      line += ": " + reason_of(diagnosis);
    } else {
      line += fmt::format(": {:.2f} of the expected busbw", ratio);
    }
    if (const FittedCause* const cause = likeliest_cause(diagnosis)) {
      line += fmt::format("; {} ({:.0f} %)", describe(cause->hypothesis, cause->value),
                          100 * cause->likelihood);
    } else if (diagnosis.likelihood_of_healthy > diagnosis.likelihood_of_none) {
      line += fmt::format("; nothing wrong ({:.0f} %)", 100 * diagnosis.likelihood_of_healthy);
    } else if (!diagnosis.causes.empty()) {
      line +=
          fmt::format("; no cause that is known ({:.0f} %)", 100 * diagnosis.likelihood_of_none);
    }
    if (!log.suspects.empty()) line += "; " + log.suspects.front();
    out << line << "\n";
  }
}

namespace {

void add_log(const DiagnosedLog& log, bool alone, Answer& answer) {
  const Diagnosis& diagnosis = log.diagnosis;
  answer.head({comment(head_of(log))});
  answer.sections.back().apart = !alone;
  answer.sections.push_back({"", {}, {labelled("verdict", verdict_sentence(diagnosis))}});
  if (!diagnosis.causes.empty()) {
    answer.head(cause_notes(diagnosis));
    answer.sections.push_back(cause_section(diagnosis));
    answer.sections.push_back({"", {}, remedy_notes(diagnosis)});
  }
  answer.sections.push_back({"", {}, other_notes(log)});
  for (std::size_t series = 0; series < diagnosis.calls.size(); ++series) {
    answer.sections.push_back(size_section(diagnosis, series));
  }
}

}  // namespace

void add_logs(const std::vector<DiagnosedLog>& logs, Answer& answer) {
  if (logs.size() > 1) answer.sections.push_back(summary_of(logs));
  // Of a sweep the table is the answer, with the worst logs beside it. Pages have all.
  const bool is_sweep = logs.size() > max_logs_in_full;
  std::size_t in_full = 0;
  for (const DiagnosedLog* log : slowest_first(logs)) {
    const bool is_left_out =
        is_sweep && (in_full == max_logs_in_full || log->diagnosis.verdict == Verdict::healthy);
    const std::size_t first = answer.sections.size();
    add_log_page(*log, answer);
    add_log(*log, logs.size() == 1, answer);
    if (!is_left_out) {
      ++in_full;
      continue;
    }
    for (std::size_t i = first; i < answer.sections.size(); ++i) {
      AnswerSection& section = answer.sections[i];
      if (section.shown == Shown::everywhere) section.shown = Shown::on_pages;
      if (section.shown == Shown::in_terminal) section = {};
    }
  }
}

}  // namespace collsim::command
