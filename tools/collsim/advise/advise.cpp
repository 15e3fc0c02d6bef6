#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "models/call/rank_gpus.h"
#include "models/faults/machine_faults.h"
#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "sim/base/text.h"
#include "sim/base/text_stream.h"
#include "tools/collsim/advise/advice.h"
#include "tools/collsim/advise/candidate_settings.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// What is asked, and what names its calls.
struct AdviceSubject {
  std::vector<CallRequest> questions;  ///< one for each collective
  CallList calls;
  std::vector<std::string> call_names;  ///< in order
};

std::string call_name(const AdviceSubject& subject, const CallRequest& request, Bytes size) {
  const std::string text = to_string(size);
  return subject.questions.size() == 1
             ? text
             : fmt::format("{} of {}", to_string(request.scenario.collective), text);
}

CallList calls_of(const std::vector<CallRequest>& questions) {
  CallList calls;
  for (const CallRequest& request : questions) {
    calls.items.push_back({spec_of(request, request.scenario.runs.front()), sizes_of(request)});
  }
  return calls;
}

AdviceSubject read_subject(po::variables_map values, std::ostream& err) {
  std::vector<std::string> names{""};
  const bool named = values.count("collective") != 0;
  if (named) names = split(values["collective"].as<std::string>(), ',');
  const bool has_factor = values.count("stepfactor") != 0 || values.count("stepbytes") != 0 ||
                          values.count("scenario") != 0;
  AdviceSubject subject;
  subject.questions.reserve(names.size());  // the calls refer to them
  for (const std::string& name : names) {
    if (named) values.find("collective")->second.value() = name;
    subject.questions.push_back(read_request(values, err));
    CallRequest& request = subject.questions.back();
    if (!has_factor) request.scenario.sizes.factor = 4;  // as near as advice needs
    if (request.scenario.runs.front().schedule != ScheduleKind::nccl) {
      throw InputError("advise: NCCL's settings do not change a textbook's schedule",
                       "ask about calls as NCCL runs them");
    }
  }
  if (subject.questions.empty()) throw InputError("no collective", "-c all_reduce,all_gather");
  for (const CallRequest& request : subject.questions) {
    for (const Bytes size : sizes_of(request)) {
      subject.call_names.push_back(call_name(subject, request, size));
    }
  }
  subject.calls = calls_of(subject.questions);
  return subject;
}

TriedChange setting_change(const AdviceSubject& subject, const std::string& name,
                           const std::string& value) {
  const std::map<std::string, std::string> variables{{name, value}};
  return {fmt::format("{}={}", name, value), variables, with_variables(subject.calls, variables)};
}

/// The number at the end of "node1/nic3" where it names a NIC.
std::optional<std::string> nic_number(const std::string& device) {
  const std::size_t nic = device.find("nic");
  if (nic == std::string::npos) return std::nullopt;
  const std::string number = device.substr(nic + 3);
  const bool digits = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return digits ? std::optional(number) : std::nullopt;
}

/// Settings that the machine suggests, and those that avoid NICs with faults.
std::vector<TriedChange> setting_changes(const AdviceSubject& subject) {
  std::vector<TriedChange> changes;
  std::set<std::string> seen;
  for (const CallList::Item& item : subject.calls.items) {
    for (const CandidateSetting& each : candidate_settings(item.spec)) {
      if (seen.insert(each.name + each.value).second) {
        changes.push_back(setting_change(subject, each.name, each.value));
      }
    }
  }
  for (const Fault& fault : subject.questions.front().scenario.faults) {
    for (const auto& [name, other] : fault.names) {
      const auto number = nic_number(name);
      if (!number) continue;
      const std::string value = "^=mlx5_" + *number;
      if (seen.insert(value).second) {
        changes.push_back(setting_change(subject, "NCCL_IB_HCA", value));
      }
    }
  }
  return changes;
}

