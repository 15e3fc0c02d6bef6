#include "tools/collsim/crossover/textbook_answer.h"

#include <fmt/format.h>

#include <ostream>
#include <sstream>

#include "sim/base/input_error.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/png.h"
#include "tools/collsim/report/slider_page.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

SliderStart start_of(const CallRequest& request, const po::variables_map& values,
                     const TextbookCurves& curves) {
  SliderStart start = slider_start(request, values, "--html");
  start.from = curves.sizes.front();
  start.to = curves.sizes.back();
  for (const TextbookCurve& curve : curves.curves) start.algorithms.push_back(curve.algorithm);
  return start;
}

Answer answer_of(const std::vector<TextbookCurves>& rows, const std::string& command) {
  Answer answer{"Fastest textbook algorithm: " + rows.front().title, command};
  answer.sections.push_back({"", {}, {}, {fastest_table(rows)}});
  answer.sections.back().shown = Shown::on_pages;
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
    write("html", slider_page(start_of(request, values, rows.front()), command));
  }
  if (is_printed) return;
  if (request.format == Format::html) {
    out << slider_page(start_of(request, values, rows.front()), command);
    return;
  }
  write_answer(request.format, answer_of(rows, command), out);
}

}  // namespace collsim::command
