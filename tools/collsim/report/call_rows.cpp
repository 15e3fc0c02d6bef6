#include "tools/collsim/report/call_rows.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <set>
#include <utility>

#include "models/nccl/settings/function.h"
#include "models/validation/score.h"
#include "sim/base/median.h"
#include "sim/base/words.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/plan/collective.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/report/call_report.h"
#include "tools/collsim/report/records.h"

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
  const CallRequest& request = *section.request;
  const double busbw = algbw * busbw_factor(request.scenario.collective, request.ranks);
  return {algbw, busbw, prediction.wire_factor ? algbw * *prediction.wire_factor : busbw};
}

bool is_under_nccl(const RunSpec& run) {
  return run.schedule == ScheduleKind::nccl;
}

/// Whether wirebw and busbw differ for some algorithm that NCCL may run here.
bool wire_differs(const CallRequest& request, const RunSpec& run) {
  if (!is_under_nccl(run)) return false;
  const Collective collective = request.scenario.collective;
  const auto forced = find_nccl_run(run.algorithm);
  return std::any_of(
      all_nccl_algorithms.begin(), all_nccl_algorithms.end(), [&](NcclAlgorithm algorithm) {
        return (!forced || algorithm == *forced) && !why_no_nccl_plan(collective, algorithm) &&
               wire_factor(collective, algorithm, request.ranks, request.ranks) !=
                   busbw_factor(collective, request.ranks);
      });
}

/// As nccl-tests prints them: root -1 and redop none if the collective has none.
std::int64_t root_of(const CallRequest& request) {
  return has_root(request.scenario.collective) ? std::int64_t{request.scenario.root} : -1;
}
std::string_view redop_of(const Section& section) {
  return sums(section.request->scenario.collective) ? to_string(section.run->reduction.op) : "none";
}
std::int64_t count_of(const Section& section, const Prediction& prediction) {
  return prediction.size.count / size_of(section.run->reduction.type).count;
}

/// All faults in one field.
std::string faults_text(const Scenario& scenario) {
  std::string text;
  for (const Fault& fault : scenario.faults) {
    text += (text.empty() ? "" : "; ") + fault.text;
  }
  return text;
}

bool is_analytic(const Section& section) {
  return section.engine == "analytic";
}

std::string_view name_of(EstimateMethod method) {
  return word_for(method, {{EstimateMethod::closed_form, "closed form"},
                           {EstimateMethod::critical_path, "critical path"},
                           {EstimateMethod::simulation, "simulation"},
                           {EstimateMethod::formula, "formula"}});
}

/// Adds the parts of the bounds and of the estimate.
void add_parts(const Row& row, bool is_estimate, Record& record) {
  const Bounds& bounds = row.prediction.bounds;
  const auto& method = row.prediction.method;
  record["method"] = is_estimate && method ? Record(name_of(*method)) : Record();
  const auto& form = row.prediction.form;
  record["form_alpha_us"] = form ? Record(in_microseconds(form->alphas * form->alpha)) : Record();
  record["form_transfer_us"] =
      form ? Record(in_microseconds(form->transfers * form->transfer)) : Record();
  record["bound_bandwidth_us"] = in_microseconds(bounds.bandwidth);
  record["bound_latency_us"] = in_microseconds(bounds.latency);
  const ModelFloor& floor = row.prediction.floor;
  record["floor_busiest_us"] =
      is_estimate ? Record() : Record(in_microseconds(floor.busiest_resource()));
  record["floor_latency_us"] = is_estimate ? Record() : Record(in_microseconds(floor.latency));
}

Record known_error(const CallRequest& request, const Prediction& prediction) {
  const double error =
      typical_error(request.errors, prediction.trust, prediction.medium, prediction.size);
  return error > 0 ? Record(error) : Record();
}

