// A diagnosis for programs: JSON, JUnit's XML, Prometheus' text.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <pugixml.hpp>

#include "sim/base/clean_text.h"
#include "sim/base/json_text.h"
#include "sim/plan/collective.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

Record record_of(const RecordedCall& call) {
  return {{"collective", to_string(call.collective)},
          {"nodes", call.nodes},
          {"ranks", call.ranks},
          {"in_place", call.in_place},
          {"environment", call.variables}};
}

Record record_of(const NextMeasurement& next) {
  Record record = record_of(next.call);
  for (const FittedCause& each : next.causes) record["causes"].push_back(each.hypothesis.cause);
  record["size_bytes"] = next.size.count;
  record["first_us"] = in_microseconds(next.first);
  record["second_us"] = in_microseconds(next.second);
  return record;
}

Record record_of(const DiagnosedLog& log) {
  const Diagnosis& diagnosis = log.diagnosis;
  Record record{{"log", log.name},
                {"machine", log.machine},
                {"calibration", log.calibration},
                {"nccl_version", log.nccl},
                {"verdict", to_string(diagnosis.verdict)},
                {"reason", reason_of(diagnosis)}};
  record["series"] = Record::array();
  for (const RecordedCall& call : diagnosis.calls) record["series"].push_back(record_of(call));
  Table sizes;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    add_size(size, diagnosis.calls[size.series], sizes);
  }
  record["sizes"] = std::move(sizes.rows);
  record["causes"] = Record::array();
  for (const CauseGroup& group : diagnosis.causes) {
    Record causes = Record::array();
    for (const FittedCause& cause : group.causes) causes.push_back(cause_record(cause));
    record["causes"].push_back({{"likelihood", group.likelihood}, {"causes", causes}});
  }
  record["likelihood_of_healthy"] = diagnosis.likelihood_of_healthy;
  record["likelihood_of_none"] = diagnosis.likelihood_of_none;
  record["unpriced_settings"] = diagnosis.unpriced;
  record["next"] = diagnosis.next ? record_of(*diagnosis.next) : Record();
  record["contradictions"] = diagnosis.contradictions;
  record["gains"] = diagnosis.gains;
  record["notes"] = diagnosis.notes;
  record["hosts"] = log.run.hosts;
  record["beside_like"] = log.beside_like > 0 ? Record(log.beside_like) : Record();
  record["suspects"] = log.suspects;
  return record;
}

/// A label's value: `\`, `"` and line ends are escaped.
std::string label_text(const std::string& text) {
  std::string escaped;
  for (const char letter : clean_text(text)) {
    if (letter == '\\' || letter == '"') escaped += '\\';
    if (letter == '\n')
      escaped += "\\n";
    else
      escaped += letter;
  }
  return escaped;
}

std::string first_cause(const Diagnosis& diagnosis) {
  if (diagnosis.causes.empty()) return {};
  const FittedCause& cause = diagnosis.causes.front().causes.front();
  return fmt::format("; likeliest cause: {}", describe(cause.hypothesis, cause.value));
}

std::string labels_of(const DiagnosedLog& log) {
  return fmt::format("log=\"{}\",machine=\"{}\"", label_text(log.name), label_text(log.machine));
}

