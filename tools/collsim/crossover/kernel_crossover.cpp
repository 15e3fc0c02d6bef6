#include "tools/collsim/crossover/kernel_crossover.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>
#include <utility>

#include "sim/base/input_error.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/crossover/textbook_curves.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/page.h"
#include "tools/collsim/report/png.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// A kernel, and from which size on it is the fastest.
struct KernelRange {
  std::string kernel;
  double from = 0;     ///< bytes
  double time_us = 0;  ///< at that size; of the first range at the smallest that was looked at
};

/// Of one set of GPUs.
struct KernelThresholds {
  Rank ranks = 0;
  std::vector<KernelRange> ranges;
};

TextbookCurves curves_of(PeerCalls& calls, const KernelQuestion& question,
                         const CallRequest& request) {
  TextbookCurves curves;
  curves.ranks = calls.ranks();
  curves.title = fmt::format("all_reduce on {} by kernels of {}, {} ranks", request.topology.name(),
                             to_string(calls.engine()), curves.ranks);
  for (const Bytes size : sizes_of(request)) {
    if (size.count > 0) curves.sizes.push_back(size);
  }
  if (curves.sizes.empty()) throw InputError("crossover: no size above 0", "-b and -e");
  for (const std::string& kernel : question.kernels) {
    TextbookCurve& curve = curves.curves.emplace_back();
    curve.algorithm = kernel;
    const bool runs = !calls.why_not(kernel);
    for (const Bytes size : curves.sizes) {
      // What does not run here is never the fastest.
      constexpr Seconds never{std::numeric_limits<double>::infinity()};
      curve.times.push_back(!runs              ? never
                            : kernel == "auto" ? calls.predict(size).time
                                               : calls.predict(kernel, size).time);
    }
  }
  return curves;
}

KernelThresholds thresholds_of(const TextbookCurves& curves) {
  KernelThresholds thresholds{curves.ranks, {}};
  const std::size_t first = fastest_at(curves, 0);
  thresholds.ranges.push_back(
      {curves.curves[first].algorithm, 0, in_microseconds(curves.curves[first].times.front())});
  for (const CurveCrossing& crossing : crossings_of(curves)) {
    thresholds.ranges.push_back({curves.curves[crossing.second].algorithm,
                                 std::round(crossing.size), in_microseconds(crossing.time)});
  }
  return thresholds;
}

std::vector<Note> head_of(const CallRequest& request, const KernelQuestion& question) {
  return comments({fmt::format("all_reduce on {} by kernels of {}{}", request.topology.name(),
                               to_string(question.engine),
                               request.scenario.runs.front().graph ? ", in a CUDA graph" : ""),
                   fmt::format("{}", fmt::join(question.kernels, ", "))});
}

/// What is the fastest from which size on, in a sentence for each number of ranks.
Table sentence_table(const std::vector<KernelThresholds>& all) {
  Table table;
  for (const KernelThresholds& thresholds : all) {
    std::string text = thresholds.ranges.front().kernel;
    for (std::size_t i = 1; i < thresholds.ranges.size(); ++i) {
      text += fmt::format(", {} from {}", thresholds.ranges[i].kernel,
                          rounded_size(thresholds.ranges[i].from));
    }
    NewRow add(table);
    add({"ranks", "ranks"}, thresholds.ranks);
    add({"fastest", "fastest"}, text);
  }
  return table;
}

Table range_table(const std::vector<KernelThresholds>& all) {
  Table table;
  table.title = "Fastest from a size on";
  for (const KernelThresholds& thresholds : all) {
    for (const KernelRange& range : thresholds.ranges) {
      NewRow add(table);
      add({"nranks", "ranks"}, thresholds.ranks);
      add({"kernel", "kernel"}, range.kernel);
      add({"from_bytes", "from", "(B)", 0}, range.from);
      add({"time_us", "time", "(us)"}, range.time_us);
    }
  }
  return table;
}

