#include "tools/collsim/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/collective.h"

namespace collsim::command {

namespace {

struct Rates {
  double algbw = 0;  // GB/s
  double busbw = 0;
};

Rates rates_of(const Section& section, const Prediction& prediction) {
  if (prediction.size.count == 0 || prediction.time.value == 0) return {};
  const double algbw = in_gigabytes_per_second(prediction.size / prediction.time);
  const Question& question = *section.question;
  return {algbw, algbw * busbw_factor(question.scenario.collective, question.ranks)};
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

class TableReport final : public Report {
 public:
  explicit TableReport(std::ostream& out) : out_(out) {}

  void begin(const Section& section) override {
    section_ = section;
    rows_.clear();
    const Question& question = *section.question;
    const RunSpec& run = *section.run;
    fmt::print(out_, "# {} on {}, {} ranks\n", to_string(question.scenario.collective),
               question.topology.name(), question.ranks);
    fmt::print(out_, "# {}; engine {}; calibration {}\n", describe(run), section.engine,
               question.cost.calibration);
    if (run.measured) {
      fmt::print(out_, "# measured: {} in {}\n", run.measured->id,
                 run.measured->file.filename().string());
    }
    fmt::print(out_, "#\n#{:>12} {:>12} {:>7} {:>6} {:>5} {:>11} {:>8} {:>8} {:>11}", "size",
               "count", "type", "redop", "root", "time", "algbw", "busbw", "bound");
    if (under_nccl())
      fmt::print(out_, " {:>4} {:>6} {:>3} {:>11}", "algo", "proto", "ch", "nccl's");
    if (run.measured) fmt::print(out_, " {:>11} {:>8}", "measured", "error");
    fmt::print(out_, "\n#{:>12} {:>12} {:>7} {:>6} {:>5} {:>11} {:>8} {:>8} {:>11}", "(B)",
               "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)");
    if (under_nccl()) fmt::print(out_, " {:>4} {:>6} {:>3} {:>11}", "", "", "", "own (us)");
    if (run.measured) fmt::print(out_, " {:>11} {:>8}", "(us)", "(%)");
    fmt::print(out_, "\n");
  }

  void add(const Row& row) override {
    const Prediction& prediction = row.prediction;
    const Rates rates = rates_of(section_, prediction);
    fmt::print(out_, " {:>12} {:>12} {:>7} {:>6} {:>5} {:>11.2f} {:>8.2f} {:>8.2f} {:>11.2f}",
               prediction.size.count, prediction.size.count / element_size.count, "float",
               redop_of(*section_.question), root_of(*section_.question),
               in_microseconds(prediction.time), rates.algbw, rates.busbw,
               in_microseconds(prediction.bounds.largest()));
    if (under_nccl()) {
      fmt::print(out_, " {:>4} {:>6} {:>3} {:>11.2f}", prediction.algorithm,
                 to_string(prediction.protocol), prediction.channels,
                 in_microseconds(prediction.nccl_estimate.value_or(Seconds{})));
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
  bool under_nccl() const { return section_.run->schedule == ScheduleKind::nccl; }

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

/// The columns of CSV and JSON, in order.
nlohmann::ordered_json fields(const Section& section, const Row& row) {
  const Question& question = *section.question;
  const Prediction& prediction = row.prediction;
  const Rates rates = rates_of(section, prediction);
  nlohmann::ordered_json json{
      {"size_bytes", prediction.size.count},
      {"count", prediction.size.count / element_size.count},
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
  };
  return json;
}

/// A value, or null.
nlohmann::ordered_json microseconds_or_null(const std::optional<Seconds>& time) {
  if (!time) return {};
  return in_microseconds(*time);
}

void add_measured(nlohmann::ordered_json& json, const Row& row) {
  json["measured_us"] = microseconds_or_null(row.measured);
  json["error"] =
      row.measured ? nlohmann::ordered_json(relative_error(row)) : nlohmann::ordered_json();
}

/// Whether any run of the question is so: all its rows then have the same columns.
template <typename Predicate>
bool any_run(const Section& section, Predicate predicate) {
  const auto& runs = section.question->scenario.runs;
  return std::any_of(runs.begin(), runs.end(), predicate);
}
bool is_measured(const RunSpec& run) {
  return run.measured.has_value();
}
bool is_under_nccl(const RunSpec& run) {
  return run.schedule == ScheduleKind::nccl;
}

nlohmann::ordered_json all_fields(const Section& section, const Row& row) {
  nlohmann::ordered_json json = fields(section, row);
  if (any_run(section, is_under_nccl)) {
    json["nccl_estimate_us"] = microseconds_or_null(row.prediction.nccl_estimate);
  }
  if (any_run(section, is_measured)) add_measured(json, row);
  return json;
}

class CsvReport final : public Report {
 public:
  explicit CsvReport(std::ostream& out) : out_(out) {}

  void begin(const Section& section) override { section_ = section; }

  void add(const Row& row) override {
    const nlohmann::ordered_json json = all_fields(section_, row);
    if (!header_written_) {
      write_line(json, [](const auto& item) { return item.key(); });
      header_written_ = true;
    }
    write_line(json, [](const auto& item) { return text(item.value()); });
    out_.flush();
  }

  void end() override {}

 private:
  static std::string text(const nlohmann::ordered_json& value) {
    if (value.is_null()) return "";
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return fmt::format("{:.9g}", value.get<double>());
    return value.dump();
  }

  template <typename ToText>
  void write_line(const nlohmann::ordered_json& json, ToText to_text) {
    const char* separator = "";
    for (const auto& item : json.items()) {
      fmt::print(out_, "{}{}", separator, to_text(item));
      separator = ",";
    }
    fmt::print(out_, "\n");
  }

  std::ostream& out_;
  Section section_;
  bool header_written_ = false;
};

class JsonReport final : public Report {
 public:
  explicit JsonReport(std::ostream& out) : out_(out) {}

  void begin(const Section& section) override { section_ = section; }

  void add(const Row& row) override {
    const nlohmann::ordered_json json = all_fields(section_, row);
    fmt::print(out_, "{}  {}", first_ ? "[\n" : ",\n", json.dump());
    out_.flush();
    first_ = false;
  }

  void end() override {}
  void finish() override { out_ << (first_ ? "[]\n" : "\n]\n"); }

 private:
  std::ostream& out_;
  Section section_;
  bool first_ = true;
};

}  // namespace

std::string describe(const RunSpec& run) {
  if (run.schedule == ScheduleKind::textbook) {
    return fmt::format("algorithm {}, protocol {}, {} channel{}", run.algorithm,
                       to_string(run.protocol), run.channels, run.channels == 1 ? "" : "s");
  }
  std::string text = fmt::format("as NCCL {} runs it", to_string(run.nccl_version));
  if (run.algorithm != "auto") text += fmt::format(", algorithm {}", run.algorithm);
  for (const auto& [name, value] : run.variables) text += fmt::format(", {}={}", name, value);
  return text;
}

double relative_error(const Row& row) {
  return (row.prediction.time.value - row.measured->value) / row.measured->value;
}

std::unique_ptr<Report> make_report(Format format, std::ostream& out) {
  switch (format) {
    case Format::table:
      return std::make_unique<TableReport>(out);
    case Format::csv:
      return std::make_unique<CsvReport>(out);
    case Format::json:
      return std::make_unique<JsonReport>(out);
  }
  return nullptr;
}

}  // namespace collsim::command