void print_metric_head(std::string_view name, std::string_view help, std::ostream& out) {
  fmt::print(out, "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

}  // namespace

void add_size(const DiagnosedSize& size, const RecordedCall& call, Table& table) {
  const double factor = busbw_factor(call.collective, call.ranks);
  const auto busbw = [&](Seconds time) {
    return factor * in_gigabytes_per_second(size.point.size / time);
  };
  NewRow add(table);
  add.data("series", size.series);
  add({"size_bytes", "size", "(B)"}, size.point.size.count);
  add({"measured_us", "measured", "(us)"}, in_microseconds(size.point.measured));
  add.data("out_of_place_us", microseconds_or_null(size.point.places[0]));
  add.data("in_place_us", microseconds_or_null(size.point.places[1]));
  add({"expected_us", "expected", "(us)"}, in_microseconds(size.expected));
  add({"bound_us", "bound", "(us)", 2, 1, wide_only}, in_microseconds(size.bound));
  add({"measured_busbw_GBps", "measured", "(GB/s)"}, busbw(size.point.measured));
  add({"expected_busbw_GBps", "expected", "(GB/s)"}, busbw(size.expected));
  add({"ratio", "ratio"}, size.ratio());
  add({"limit", "limit"}, size.limit());
  add.data("healthy_from", size.healthy_from());
  add({"trust", "trust", "", 2, 1, wide_only}, to_string(size.trust));
  add.data("medium", size.medium.name);
  add({"verdict", "verdict"}, to_string(size.verdict));
}

Record cause_record(const FittedCause& cause) {
  return {{"cause", cause.hypothesis.cause},
          {"text", describe(cause.hypothesis, cause.value)},
          {"value", cause.hypothesis.parameter ? Record(cause.value) : Record()},
          {"places", cause.hypothesis.alike},
          {"likelihood", cause.likelihood},
          {"residual", cause.residual},
          {"log_likelihood", cause.log_likelihood},
          {"simulated", cause.simulated},
          {"check", cause.hypothesis.check},
          {"remedy", cause.hypothesis.remedy}};
}

Record diagnosis_record(const std::vector<DiagnosedLog>& logs) {
  Record root{{"collsim_version", COLLSIM_VERSION}, {"verdict", to_string(verdict_of(logs))}};
  root["logs"] = Record::array();
  for (const DiagnosedLog& log : logs) root["logs"].push_back(record_of(log));
  return root;
}

namespace {

/// XML 1.0 has no control characters but tab and line ends.
void set(pugi::xml_node element, const char* attribute, const std::string& text) {
  element.append_attribute(attribute) = clean_text(text).c_str();
}

pugi::xml_node add_case(pugi::xml_node suite, const std::string& group, const std::string& name) {
  pugi::xml_node added = suite.append_child("testcase");
  set(added, "classname", group);
  set(added, "name", name);
  return added;
}

/// How many cases failed.
int add_cases(const DiagnosedLog& log, pugi::xml_node suite) {
  const Diagnosis& diagnosis = log.diagnosis;
  if (diagnosis.sizes.empty()) {  // one case, which fails with the reason
    set(add_case(suite, log.name, "log").append_child("failure"), "message",
        fmt::format("{}: {}", to_string(diagnosis.verdict), reason_of(diagnosis)));
    return 1;
  }
  int failures = 0;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    const Collective collective = diagnosis.calls[size.series].collective;
    pugi::xml_node added = add_case(suite, fmt::format("{}.{}", log.name, to_string(collective)),
                                    fmt::format("{} B", size.point.size.count));
    if (diagnosis.verdict == Verdict::healthy || size.verdict == Verdict::healthy) continue;
    ++failures;
    set(added.append_child("failure"), "message",
        fmt::format("{}: busbw is {:.2f} of the expected{}", to_string(size.verdict), size.ratio(),
                    first_cause(diagnosis)));
  }
  return failures;
}

}  // namespace

void print_diagnosis_junit(const std::vector<DiagnosedLog>& logs, std::ostream& out) {
  pugi::xml_document document;
  pugi::xml_node suites = document.append_child("testsuites");
  for (const DiagnosedLog& log : logs) {
    pugi::xml_node suite = suites.append_child("testsuite");
    set(suite, "name", log.name);
    suite.append_attribute("tests") = std::max<std::size_t>(1, log.diagnosis.sizes.size());
    suite.append_attribute("failures");
    suite.attribute("failures") = add_cases(log, suite);
  }
  document.save(out, "  ");
}

void print_diagnosis_prometheus(const std::vector<DiagnosedLog>& logs, std::ostream& out) {
  print_metric_head("collsim_diagnose_busbw_ratio", "Measured over expected busbw.", out);
  for (const DiagnosedLog& log : logs) {
    for (const DiagnosedSize& size : log.diagnosis.sizes) {
      const RecordedCall& call = log.diagnosis.calls[size.series];
      fmt::print(out,
                 "collsim_diagnose_busbw_ratio{{{},series=\"{}\",collective=\"{}\","
                 "ranks=\"{}\",size_bytes=\"{}\"}} {:.6g}\n",
                 labels_of(log), size.series, to_string(call.collective), call.ranks,
                 size.point.size.count, size.ratio());
    }
  }
  print_metric_head("collsim_diagnose_verdict", "1 for the verdict of a log, else 0.", out);
  for (const DiagnosedLog& log : logs) {
    for (const Verdict verdict : all_verdicts) {
      fmt::print(out, "collsim_diagnose_verdict{{{},verdict=\"{}\"}} {}\n", labels_of(log),
                 to_string(verdict), verdict == log.diagnosis.verdict ? 1 : 0);
    }
  }
  print_metric_head("collsim_diagnose_cause_likelihood",
                    "Likelihood of a cause; those of one group cannot be told apart.", out);
  for (const DiagnosedLog& log : logs) {
    std::size_t number = 0;
    for (const CauseGroup& group : log.diagnosis.causes) {
      for (const FittedCause& cause : group.causes) {
        fmt::print(out,
                   "collsim_diagnose_cause_likelihood{{{},group=\"{}\",cause=\"{}\","
                   "text=\"{}\"}} {:.6g}\n",
                   labels_of(log), number, cause.hypothesis.cause,
                   label_text(describe(cause.hypothesis, cause.value)), group.likelihood);
      }
      ++number;
    }
  }
}

}  // namespace collsim::command