/// A dictionary of Python's: for each number of ranks the kernels, each with the size that it stays
/// below; None for the last.
std::string code_of(const CallRequest& request, const KernelQuestion& question,
                    const std::vector<KernelThresholds>& all) {
  std::string text =
      fmt::format("# Fastest all_reduce on {} by kernels of {}: (kernel, below bytes)\n",
                  request.topology.name(), to_string(question.engine));
  text += "ALL_REDUCE_THRESHOLDS = {\n";
  for (const KernelThresholds& thresholds : all) {
    text += fmt::format("    {}: [", thresholds.ranks);
    for (std::size_t i = 0; i < thresholds.ranges.size(); ++i) {
      const bool is_last = i + 1 == thresholds.ranges.size();
      text += fmt::format("{}(\"{}\", {})", i == 0 ? "" : ", ", thresholds.ranges[i].kernel,
                          is_last ? "None" : fmt::format("{:.0f}", thresholds.ranges[i + 1].from));
    }
    text += "],\n";
  }
  return text + "}\n";
}

Answer answer_of(const std::vector<TextbookCurves>& curves,
                 const std::vector<KernelThresholds>& all, const std::string& command) {
  Answer answer{"Fastest small all_reduce", command};
  AnswerSection section;
  for (const TextbookCurves& each : curves) section.charts.push_back(curve_chart(each));
  section.tables.push_back(range_table(all));
  section.shown = Shown::on_pages;
  answer.sections.push_back(std::move(section));
  add_ranges_and_version(answer);
  return answer;
}

/// A drawing of what runs here.
std::string drawing_of(TextbookCurves curves) {
  std::erase_if(curves.curves, [](const TextbookCurve& curve) {
    return !std::isfinite(curve.times.front().value);
  });
  std::ostringstream text;
  print_curves_svg(curves, text);
  return text.str();
}

}  // namespace

bool asks_for_kernels(const po::variables_map& values) {
  if (values.contains("kernels")) return true;
  if (!values.contains("algorithm")) return false;
  const std::string names = "," + values["algorithm"].as<std::string>() + ",";
  return names.find(",nccl,") != std::string::npos || names.find(",multimem") != std::string::npos;
}

KernelQuestion kernels_to_compare(const po::variables_map& values) {
  KernelQuestion question = kernel_question(values).value_or(KernelQuestion{{"pytorch", {}}, {}});
  if (!values.contains("algorithm")) {
    question.kernels = {"one_shot", "two_shot", "multimem", "nccl"};
  } else {
    question.kernels = kernels_named(values);
  }
  return question;
}

void answer_kernel_crossover(const CallRequest& request, const KernelQuestion& question,
                             const std::vector<std::vector<DeviceId>>& gpus,
                             const po::variables_map& values, const std::string& command,
                             std::ostream& out) {
  std::vector<TextbookCurves> curves;
  std::vector<KernelThresholds> thresholds;
  for (const std::vector<DeviceId>& each : gpus) {
    PeerCalls calls = peer_calls_of(request, question, false, each);
    curves.push_back(curves_of(calls, question, request));
    thresholds.push_back(thresholds_of(curves.back()));
  }
  bool is_printed = false;
  const auto write = [&](const char* option, const std::string& text) {
    const auto& file = values[option].as<OutputFile>().name;
    replace_file(file, text);
    is_printed = is_printed || is_standard_output(file);
  };
  if (values.contains("svg")) write("svg", drawing_of(curves.front()));
  if (values.contains("png")) write("png", png_of(drawing_of(curves.front())));
  if (values.contains("html")) {
    std::ostringstream page;
    write_page(answer_of(curves, thresholds, command), page);
    write("html", page.str());
  }
  if (values.contains("export-thresholds")) {
    write("export-thresholds", code_of(request, question, thresholds));
  }
  if (is_printed) return;
  Answer answer = answer_of(curves, thresholds, command);
  if (values["map"].as<bool>()) {
    answer.draw([&](std::ostream& to) { print_fastest_map(curves, to); });
    answer.rows = fastest_table(curves).rows;
  } else {
    answer.sections.push_back({"", {}, head_of(request, question), {sentence_table(thresholds)}});
    answer.sections.back().shown = Shown::in_terminal;
  }
  write_answer(request.format, answer, out);
}

}  // namespace collsim::command