/// All columns of tables. Size, time and busbw are always the first three, so that scripts find
/// them by their number. Ranks: first the answer and its trust, then the algorithm, then columns
/// that follow from others.
std::vector<Column> all_columns() {
  return {
      fixed_column("size_bytes", "size", "(B)", 10, 0, 1),
      fixed_column("time_us", "time", "(us)", 9, 2, 1),
      fixed_column("busbw_GBps", "busbw", "(GB/s)", 6, 2, 1),
      fixed_column("algbw_GBps", "algbw", "(GB/s)", 6, 2, 8),
      fixed_column("wirebw_GBps", "wirebw", "(GB/s)", 6, 2, wide_only),
      fixed_column("count", "count", "(elements)", 11, 0, wide_only),
      fixed_column("type", "type", "", 8, 0, wide_only),
      fixed_column("redop", "redop", "", 5, 0, wide_only),
      fixed_column("root", "root", "", 5, 0, wide_only),
      fixed_column("bound_us", "bound", "(us)", 9, 2, 7),
      fixed_column("schedule", "sched", "", 5, 0, 5),
      fixed_column("algorithm", "algo", "", 9, 0, 2),
      fixed_column("protocol", "proto", "", 6, 0, 6),
      fixed_column("channels", "ch", "", 2, 0, 6),
      fixed_column("nccl_estimate_us", "nccl's", "own (us)", 9, 2, 3),
      fixed_column("measured_us", "measured", "(us)", 9, 2, 3),
      fixed_column("error", "error", "(%)", 6, 0, 3),
      fixed_column("trust", "trust", "", 8, 0, 2),
      fixed_column("time_p10_us", "p10", "(us)", 9, 2, wide_only),
      fixed_column("time_p90_us", "p90", "(us)", 9, 2, wide_only),
      fixed_column("extent", "extent", "", 6, 0, 4),
      fixed_column("classes", "classes", "(ranks)", 7, 0, 7),
      fixed_column("messages", "messages", "", 11, 0, wide_only),
      fixed_column("method", "method", "", 6, 0, 6),
      fixed_column("form_alpha_us", "T = alpha", "(us)", 9, 2, 4),
      fixed_column("form_transfer_us", "+ S/B", "(us)", 9, 2, 4),
      fixed_column("bound_bandwidth_us", "bounds:", "width(us)", 9, 2, wide_only),
      fixed_column("bound_latency_us", "latency", "(us)", 9, 2, wide_only),
      fixed_column("floor_busiest_us", "floor:", "busy (us)", 9, 2, wide_only),
      fixed_column("floor_latency_us", "latency", "(us)", 9, 2, wide_only),
  };
}

/// Whether the column can have a value in this section.
bool applies(const Column& column, const Section& section) {
  const CallRequest& request = *section.request;
  const RunSpec& run = *section.run;
  const std::string& key = column.key;
  if (key == "wirebw_GBps") return wire_differs(request, run);
  if (key == "nccl_estimate_us") {
    return is_under_nccl(run) && (request.nccl_estimate || request.wide);
  }
  if (key == "measured_us" || key == "error") return run.measured.has_value();
  if (key.starts_with("form_")) {
    return is_analytic(section) && run.schedule == ScheduleKind::textbook &&
           request.cost.name == "ideal";
  }
  if (key == "extent" || key == "classes" || key == "messages") return !is_analytic(section);
  if (key == "method") return is_analytic(section);
  if (key.starts_with("floor_")) return !is_analytic(section);
  return true;
}

std::vector<Column> columns_of(const Section& section) {
  std::vector<Column> columns = answer_columns(section);
  for (Column& column : columns) {
    if (column.key == "algorithm") {
      column.width = std::max(column.width, section.run->algorithm.size());
    }
  }
  return section.request->wide ? columns : fitting(std::move(columns));
}

std::string_view short_word_of(std::string_view method) {
  if (method == name_of(EstimateMethod::closed_form)) return "closed";
  if (method == name_of(EstimateMethod::critical_path)) return "path";
  return method == name_of(EstimateMethod::simulation) ? "sim" : "near";
}

