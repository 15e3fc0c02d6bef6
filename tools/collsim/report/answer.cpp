#include "tools/collsim/report/answer.h"

#include <fmt/ostream.h>

#include <cassert>
#include <ostream>

#include "sim/base/json_text.h"
#include "tools/collsim/report/markdown.h"
#include "tools/collsim/report/page.h"

namespace collsim::command {

namespace {

constexpr int json_indent = 2;

void write_rows(Format format, const Answer& answer, std::ostream& out) {
  RecordWriter writer(format, out);
  if (answer.no_row) writer.begin(answer.no_row());
  for (const Record& row : answer.rows()) writer.add(row);
  writer.finish();
}

}  // namespace

void write_answer(Format format, const Answer& answer, std::ostream& out) {
  switch (format) {
    case Format::table:
      answer.print(out);
      return;
    case Format::csv:
    case Format::jsonl:
      write_rows(format, answer, out);
      return;
    case Format::json:
      if (!answer.document) return write_rows(format, answer, out);
      fmt::print(out, "{}\n", json_text(answer.document(), json_indent));
      return;
    case Format::html:
      write_page(answer.report(), out);
      return;
    case Format::markdown:
      write_markdown(answer.report(), out);
      return;
    default:
      assert(false && "a format of one command, which it writes itself");
  }
}

}  // namespace collsim::command
