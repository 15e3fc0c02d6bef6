#include "tools/collsim/crossover/textbook_answer.h"

#include <fmt/format.h>

#include <ostream>
#include <sstream>

#include "sim/base/input_error.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/page.h"
#include "tools/collsim/report/png.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// "Below 47.4 KiB tree is faster, above ring."
std::string crossing_text(const TextbookCurves& row) {
  std::string text;
  for (const CurveCrossing& each : crossings_of(row)) {
    text += fmt::format("{}Below {} {} is faster, above {}.", text.empty() ? "" : " ",
                        rounded_size(each.size), row.curves[each.first].algorithm,
                        row.curves[each.second].algorithm);
  }
  return text.empty() ? "One algorithm is fastest at every size." : text;
}

Table form_table(const std::vector<TextbookCurves>& rows) {
  Table table;
  table.title = "Closed forms";
  for (const TextbookCurves& row : rows) {
    for (const TextbookCurve& curve : row.curves) {
      NewRow add(table);
      add({"nranks", "ranks"}, row.ranks);
      add({"algorithm", "algorithm"}, curve.algorithm);
      add({"form", "T"}, curve.formula.empty() ? "none" : curve.formula);
    }
  }
  return table;
}

Answer answer_of(const std::vector<TextbookCurves>& rows, const std::string& command) {
  Answer answer{"Fastest textbook algorithm: " + rows.front().title, command};
  AnswerSection section{"", {}, {}, {fastest_table(rows), form_table(rows)}};
  for (const TextbookCurves& row : rows) {
    section.charts.push_back(curve_chart(row));
    section.charts.back().note = crossing_text(row);
  }
  section.shown = Shown::on_pages;
  answer.sections.push_back(std::move(section));
  add_ranges_and_version(answer);
  answer.draw([&](std::ostream& to) { print_fastest_map(rows, to); });
  return answer;
}

}  // namespace

void answer_textbook_map(const CallRequest& request, const po::variables_map& values,
                         const std::vector<TextbookCurves>& rows, const std::string& command,
                         std::ostream& out) {
  for (const char* option : {"export-tuner", "export-env"}) {
    if (values.contains(option)) {
      throw InputError(fmt::format("--{} of a textbook's schedule", option), "NCCL's schedule");
    }
  }
  bool is_printed = false;
  const auto write = [&](const char* option, const std::string& text) {
    replace_file(values[option].as<OutputFile>().name, text);
    is_printed = is_printed || is_standard_output(values[option].as<OutputFile>().name);
  };
  for (const char* option : {"svg", "png"}) {
    if (!values.contains(option)) continue;
    std::ostringstream drawing;
    print_curves_svg(rows.front(), drawing);
    write(option, option == std::string_view("png") ? png_of(drawing.str()) : drawing.str());
  }
  if (values.contains("html")) {
    std::ostringstream page;
    write_page(answer_of(rows, command), page);
    write("html", page.str());
  }
  if (is_printed) return;
  write_answer(request.format, answer_of(rows, command), out);
}

}  // namespace collsim::command