/// The same with a table's short words: percent, "text" for a textbook's schedule.
Record for_people(Record record) {
  if (record["schedule"] == to_string(ScheduleKind::textbook)) record["schedule"] = "text";
  if (!record["method"].is_null()) {
    record["method"] = short_word_of(record["method"].get<std::string>());
  }
  if (!record["error"].is_null()) {
    record["error"] = fmt::format("{:+.1f}", 100 * record["error"].get<double>());
  }
  return record;
}

class CallTable final : public CallPrinter {
 public:
  explicit CallTable(std::ostream& out) : out_(out) {}

  void begin(const Section& section) override {
    section_ = section;
    rows_.clear();
    classes_.clear();
    columns_ = columns_of(section);
    print_head(section, out_);
    if (section.run->measured) {
      fmt::print(out_, "# measured: {} in {}\n", section.run->measured->id,
                 section.run->measured->file.filename().string());
    }
    fmt::print(out_, "#\n{}", titles_of(columns_));
  }

  void add(const Row& row) override {
    fmt::print(out_, "{}\n", line_of(columns_, for_people(answer_record(section_, row))));
    out_.flush();
    rows_.push_back(row);
    add_class(section_.request->errors, row.prediction.trust, row.prediction.medium, classes_);
  }

  void end() override {
    if (section_.run->measured) print_errors();
    if (is_analytic(section_)) print_form();
    for (const std::string& text : range_texts(classes_)) out_ << wrapped(text, "# ", "#   ");
    fmt::print(out_, "\n");
  }

 private:
  /// Prints the closed form of the times, and what times without a closed form neglect.
  void print_form() {
    const auto print = [&](const std::string& text) { out_ << wrapped(text, "# ", "#   "); };
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [](const Row& each) { return each.prediction.form.has_value(); });
    if (row != rows_.end()) {
      const FormulaTerms& form = *row->prediction.form;
      print(fmt::format("T = {} = {:g} alpha + {:g} S/B = {} + {} at {}", form.symbols, form.alphas,
                        form.transfers, to_string(form.alphas * form.alpha),
                        to_string(form.transfers * form.transfer),
                        to_string(row->prediction.size)));
    }
    const auto is_any = [this](EstimateMethod method) {
      return std::any_of(rows_.begin(), rows_.end(),
                         [&](const Row& each) { return each.prediction.method == method; });
    };
    if (is_any(EstimateMethod::critical_path)) {
      print(
          "path: messages that share a link count only at the busiest link; `collsim run` "
          "simulates them");
    }
    if (is_any(EstimateMethod::formula)) {
      print("near: close to what `collsim run` simulates (docs/estimate.md)");
    }
    if (is_any(EstimateMethod::simulation)) {
      print("sim: simulated, of large machines some nodes (docs/estimate.md)");
    }
  }

  void print_errors() {
    fmt::print(out_, "#\n# error against the measured times, median of |error| (worst):");
    std::array<std::vector<double>, size_band_count> bands;
    for (const Row& row : rows_) {
      if (!row.measured) continue;
      bands[size_band(row.prediction.size)].push_back(100 * std::abs(relative_error(row)));
    }
    for (std::size_t band = 0; band < size_band_count; ++band) {
      const std::vector<double>& errors = bands[band];
      if (errors.empty()) continue;
      const double worst = *std::max_element(errors.begin(), errors.end());
      fmt::print(out_, "\n#   {:<8} {:>5.1f} % ({:.1f} %)", size_band_names[band], median(errors),
                 worst);
    }
    fmt::print(out_, "\n");
  }

  std::ostream& out_;
  Section section_;
  std::vector<Column> columns_;
  ErrorClasses classes_;  // of the rows
  std::vector<Row> rows_;
};

class CallRecords final : public CallPrinter {
 public:
  CallRecords(Format format, std::ostream& out) : writer_(format, out) {}

  void begin(const Section& section) override { section_ = section; }
  void add(const Row& row) override { writer_.add(answer_record(section_, row)); }
  void end() override {}
  void finish() override { writer_.finish(); }

