// A lesson as text.

#include "tools/collsim/steps/lesson_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "sim/base/division.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/steps/lesson_words.h"

namespace collsim::command {

namespace {

constexpr std::uint32_t chunks_per_table = 8;

void print_trimmed(std::string line, std::ostream& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print(out, "{}\n", line);
}

/// The buffers after step `s`, from 0, or without one those at the start; eight chunks side by
/// side. Cells that the step changed get a star.
void print_buffers(std::ostream& out, const Lesson& lesson, std::optional<std::size_t> s) {
  const Schedule& schedule = lesson.schedule();
  const std::uint32_t chunks = schedule.chunks();
  const auto& buffers = s ? lesson.steps[*s].buffers : lesson.buffers;
  const auto& values = s ? lesson.steps[*s].values : lesson.values;
  const auto& before = s && *s > 0 ? lesson.steps[*s - 1].buffers : lesson.buffers;
  for (std::uint32_t begin = 0; begin < chunks; begin += chunks_per_table) {
    const std::uint32_t end = std::min(chunks, begin + chunks_per_table);
    std::string line(8, ' ');
    for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
      line += fmt::format("{:<9}", fmt::format("chunk {}", chunk));
    }
    out << "\n";
    print_trimmed(line, out);
    for (Rank rank = 0; rank < schedule.participants(); ++rank) {
      line = fmt::format("{:<7} ", row_name(schedule, rank));
      for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
        const std::size_t i = std::size_t{rank} * chunks + chunk;
        const std::string mark = buffers[i] == before[i] ? "" : "*";
        line += fmt::format("{:<9}", holding_words(lesson, buffers, values, i) + mark);
      }
      print_trimmed(line, out);
    }
  }
}

std::string transfer_words(const Lesson& lesson, const StepTransfer& transfer) {
  const Schedule& schedule = lesson.schedule();
  return fmt::format("  {:>2} -> {:<2}  {} {}  {}", short_name(schedule, transfer.from),
                     short_name(schedule, transfer.to),
                     transfer.chunks.count == 1 ? "chunk" : "chunks", range_words(transfer.chunks),
                     action_words(lesson, transfer));
}

/// One message a line; many of them in columns, read downwards.
void print_transfers(std::ostream& out, const Lesson& lesson, const Step& step) {
  std::vector<std::string> items;
  std::size_t widest = 0;
  for (const StepTransfer& each : step.transfers) {
    items.push_back(transfer_words(lesson, each));
    widest = std::max(widest, items.back().size());
  }
  constexpr std::size_t single_column_rows = 8;
  const std::size_t max_columns = std::max<std::size_t>(1, (line_width + 1) / (widest + 1));
  const std::size_t columns =
      items.size() <= single_column_rows
          ? 1
          : std::min(max_columns, divide_up(items.size(), single_column_rows));
  const std::size_t rows = divide_up(items.size(), columns);
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (std::size_t i = row; i < items.size(); i += rows) {
      line += fmt::format("{:<{}}", items[i], widest + 1);
    }
    print_trimmed(line, out);
  }
}

void print_messages(std::ostream& out, const Lesson& lesson, const MessageGroup& group) {
  const Schedule& schedule = lesson.schedule();
  const bool slices = lesson.call->trace->call.partition.chunking().slices > 1;
  print_trimmed(fmt::format("  {:>8}  {:<6}{}{:>8} {:>9} {:>8} {:>9}  {}", "from  to", "chunk",
                            slices ? "slice " : "", "bytes", "begins", "takes", "taken", "waited"),
                out);
  for (const StepMessage* each : group.messages) {
    print_trimmed(
        fmt::format("  {:>2} -> {:<2}  {:<6}{}{:>8} {:>9.2f} {:>8.2f} {:>9.2f}  {}",
                    short_name(schedule, each->from), short_name(schedule, each->to),
                    range_words(each->chunks), slices ? fmt::format("{:>5} ", each->slice) : "",
                    each->bytes.count, in_microseconds(each->begin),
                    in_microseconds(each->sent - each->begin), in_microseconds(each->taken),
                    wait_words(*each)),
        out);
  }
}

