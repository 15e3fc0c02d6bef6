#include "tools/collsim/hang/hang_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/words.h"
#include "tools/collsim/hang/hang_words.h"

namespace collsim::command {

namespace {

/// A table of more rows is not read.
constexpr std::size_t max_rows = 24;

/// The first calls that members of a communicator have not completed: by communicator and record.
using FirstPending = std::map<std::pair<std::size_t, std::size_t>, const JobCall*>;

FirstPending first_pending(const Job& job) {
  FirstPending first;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> runs;
  for (const JobCall& call : job.calls) {
    for (const Participation& part : call.participants) {
      if (part.progress != Progress::pending) continue;
      const std::pair key(call.communicator, part.record);
      const auto known = runs.find(key);
      if (known != runs.end() && known->second <= part.run) continue;
      runs[key] = part.run;
      first[key] = &call;
    }
  }
  return first;
}

/// Ranks of a communicator that are in the same state.
struct CommunicatorRow {
  std::size_t communicator = 0;
  std::vector<std::uint32_t> ranks;
  std::int64_t completed = 0;         ///< sequence number of the last completed collective
  const JobCall* waits_in = nullptr;  ///< the oldest call that has not completed, or nothing
  bool has_dump = true;
};

/// The ranks of all communicators by state, in the order of the communicators.
std::vector<CommunicatorRow> communicator_rows(const Job& job) {
  const FirstPending pending = first_pending(job);
  std::vector<CommunicatorRow> rows;
  for (std::size_t i = 0; i < job.communicators.size(); ++i) {
    const JobCommunicator& communicator = job.communicators[i];
    std::map<std::pair<std::int64_t, const JobCall*>, std::size_t> places;
    for (std::size_t k = 0; k < communicator.members.size(); ++k) {
      const std::size_t record = communicator.members[k];
      const auto found = pending.find({i, record});
      const JobCall* const call = found == pending.end() ? nullptr : found->second;
      const std::int64_t completed = job.states[i][k].completed;
      const auto [place, is_new] = places.emplace(std::pair(completed, call), rows.size());
      if (is_new) rows.push_back({i, {}, completed, call, true});
      rows[place->second].ranks.push_back(job.records[record].rank);
    }
    if (!communicator.undumped.empty()) {
      rows.push_back({i, communicator.undumped, 0, nullptr, false});
    }
  }
  return rows;
}

std::string_view word_of(Progress progress) {
  return word_for(progress, {{Progress::absent, "never issued"},
                             {Progress::pending, "not completed"},
                             {Progress::completed, "completed"}});
}

Record call_record(const Job& job, std::size_t index) {
  const JobCall& call = job.calls[index];
  Record record{{"communicator", job.communicators[call.communicator].name},
                {"description", job.communicators[call.communicator].description}};
  if (call.is_exchange) {
    record["sender"] = call.sender;
    record["receiver"] = call.receiver;
  }
  record["number"] = call.sequence;
  return record;
}

Record group_record(const Job& job, const HangGroup& group) {
  Record record{{"ranks", group.ranks},
                {"state", word_of(group.progress)},
                {"call", call_record(job, group.call)}};
  if (group.entry == nullptr) return record;
  const FlightShape& shape = group.entry->shape;
  record["operation"] = shape.operation;
  record["input_elements"] = shape.inputs;
  record["output_elements"] = shape.outputs;
  record["input_types"] = shape.input_types;
  record["output_types"] = shape.output_types;
  if (group.entry->frame) {
    record["file"] = group.entry->frame->file;
    record["line"] = group.entry->frame->line;
    record["function"] = group.entry->frame->function;
  }
  return record;
}

Record finding_record(const Job& job, const HangFinding& finding) {
  Record record{{"verdict", to_string(finding.verdict)},
                {"ranks", finding.suspects},
                {"call", call_record(job, finding.call)},
                {"text", explanation_of(job, finding)},
                {"check", check_of(finding.verdict)}};
  record["groups"] = Record::array();
  for (const HangGroup& group : finding.groups)
    record["groups"].push_back(group_record(job, group));
  record["waiting"] = finding.waiting;
  record["without_dump"] = finding.undumped;
  record["waited_s"] = finding.waited ? Record(finding.waited->value) : Record();
  record["timeout_s"] = finding.timeout ? Record(finding.timeout->value) : Record();
  return record;
}

Record row_record(const Job& job, const CommunicatorRow& row) {
  const JobCommunicator& communicator = job.communicators[row.communicator];
  return {
      {"communicator", communicator.name},
      {"description", communicator.description},
      {"ranks", row.ranks},
      {"has_dump", row.has_dump},
      {"completed", row.completed},
      {"waits_in", row.waits_in == nullptr ? Record() : Record(short_call_words(*row.waits_in))}};
}

/// As JSON has it.
Record hang_record(const Job& job, const HangAnalysis& analysis) {
  Record record{{"verdict", to_string(analysis.verdict)},
                {"is_hang", is_hang(analysis.verdict)},
                {"text", headline_of(job, analysis)},
                {"dumps", job.records.size()},
                {"without_dump", job.undumped}};
  record["findings"] = Record::array();
  for (const HangFinding& finding : analysis.findings) {
    record["findings"].push_back(finding_record(job, finding));
  }
  record["communicators"] = Record::array();
  for (const CommunicatorRow& row : communicator_rows(job)) {
    record["communicators"].push_back(row_record(job, row));
  }
  return record;
}

std::vector<Note> finding_notes(const Job& job, const HangFinding& finding) {
  std::vector<Note> notes{{explanation_of(job, finding), "  ", "  "}};
  for (const HangGroup& group : finding.groups) {
    notes.emplace_back(group_words(job, group), "  - ", "    ");
  }
  const std::string check(check_of(finding.verdict));
  if (!check.empty()) notes.emplace_back(check, "  check: ", "    ");
  return notes;
}

/// Communicators that a table shows: those in which somebody waits or is behind, or that a finding
/// is about.
std::set<std::size_t> shown_communicators(const Job& job, const HangAnalysis& analysis,
                                          const std::vector<CommunicatorRow>& rows) {
  std::set<std::size_t> shown;
  for (const CommunicatorRow& row : rows) {
    if (row.waits_in != nullptr) shown.insert(row.communicator);
  }
  for (const HangFinding& finding : analysis.findings) {
    shown.insert(job.calls[finding.call].communicator);
  }
  return shown;
}

std::string name_of(const JobCommunicator& communicator) {
  std::string name = communicator.name;
  if (!communicator.description.empty() && communicator.description != "undefined") {
    name += fmt::format(" {}", communicator.description);
  }
  return name;
}

Table row_table(const Job& job, const std::set<std::size_t>& shown,
                const std::vector<CommunicatorRow>& rows) {
  constexpr std::size_t widest_name = 34;
  constexpr std::size_t widest_ranks = 16;
  const auto cut = [](std::string text, std::size_t width) {
    if (text.size() > width) text = fmt::format("{}...", text.substr(0, width - 3));
    return text;
  };
  Table table;
  table.max_rows = max_rows;
  for (const CommunicatorRow& row : rows) {
    if (!shown.contains(row.communicator)) continue;
    const bool any = row.has_dump && row.completed > 0;
    const std::string state = row.waits_in == nullptr ? "-" : short_call_words(*row.waits_in);
    NewRow add(table);
    add({"communicator", "communicator"},
        cut(name_of(job.communicators[row.communicator]), widest_name));
    add({"ranks", "ranks"}, cut(rank_ranges(row.ranks), widest_ranks));
    add({"completed", "completed"}, any ? fmt::format("#{}", row.completed) : "-");
    add({"waits_in", "waits in"}, row.has_dump ? state : "(no dump)");
  }
  return table;
}

}  // namespace

Answer hang_answer(const Job& job, const HangAnalysis& analysis) {
  Answer answer;
  answer.document = hang_record(job, analysis);
  std::vector<Note> notes{{headline_of(job, analysis), "", "  "}};
  for (std::size_t i = 0; i < analysis.findings.size(); ++i) {
    const HangFinding& finding = analysis.findings[i];
    if (i > 0) {
      notes.emplace_back(
          fmt::format("{}: {}", to_string(finding.verdict), rank_words(finding.suspects)), "also ",
          "  ");
    }
    for (Note& note : finding_notes(job, finding)) notes.push_back(std::move(note));
  }
  if (!job.undumped.empty()) {
    notes.emplace_back(fmt::format("no dump of {}", rank_words(job.undumped)), "", "  ");
  }
  answer.head(std::move(notes));
  const std::vector<CommunicatorRow> rows = communicator_rows(job);
  const std::set<std::size_t> shown = shown_communicators(job, analysis, rows);
  const std::size_t hidden = job.communicators.size() - shown.size();
  AnswerSection section{"", {}, {}, {row_table(job, shown, rows)}};
  section.apart = !shown.empty();
  if (hidden > 0) {
    section.after.emplace_back(fmt::format("{} {}communicator{}: nobody waits", hidden,
                                           shown.empty() ? "" : "other ", hidden == 1 ? "" : "s"));
  }
  answer.sections.push_back(std::move(section));
  return answer;
}

}  // namespace collsim::command