 private:
  RecordWriter writer_;
  Section section_;
};

}  // namespace

void add_range(const CallRequest& request, const Prediction& prediction, Record& record) {
  const auto range =
      error_range(request.errors, prediction.trust, prediction.medium, prediction.size);
  const double time = in_microseconds(prediction.time);
  record["time_p10_us"] = range ? Record(time * range->low) : Record();
  record["time_p90_us"] = range ? Record(time * range->high) : Record();
  record["medium"] = prediction.medium.name.empty() ? Record() : Record(prediction.medium.name);
}

std::string range_text(const CallRequest& request, const Prediction& prediction) {
  Record range;
  add_range(request, prediction, range);
  if (!range["time_p10_us"].is_number()) return {};
  return fmt::format(", 8 of 10 such times from {:.2f} to {:.2f} us",
                     range["time_p10_us"].get<double>(), range["time_p90_us"].get<double>());
}

std::string model_of(const Section& section) {
  if (section.engine.starts_with("kernels of")) {
    return "GPUs load what is in their peers' memory, by costs fitted to the engine's calls; the "
           "algorithm of that name (-a) sends messages, which take other times";
  }
  if (is_under_nccl(*section.run)) return {};
  // Engines name their kernels so; the table of these would take longer to read than the call.
  if (!section.run->algorithm.ends_with("_shot")) return {};
  return fmt::format(
      "{} sends messages, as a program on NCCL's primitives would; the kernel of that name in "
      "inference engines loads from its peers' memory and takes another time: --kernels vllm",
      section.run->algorithm);
}

Record answer_record(const Section& section, const Row& row) {
  constexpr std::size_t max_fields = 48;
  const CallRequest& request = *section.request;
  const Prediction& prediction = row.prediction;
  const Rates rates = rates_of(section, prediction);
  Record record = Record::object();
  auto& fields = record.get_ref<Record::object_t&>();
  fields.reserve(max_fields);
  // Not by an initializer list, which copies every field twice: long sweeps write many rows.
  const auto put = [&fields](const char* name, Record value) {
    fields.emplace_back(name, std::move(value));
  };
  put("size_bytes", prediction.size.count);
  put("count", count_of(section, prediction));
  put("type", to_string(section.run->reduction.type));
  put("redop", redop_of(section));
  put("root", root_of(request));
  put("nranks", request.ranks);
  put("algorithm", prediction.algorithm);
  put("protocol", to_string(prediction.protocol));
  put("channels", prediction.channels);
  put("time_us", in_microseconds(prediction.time));
  put("algbw_GBps", rates.algbw);
  put("busbw_GBps", rates.busbw);
  put("bound_us", in_microseconds(prediction.bounds.largest()));
  put("engine", section.engine);
  put("schedule", to_string(*section.run->schedule));
  put("calibration", request.cost.name);
  put("wirebw_GBps", prediction.wire_factor ? Record(rates.wirebw) : Record());
  put("nccl_estimate_us", microseconds_or_null(prediction.nccl_estimate));
  put("measured_us", microseconds_or_null(row.measured));
  put("error", row.measured ? Record(relative_error(row)) : Record());
  put("extent", is_analytic(section) ? Record() : Record(extent_of(prediction)));
  put("classes", is_analytic(section) ? Record() : Record(prediction.classes));
  put("messages", is_analytic(section) ? Record() : Record(prediction.transfers));
  put("trust", to_string(prediction.trust));
  put("trust_error", known_error(request, prediction));
  add_range(request, prediction, record);
  add_parts(row, is_analytic(section), record);
  record.update(context_of(request, section.run));
  return record;
}

