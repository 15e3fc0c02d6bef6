#include "tools/collsim/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "models/nccl/function.h"
#include "sim/algorithms/nccl_plan.h"
#include "sim/collective.h"
#include "tools/collsim/records.h"

namespace collsim::command {

namespace {

struct Rates {
  double algbw = 0;  // GB/s
  double busbw = 0;
  double wirebw = 0;
};

Rates rates_of(const Section& section, const Prediction& prediction) {
  if (prediction.size.count == 0 || prediction.time.value == 0) return {};
  const double algbw = in_gigabytes_per_second(prediction.size / prediction.time);
  const Question& question = *section.question;
  const double busbw = algbw * busbw_factor(question.scenario.collective, question.ranks);
  return {algbw, busbw, prediction.wire_factor ? algbw * *prediction.wire_factor : busbw};
}

bool is_under_nccl(const RunSpec& run) {
  return run.schedule == ScheduleKind::nccl;
}

/// Whether some algorithm that NCCL may run here carries other bytes than busbw says.
bool wire_differs(const Question& question, const RunSpec& run) {
  if (!is_under_nccl(run)) return false;
  const Collective collective = question.scenario.collective;
  const auto forced = find_nccl_run(run.algorithm);
  return std::any_of(
      all_nccl_algorithms.begin(), all_nccl_algorithms.end(), [&](NcclAlgorithm algorithm) {
        return (!forced || algorithm == *forced) && !why_no_nccl_plan(collective, algorithm) &&
               wire_factor(collective, algorithm, question.ranks) !=
                   busbw_factor(collective, question.ranks);
      });
}

bool shows_estimate(const Question& question, const RunSpec& run) {
  return is_under_nccl(run) && (question.nccl_estimate || run.measured);
}

/// As nccl-tests prints them: root -1 and redop none where there is none.
std::int64_t root_of(const Question& question) {
  return has_root(question.scenario.collective) ? std::int64_t{question.scenario.root} : -1;
}
std::string_view redop_of(const Question& question) {
  return sums(question.scenario.collective) ? "sum" : "none";
}

/// Median, over the rows of a band of sizes, of the error's size.
struct Band {
  std::string_view name;
  Bytes from;
  Bytes to;
};

constexpr std::array bands{
    Band{"below 64 KiB", {0}, {64 << 10}},
    Band{"64 KiB to 1 MiB", {64 << 10}, {1 << 20}},
    Band{"1 MiB to 64 MiB", {1 << 20}, {64 << 20}},
    Band{"from 64 MiB", {64 << 20}, {std::int64_t{1} << 62}},
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// All faults in one field.
std::string faults_text(const Scenario& scenario) {
  std::string text;
  for (const Fault& fault : scenario.faults) {
    text += (text.empty() ? "" : "; ") + fault.text;
  }
  return text;
}

class TableReport final : public Report {
 public:
  explicit TableReport(std::ostream& out) : out_(out) {}

  void begin(const Section& section) override {
    section_ = section;
    rows_.clear();
    const RunSpec& run = *section.run;
    print_head(section, out_);
    if (run.measured) {
      fmt::print(out_, "# measured: {} in {}\n", run.measured->id,
                 run.measured->file.filename().string());
    }
    print_titles({"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "wirebw",
                  "bound", "algo", "proto", "ch", "nccl's", "measured", "error"});
    print_titles({"(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(GB/s)", "(us)", "",
                  "", "", "own (us)", "(us)", "(%)"});
  }

  void add(const Row& row) override {
    const Prediction& prediction = row.prediction;
    const Rates rates = rates_of(section_, prediction);
    fmt::print(out_, " {:>12} {:>12} {:>7} {:>6} {:>5} {:>11.2f} {:>8.2f} {:>8.2f}",
               prediction.size.count, prediction.size.count / float_size.count, "float",
               redop_of(*section_.question), root_of(*section_.question),
               in_microseconds(prediction.time), rates.algbw, rates.busbw);
    if (shows_wirebw()) fmt::print(out_, " {:>8.2f}", rates.wirebw);
    fmt::print(out_, " {:>11.2f}", in_microseconds(prediction.bounds.largest()));
    if (is_under_nccl(*section_.run)) {
      fmt::print(out_, " {:>14} {:>6} {:>3}", prediction.algorithm, to_string(prediction.protocol),
                 prediction.channels);
    }
    if (shows_estimate(*section_.question, *section_.run)) {
      fmt::print(out_, " {:>11}",
                 prediction.nccl_estimate
                     ? fmt::format("{:.2f}", in_microseconds(*prediction.nccl_estimate))
                     : "-");
    }
    if (row.measured) {
      fmt::print(out_, " {:>11.2f} {:>+8.1f}", in_microseconds(*row.measured),
                 100 * relative_error(row));
    } else if (section_.run->measured) {
      fmt::print(out_, " {:>11} {:>8}", "-", "-");
    }
    fmt::print(out_, "\n");
    out_.flush();
    rows_.push_back(row);
  }

  void end() override {
    if (section_.run->measured) print_errors();
    fmt::print(out_, "\n");
  }

 private:
  /// One line of titles, one for every column that there may be.
  void print_titles(const std::array<std::string_view, 16>& titles) {
    const bool nccl = is_under_nccl(*section_.run);
    const bool estimate = shows_estimate(*section_.question, *section_.run);
    const bool measured = section_.run->measured.has_value();
    const bool first = titles[0] == "size";
    constexpr std::array widths{12, 12, 7, 6, 5, 11, 8, 8, 8, 11, 14, 6, 3, 11, 11, 8};
    constexpr std::size_t wirebw = 8;
    constexpr std::size_t algorithm = 10;
    constexpr std::size_t own = 13;
    std::string line = first ? "#\n#" : "#";
    for (std::size_t i = 0; i < titles.size(); ++i) {
      const bool shown = i == wirebw     ? shows_wirebw()
                         : i < algorithm ? true
                         : i < own       ? nccl
                         : i == own      ? estimate
                                         : measured;
      if (shown) line += fmt::format("{}{:>{}}", i == 0 ? "" : " ", titles[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(out_, "{}\n", line);
  }

  bool shows_wirebw() const { return wire_differs(*section_.question, *section_.run); }

  void print_errors() {
    fmt::print(out_, "#\n# error against the measured times, median of |error| (worst):");
    for (const Band& band : bands) {
      std::vector<double> errors;
      for (const Row& row : rows_) {
        if (!row.measured || row.prediction.size < band.from || row.prediction.size >= band.to) {
          continue;
        }
        errors.push_back(100 * std::abs(relative_error(row)));
      }
      if (errors.empty()) continue;
      const double worst = *std::max_element(errors.begin(), errors.end());
      fmt::print(out_, "\n#   {:<16} {:>5.1f} % ({:.1f} %)", band.name, median(errors), worst);
    }
    fmt::print(out_, "\n");
  }

  std::ostream& out_;
  Section section_;
  std::vector<Row> rows_;
};

/// The columns of CSV and JSON, in order: the same ones whatever is asked.
Record record_of(const Section& section, const Row& row) {
  const Question& question = *section.question;
  const Prediction& prediction = row.prediction;
  const Rates rates = rates_of(section, prediction);
  Record record{
      {"size_bytes", prediction.size.count},
      {"count", prediction.size.count / float_size.count},
      {"type", "float"},
      {"redop", redop_of(question)},
      {"root", root_of(question)},
      {"nranks", question.ranks},
      {"algorithm", prediction.algorithm},
      {"protocol", to_string(prediction.protocol)},
      {"channels", prediction.channels},
      {"time_us", in_microseconds(prediction.time)},
      {"algbw_GBps", rates.algbw},
      {"busbw_GBps", rates.busbw},
      {"bound_us", in_microseconds(prediction.bounds.largest())},
      {"engine", section.engine},
      {"schedule", to_string(*section.run->schedule)},
      {"calibration", question.cost.calibration},
      {"wirebw_GBps", prediction.wire_factor ? Record(rates.wirebw) : Record()},
      {"nccl_estimate_us", microseconds_or_null(prediction.nccl_estimate)},
      {"measured_us", microseconds_or_null(row.measured)},
      {"error", row.measured ? Record(relative_error(row)) : Record()},
  };
  record.update(context_of(question, section.run));
  return record;
}

class RecordReport final : public Report {
 public:
  RecordReport(Format format, std::ostream& out) : writer_(format, out) {}

  void begin(const Section& section) override { section_ = section; }
  void add(const Row& row) override { writer_.add(record_of(section_, row)); }
  void end() override {}
  void finish() override { writer_.finish(); }

 private:
  RecordWriter writer_;
  Section section_;
};

}  // namespace

std::string describe(const RunSpec& run) {
  if (run.schedule == ScheduleKind::textbook) {
    return fmt::format("textbook schedule, algorithm {}, protocol {}, {} channel{}", run.algorithm,
                       to_string(run.protocol.value_or(Protocol::simple)), run.channels,
                       run.channels == 1 ? "" : "s");
  }
  std::string text = fmt::format("as NCCL {} runs it", to_string(run.nccl_version));
  if (run.algorithm != "auto") text += fmt::format(", algorithm {}", run.algorithm);
  if (run.in_place) text += ", in place";
  if (run.graph) text += ", in a CUDA graph";
  for (const auto& [name, value] : run.variables) text += fmt::format(", {}={}", name, value);
  return text;
}

Record context_of(const Question& question, const RunSpec* run) {
  const bool by_nccl = run != nullptr && is_under_nccl(*run);
  return {{"machine", question.topology.name()},
          {"collective", to_string(question.scenario.collective)},
          {"nranks", question.ranks},
          {"faults", faults_text(question.scenario)},
          {"nccl_version", by_nccl ? Record(to_string(run->nccl_version)) : Record()},
          {"collsim_version", COLLSIM_VERSION}};
}

void print_head(const Section& section, std::ostream& out) {
  const Question& question = *section.question;
  fmt::print(out, "# collsim {}: {} on {}, {} rank{}\n", COLLSIM_VERSION,
             to_string(question.scenario.collective), question.topology.name(), question.ranks,
             question.ranks == 1 ? "" : "s");
  fmt::print(out, "# {}; engine {}; calibration {}\n", describe(*section.run), section.engine,
             question.cost.calibration);
  for (const Fault& fault : question.scenario.faults) {
    fmt::print(out, "# fault: {}\n", fault.text);
  }
}

double relative_error(const Row& row) {
  return (row.prediction.time.value - row.measured->value) / row.measured->value;
}

std::unique_ptr<Report> make_report(Format format, std::ostream& out) {
  switch (format) {
    case Format::table:
      return std::make_unique<TableReport>(out);
    case Format::csv:
    case Format::json:
      return std::make_unique<RecordReport>(format, out);
  }
  return nullptr;
}

}  // namespace collsim::command