void print_call(std::ostream& out, const Lesson& lesson) {
  const bool with_buffers = lesson.choice.values || !lesson.choice.steps.empty();
  for (const std::string& line : call_words(lesson)) out << wrapped(line, "", "  ");
  out << wrapped(
      "Times in us. begins: its sender has all that it waited for; takes: until its last byte has "
      "left; taken: the receiver goes on with it; waited: how long the sender waited before, and "
      "for what (slot of 3: a place in rank 3's FIFO).",
      "", "  ");
  if (with_buffers) {
    for (const std::string& line : legend_of(lesson)) out << wrapped(line, "", "  ");
  }
  for (const MessageGroup& group : groups_of(*lesson.call)) {
    fmt::print(out, "\n{}\n", group_title(lesson, group));
    print_messages(out, lesson, group);
    if (!with_buffers) continue;
    if (lesson.choice.values) print_transfers(out, lesson, lesson.steps[group.step - 1]);
    print_buffers(out, lesson, group.step - 1);
  }
}

/// The ways of the messages that are shown.
void print_routes(std::ostream& out, const Lesson& lesson) {
  const std::vector<LessonRoute> routes = routes_of(lesson);
  if (routes.empty()) return;
  fmt::print(out, "\nlinks\n");
  const Schedule& schedule = lesson.schedule();
  for (const LessonRoute& route : routes) {
    const std::string ends = fmt::format("  {:>2} -> {:<2}  ", short_name(schedule, route.from),
                                         short_name(schedule, route.to));
    out << wrapped(route.way, ends, std::string(ends.size() + 2, ' '));
  }
}

void print_chart(std::ostream& out, const Lesson& lesson) {
  if (!lesson.chart) return;
  out << "\n";
  for (const std::string& line : chart_words(lesson)) fmt::print(out, "{}\n", line);
  fmt::print(out, "        {}\n", chart_axis(*lesson.chart));
  for (const StateRow& row : lesson.chart->rows) {
    fmt::print(out, "{:<7} {}\n", row_name(lesson.schedule(), row.participant), row.letters);
  }
}

void print_plan(std::ostream& out, const Lesson& lesson) {
  for (const std::string& line : legend_of(lesson)) out << wrapped(line, "", "  ");
  if (lesson.choice.steps.empty()) {
    fmt::print(out, "\nstart\n");
    print_buffers(out, lesson, std::nullopt);
  }
  for (std::size_t s = 0; s < lesson.steps.size(); ++s) {
    if (!lesson.shows(s + 1)) continue;
    const Step& step = lesson.steps[s];
    fmt::print(out, "\nstep {} of {}: {}{}\n", s + 1, lesson.steps.size(), step.phase,
               step_time_words(lesson, step));
    print_transfers(out, lesson, step);
    print_buffers(out, lesson, s);
  }
}

void print_summary(std::ostream& out, const Lesson& lesson) {
  fmt::print(out, "\n");
  for (const std::string& line : traffic_words(lesson)) out << wrapped(line, "", "  ");
  for (const std::string& line : time_words(lesson)) out << wrapped(line, "", "  ");
  if (const std::string line = check_words(lesson); !line.empty()) fmt::print(out, "{}\n", line);
}

}  // namespace

void print_lesson(const Lesson& lesson, std::ostream& out) {
  if (lesson.call) {
    print_head({lesson.call->request, lesson.call->run, "native"}, out);
  }
  fmt::print(out, "{}\n", title_of(lesson));
  if (lesson.steps.empty()) {
    out << (lesson.call ? "The channel sends nothing.\n"
                        : "Nothing to do: one rank has the result at the start.\n");
    return;
  }
  if (lesson.call) {
    print_call(out, lesson);
    print_routes(out, lesson);
  } else {
    print_plan(out, lesson);
    if (!lesson.choice.steps.empty()) return;
  }
  print_chart(out, lesson);
  print_summary(out, lesson);
}

}  // namespace collsim::command
