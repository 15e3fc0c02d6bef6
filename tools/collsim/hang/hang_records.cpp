// What dumps say, for programs.

#include <ostream>

#include "sim/base/json_text.h"
#include "tools/collsim/hang/hang_report.h"
#include "tools/collsim/hang/hang_words.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

std::string_view word_of(Progress progress) {
  switch (progress) {
    case Progress::absent:
      return "never issued";
    case Progress::pending:
      return "not completed";
    case Progress::completed:
      return "completed";
  }
  return {};
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

}  // namespace

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

}  // namespace collsim::command