/// The machine without each of its faults.
std::vector<TriedChange> fault_changes(const AdviceSubject& subject) {
  std::vector<TriedChange> changes;
  const CallRequest& request = subject.questions.front();
  for (std::size_t i = 0; i < request.scenario.faults.size(); ++i) {
    std::vector<Fault> others = request.scenario.faults;
    const std::string text = fmt::format("without the fault '{}'", others[i].text);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    TriedChange change{text, {}, subject.calls};
    for (CallList::Item& item : change.calls.items) {
      item.spec.faults =
          find_faults(others, request.topology, request.ranks, request.scenario.seed);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

/// As many ranks, on more or fewer nodes.
std::vector<TriedChange> placement_changes(const AdviceSubject& subject) {
  std::vector<TriedChange> changes;
  const CallRequest& request = subject.questions.front();
  const Rank nodes = request.topology.node_count();
  const auto per_node = static_cast<Rank>(request.topology.gpus().size() / nodes);
  for (Rank each = per_node; each >= 1; --each) {
    if (request.ranks % each != 0 || request.ranks / each > nodes) continue;
    const auto gpus = first_gpus(request.topology, request.ranks, each);
    if (gpus == request.gpus) continue;
    const Rank used = request.ranks / each;
    TriedChange change{
        fmt::format("ranks on {} node{}, {} on each", used, used == 1 ? "" : "s", each),
        {},
        subject.calls};
    for (CallList::Item& item : change.calls.items) item.spec.gpus = gpus;
    changes.push_back(std::move(change));
  }
  return changes;
}

/// "-12.3 %", "+31.0 %", "7.60 times".
std::string change_text(double ratio) {
  if (ratio >= 2) return fmt::format("{:.2f} times", ratio);
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

/// A line of a table whose rows have sentences under them.
Note unwrapped(std::string line) {
  return {"", std::move(line)};
}

/// A change and what it does: of several calls the mean, the least and the most.
Note effect_note(const Advice& advice, const std::vector<std::string>& calls) {
  const Effect& effect = advice.effect;
  std::string line = fmt::format("  {:<30} {:>11}", advice.text, change_text(effect.mean));
  if (calls.size() > 1) {
    line += fmt::format(" {:>11} at {}, {} at {}", change_text(effect.min), calls[effect.min_at],
                        change_text(effect.max), calls[effect.max_at]);
  }
  return unwrapped(std::move(line));
}

/// The same in a sentence.
std::string effect_sentence(const Advice& advice, const std::vector<std::string>& calls) {
  const Effect& effect = advice.effect;
  std::string text = change_text(effect.mean);
  if (calls.size() > 1) {
    text += fmt::format(" ({} at {}, {} at {})", change_text(effect.min), calls[effect.min_at],
                        change_text(effect.max), calls[effect.max_at]);
  }
  return text;
}

std::string collectives_of(const AdviceSubject& subject, const char* between) {
  std::vector<std::string> names;
  for (const CallRequest& each : subject.questions) {
    names.emplace_back(to_string(each.scenario.collective));
  }
  return fmt::format("{}", fmt::join(names, between));
}

std::vector<std::string> head_of(const AdviceSubject& subject, const CallTimes& times) {
  const CallRequest& request = subject.questions.front();
  std::vector<std::string> texts{
      fmt::format("collsim {}: advice for {} on {}, {} ranks", COLLSIM_VERSION,
                  collectives_of(subject, ", "), request.topology.name(), request.ranks),
      fmt::format("{}; calibration {}", describe(request.scenario.runs.front()),
                  request.cost.name)};
  for (const Fault& fault : request.scenario.faults) texts.push_back("fault: " + fault.text);
  const auto first = times.times.front();
  const auto last = times.times.back();
  const bool one = times.times.size() == 1;
  texts.push_back(one ? fmt::format("{} takes {} now", subject.call_names.front(), to_string(first))
                      : fmt::format("{} calls, from {} ({} now) to {} ({} now)", times.times.size(),
                                    subject.call_names.front(), to_string(first),
                                    subject.call_names.back(), to_string(last)));
  texts.emplace_back(one ? "change of the time, simulated"
                         : "change of the time, simulated: mean of all calls; least and most of "
                           "one");
  return texts;
}

/// The changes with a verdict, the quickest first.
AnswerSection advice_section(const char* title, const AdviceSubject& subject,
                             const std::vector<Advice>& advices, SettingVerdict verdict) {
  std::vector<const Advice*> these;
  for (const Advice& each : advices) {
    if (verdict_of(each) == verdict) these.push_back(&each);
  }
  std::stable_sort(these.begin(), these.end(), [](const Advice* a, const Advice* b) {
    return a->effect.mean < b->effect.mean;
  });
  AnswerSection section{fmt::format("{}:", title)};
  if (these.empty()) section.notes.emplace_back("none of what was tried", "  ", "  ");
  for (const Advice* const each : these) {
    section.notes.push_back(effect_note(*each, subject.call_names));
    if (!each->reason.empty()) section.notes.emplace_back(each->reason, "      ", "      ");
  }
  return section;
}

AnswerSection unchanged_section(const std::vector<Advice>& advices) {
  std::vector<std::string> texts;
  double largest = 0;
  for (const Advice& each : advices) {
    if (verdict_of(each) != SettingVerdict::nothing) continue;
    texts.push_back(each.text);
    largest = std::max({largest, each.effect.max - 1, 1 - each.effect.min});
  }
  AnswerSection section{
      fmt::format("change nothing here (at most {:.2f} % in any call):", 100 * largest)};
  if (!texts.empty())
    section.notes.emplace_back(fmt::format("{}", fmt::join(texts, ", ")), "  ", "  ");
  return section;
}

/// What is to be said of changes of which nothing is known.
AnswerSection unknown_section(const char* title, const std::vector<Advice>& advices,
                              std::string Advice::*why) {
  AnswerSection section{title};
  for (const Advice& each : advices) {
    if ((each.*why).empty()) continue;
    section.notes.emplace_back(fmt::format("{}: {}", each.text, each.*why), "  ", "    ");
  }
  return section;
}

/// The changes by what they do.
std::vector<AnswerSection> advice_sections(const AdviceSubject& subject,
                                           const std::vector<Advice>& advices,
                                           const std::optional<Advice>& together) {
  AnswerSection faster = advice_section("faster", subject, advices, SettingVerdict::helps);
  if (together) {
    faster.notes.emplace_back(fmt::format("together: {}: {}", together->text,
                                          effect_sentence(*together, subject.call_names)),
                              "  ", "    ");
  }
  return {std::move(faster),
          advice_section("faster and slower, by the call", subject, advices, SettingVerdict::mixed),
          advice_section("slower", subject, advices, SettingVerdict::harms),
          unchanged_section(advices),
          unknown_section("cannot tell what these do here:", advices, &Advice::unmodelled),
          unknown_section("cannot run here:", advices, &Advice::problem)};
}

/// What is said of a pasted setting: its verdict, with the figure that there is for it.
Note judged_note(const AdviceSubject& subject, const JudgedSetting& judged) {
  std::string text(to_string(judged.verdict));
  const bool has_figure = judged.advice && judged.advice->problem.empty() &&
                          judged.verdict != SettingVerdict::not_modelled;
  if (has_figure && judged.verdict != SettingVerdict::nothing) {
    text += fmt::format(", {}", effect_sentence(*judged.advice, subject.call_names));
  }
  if (has_figure && judged.verdict == SettingVerdict::nothing) {
    const Effect& effect = judged.advice->effect;
    text += fmt::format(", at most {:.2f} %", 100 * std::max(effect.max - 1, 1 - effect.min));
  }
  const std::string setting = fmt::format("{}={}", judged.setting.name, judged.setting.value);
  return unwrapped(fmt::format("line {:>3}  {:<34} {}", judged.setting.line, setting, text));
}

AnswerSection judgement_section(const AdviceSubject& subject, const Judgement& judgement) {
  AnswerSection section;
  section.apart = true;
  for (const JudgedSetting& each : judgement.lines) {
    section.notes.push_back(judged_note(subject, each));
    if (!each.note.empty()) section.notes.emplace_back(each.note, "          ", "          ");
  }
  if (judgement.together && judgement.together->problem.empty()) {
    section.notes.emplace_back(effect_sentence(*judgement.together, subject.call_names),
                               "all together  ", "  ");
  } else if (judgement.together) {
    section.notes.emplace_back("all together cannot run: " + judgement.together->problem, "", "  ");
  }
  return section;
}

Record note_of(const Advice* advice) {
  if (advice == nullptr) return {};
  for (const std::string* text : {&advice->problem, &advice->unmodelled, &advice->reason}) {
    if (!text->empty()) return *text;
  }
  return {};
}

Record advice_row(const AdviceSubject& subject, const std::string& kind, const std::string& change,
                  SettingVerdict verdict, const Advice* advice) {
  const bool known = advice != nullptr && advice->problem.empty() && advice->unmodelled.empty();
  Record row{{"kind", kind},
             {"line", Record()},
             {"change", change},
             {"verdict", to_string(verdict)},
             {"mean_ratio", known ? Record(advice->effect.mean) : Record()},
             {"least_ratio", known ? Record(advice->effect.min) : Record()},
             {"least_at", known ? Record(subject.call_names[advice->effect.min_at]) : Record()},
             {"most_ratio", known ? Record(advice->effect.max) : Record()},
             {"most_at", known ? Record(subject.call_names[advice->effect.max_at]) : Record()},
             {"note", note_of(advice)}};
  const CallRequest& request = subject.questions.front();
  row.update(context_of(request, &request.scenario.runs.front()));
  row["collective"] = collectives_of(subject, ",");
  return row;
}

std::vector<Record> rows_of_judgement(const AdviceSubject& subject, const Judgement& judgement) {
  std::vector<Record> rows;
  for (const JudgedSetting& each : judgement.lines) {
    rows.push_back(advice_row(subject, "line",
                              fmt::format("{}={}", each.setting.name, each.setting.value),
                              each.verdict, each.advice ? &*each.advice : nullptr));
    rows.back()["line"] = each.setting.line;
    if (!each.note.empty()) rows.back()["note"] = each.note;
  }
  if (judgement.together) {
    rows.push_back(advice_row(subject, "together", judgement.together->text,
                              verdict_of(*judgement.together), &*judgement.together));
  }
  return rows;
}

std::vector<Record> rows_of_advices(const AdviceSubject& subject,
                                    const std::vector<Advice>& advices,
                                    const std::optional<Advice>& together) {
  std::vector<Record> rows;
  rows.reserve(advices.size() + 1);
  for (const Advice& each : advices) {
    rows.push_back(advice_row(subject, each.variables.empty() ? "other" : "setting", each.text,
                              verdict_of(each), &each));
  }
  if (together) {
    rows.push_back(
        advice_row(subject, "together", together->text, verdict_of(*together), &*together));
  }
  return rows;
}

TextFile read_settings(const std::string& name) {
  if (name != "-") return read_text_file(name, "a text with NCCL_ settings");
  return read_text_stream(std::cin, "standard input");
}

void judge_settings(const AdviceSubject& subject, Adviser& adviser, const std::string& file,
                    std::ostream& out, std::ostream& err) {
  const std::vector<PastedSetting> settings = read_pasted_settings(read_settings(file));
  if (settings.empty()) {
    throw InputError(fmt::format("no NCCL_ setting in {}", file),
                     "lines such as export NCCL_ALGO=Ring, -e NCCL_ALGO=Ring or NCCL_ALGO: Ring");
  }
  const Judgement judgement = [&] {
    const Waiting waiting(err, fmt::format("trying {} settings", settings.size()));
    return judge(adviser, settings);
  }();
  Answer answer;
  answer.head(comments(head_of(subject, adviser.times())));
  answer.sections.push_back(judgement_section(subject, judgement));
  answer.rows = rows_of_judgement(subject, judgement);
  write_answer(subject.questions.front().format, answer, out);
}

void give_advice(const AdviceSubject& subject, Adviser& adviser, std::ostream& out,
                 std::ostream& err) {
  std::vector<TriedChange> changes = setting_changes(subject);
  for (const auto& others : {placement_changes(subject), fault_changes(subject)}) {
    changes.insert(changes.end(), others.begin(), others.end());
  }
  const auto answers = [&] {
    const Waiting waiting(err, fmt::format("trying {} changes", changes.size()));
    std::vector<Advice> all = adviser.advise(changes);
    std::optional<Advice> best = adviser.best_together(all);
    return std::pair(std::move(all), std::move(best));
  }();
  const std::vector<Advice>& advices = answers.first;
  const std::optional<Advice>& together = answers.second;
  Answer answer;
  answer.head(comments(head_of(subject, adviser.times())));
  for (AnswerSection& section : advice_sections(subject, advices, together)) {
    answer.sections.push_back(std::move(section));
  }
  answer.rows = rows_of_advices(subject, advices, together);
  write_answer(subject.questions.front().format, answer, out);
}

int run_advise(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(advise_subcommand, args, out);
  if (!values) return exit_ok;
  const AdviceSubject subject = read_subject(*values, err);
  heed_schedules(advise_subcommand, *values, subject.questions.front());
  Adviser adviser(subject.calls, processors());
  if (values->count("settings") != 0) {
    judge_settings(subject, adviser, (*values)["settings"].as<std::string>(), out, err);
  } else {
    give_advice(subject, adviser, out, err);
  }
  return exit_ok;
}

}  // namespace

const Subcommand advise_subcommand{
    .name = "advise",
    .summary = "which NCCL settings, placements and faults change the time, by how much",
    .usages = {"[MACHINE|SCENARIO] [options]"},
    .answers =
        "Says which NCCL settings and placements of ranks change the time of the calls, by how "
        "much, and which change nothing here. Each is tried alone, and so is the machine without "
        "its faults.",
    .manual =
        "-c takes several collectives. --settings judges a block of settings line by line. "
        "docs/advise.md explains the output.\n" +
        std::string(call_manual),
    .examples = {"advise dgx-h100-x4 -c all_reduce -b 1M -e 1G",
                 "advise hgx-h200 -c all_reduce,all_gather,reduce_scatter -b 64M",
                 "advise dgx-h100-x4 -b 256M --fault 'link: node1/nic3, bandwidth: 10%'",
                 "advise dgx-h100-x4 -b 1M -e 1G --settings job.sh"},
    .argument = "scenario",
    .first = "topology ranks collective minbytes maxbytes env nccl-version fault settings format",
    .modes = call_modes(size_options() + "settings", "", ""),
    .formats = formats_of_rows(),
    .run = run_advise,
};

}  // namespace collsim::command