std::string describe(const RunSpec& run) {
  if (run.schedule == ScheduleKind::textbook) {
    const std::uint32_t channels = run.channels.value_or(1);
    const Chunking chunking = run.chunking.value_or(Chunking{});
    return fmt::format(
        "textbook schedule, algorithm {}, protocol {}, {} channel{}, chunks {}", run.algorithm,
        to_string(run.protocol.value_or(Protocol::simple)), channels, channels == 1 ? "" : "s",
        chunking.largest_chunk.count == 0 ? "unlimited"
                                          : "of " + to_string(chunking.largest_chunk));
  }
  std::string text = fmt::format("as NCCL {} runs it", to_string(run.nccl_version));
  if (run.algorithm != "auto") text += fmt::format(", algorithm {}", run.algorithm);
  if (run.in_place) text += ", in place";
  if (run.graph) text += ", in a CUDA graph";
  for (const auto& [name, value] : run.variables) {
    if (name == "NCCL_ALGO" && run.algorithm != "auto")
      continue;  // the text already has the algorithm
    text += fmt::format(", {}={}", name, value);
  }
  return text;
}

namespace {

std::string describe(const ErrorClass& found) {
  const std::string of_hosts = found.max_hosts == 1 ? ""
                               : found.max_hosts == ErrorClass::any_number
                                   ? ", many hosts"
                                   : fmt::format(", up to {} hosts", found.max_hosts);
  const ErrorRange& large = found.ranges.back();
  ErrorRange small = found.ranges.front();
  for (std::size_t band = 1; band + 1 < found.ranges.size(); ++band) {
    small.low = std::min(small.low, found.ranges[band].low);
    small.high = std::max(small.high, found.ranges[band].high);
  }
  return fmt::format(
      "range: 8 of 10 such times were {:.2f} to {:.2f} of the predicted from 16 MiB, {:.2f} to "
      "{:.2f} below ({}, over {}{}: {} rows of {} machine{})",
      large.low, large.high, small.low, small.high, to_string(found.trust),
      found.medium == "any" ? "any medium" : found.medium, of_hosts, found.rows, found.machines,
      found.machines == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> range_texts(const ErrorClasses& classes) {
  std::vector<std::string> texts;
  for (const ErrorClass* const each : classes) texts.push_back(describe(*each));
  return texts;
}

std::string_view extent_of(const Prediction& prediction) {
  const bool is_estimate = prediction.extent == Extent::part && prediction.method;
  return is_estimate ? "est" : to_string(prediction.extent);
}

Record context_of(const CallRequest& request, const RunSpec* run) {
  const bool by_nccl = run != nullptr && is_under_nccl(*run);
  return {{"machine", request.topology.name()},
          {"collective", to_string(request.scenario.collective)},
          {"nranks", request.ranks},
          {"faults", faults_text(request.scenario)},
          {"nccl_version", by_nccl ? Record(to_string(run->nccl_version)) : Record()},
          {"collsim_version", COLLSIM_VERSION}};
}

void print_head(const Section& section, std::ostream& out) {
  const CallRequest& request = *section.request;
  const auto print = [&](const std::string& text) { out << wrapped(text, "# ", "#   "); };
  print(fmt::format("collsim {}: {} on {}, {} rank{}", COLLSIM_VERSION,
                    to_string(request.scenario.collective), request.topology.name(), request.ranks,
                    request.ranks == 1 ? "" : "s"));
  print(fmt::format("{}; engine {}; calibration {}", describe(*section.run), section.engine,
                    request.cost.name));
  if (const std::string model = model_of(section); !model.empty()) print("model: " + model);
  for (const Fault& fault : request.scenario.faults) print("fault: " + fault.text);
}

std::vector<Column> answer_columns(const Section& section) {
  std::vector<Column> columns = all_columns();
  std::erase_if(columns, [&](const Column& column) { return !applies(column, section); });
  return columns;
}

double relative_error(const Row& row) {
  return (row.prediction.time.value - row.measured->value) / row.measured->value;
}

std::unique_ptr<CallPrinter> make_call_printer(Format format, std::string command,
                                               std::ostream& out) {
  if (format == Format::table) return std::make_unique<CallTable>(out);
  if (is_report(format)) return make_call_report(format, std::move(command), out);
  return std::make_unique<CallRecords>(format, out);
}

}  // namespace collsim::command
