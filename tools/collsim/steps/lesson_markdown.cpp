// A lesson as Markdown.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "tools/collsim/steps/lesson_report.h"
#include "tools/collsim/steps/lesson_words.h"

namespace collsim::command {

namespace {

/// A row of a table. A bar in a cell would end it.
std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char letter : cell)
      row += letter == '|' ? std::string("\\|") : std::string(1, letter);
    row += " |";
  }
  return row + "\n";
}

std::string markdown_head(const std::vector<std::string>& names) {
  std::string row = markdown_row(names) + "|";
  for (std::size_t i = 0; i < names.size(); ++i) row += "---|";
  return row + "\n";
}

void print_markdown_buffers(std::ostream& out, const Lesson& lesson, std::optional<std::size_t> s) {
  const Schedule& schedule = lesson.schedule();
  const std::uint32_t chunks = schedule.chunks();
  const auto& buffers = s ? lesson.steps[*s].buffers : lesson.buffers;
  const auto& values = s ? lesson.steps[*s].values : lesson.values;
  const auto& before = s && *s > 0 ? lesson.steps[*s - 1].buffers : lesson.buffers;
  std::vector<std::string> cells{""};
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    cells.push_back(fmt::format("chunk {}", chunk));
  }
  out << "\n" << markdown_head(cells);
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    cells = {row_name(schedule, rank)};
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const std::size_t i = std::size_t{rank} * chunks + chunk;
      const std::string text = holding_words(lesson, buffers, values, i);
      cells.push_back(buffers[i] == before[i] ? text : fmt::format("**{}**", text));
    }
    out << markdown_row(cells);
  }
}

void print_markdown_transfers(std::ostream& out, const Lesson& lesson, const Step& step) {
  out << "\n" << markdown_head({"from", "to", "chunk", "what"});
  for (const StepTransfer& each : step.transfers) {
    out << markdown_row({short_name(lesson.schedule(), each.from),
                         short_name(lesson.schedule(), each.to), range_words(each.chunks),
                         action_words(lesson, each)});
  }
}

void print_markdown_messages(std::ostream& out, const Lesson& lesson, const MessageGroup& group) {
  const auto time = [](Seconds at) { return fmt::format("{:.2f}", in_microseconds(at)); };
  out << "\n"
      << markdown_head({"from", "to", "chunk", "slice", "bytes", "begins (us)", "takes (us)",
                        "taken at (us)", "waited (us)"});
  for (const StepMessage* each : group.messages) {
    out << markdown_row(
        {short_name(lesson.schedule(), each->from), short_name(lesson.schedule(), each->to),
         range_words(each->chunks), std::to_string(each->slice), std::to_string(each->bytes.count),
         time(each->begin), time(each->sent - each->begin), time(each->taken), wait_words(*each)});
  }
}

void print_markdown_routes(std::ostream& out, const Lesson& lesson) {
  if (lesson.call->messages.empty()) return;
  out << "\n### Links\n\n" << markdown_head({"from", "to", "way"});
  for (LessonRoute& route : routes_of(lesson)) {
    constexpr std::string_view arrow = " > ";
    for (std::size_t at = 0; (at = route.way.find(arrow, at)) != std::string::npos;) {
      route.way.replace(at, arrow.size(), " → ");
    }
    out << markdown_row({short_name(lesson.schedule(), route.from),
                         short_name(lesson.schedule(), route.to), route.way});
  }
}

void print_markdown_chart(std::ostream& out, const Lesson& lesson) {
  if (!lesson.chart) return;
  fmt::print(out, "\n### Timeline\n\n```text\n");
  for (const std::string& line : chart_words(lesson)) fmt::print(out, "{}\n", line);
  fmt::print(out, "        {}\n", chart_axis(*lesson.chart));
  for (const StateRow& row : lesson.chart->rows) {
    fmt::print(out, "{:<7} {}\n", row_name(lesson.schedule(), row.participant), row.letters);
  }
  fmt::print(out, "```\n");
}

/// Stars of the text are bold here.
void print_markdown_legend(std::ostream& out, const Lesson& lesson) {
  for (std::string line : legend_of(lesson)) {
    const std::size_t star = line.find("* marks what");
    if (star != std::string::npos) line.replace(star, 7, "bold is");
    fmt::print(out, "\n{}\n", line);
  }
}

void print_markdown_call(std::ostream& out, const Lesson& lesson) {
  for (const std::string& line : call_words(lesson)) fmt::print(out, "\n{}\n", line);
  const bool with_buffers = lesson.choice.values || !lesson.choice.steps.empty();
  if (with_buffers) print_markdown_legend(out, lesson);
  for (const MessageGroup& group : groups_of(*lesson.call)) {
    std::string title = group_title(lesson, group);
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    fmt::print(out, "\n### {}\n", title);
    print_markdown_messages(out, lesson, group);
    if (!with_buffers) continue;
    if (lesson.choice.values) print_markdown_transfers(out, lesson, lesson.steps[group.step - 1]);
    print_markdown_buffers(out, lesson, group.step - 1);
  }
  print_markdown_routes(out, lesson);
}

void print_markdown_plan(std::ostream& out, const Lesson& lesson) {
  print_markdown_legend(out, lesson);
  if (lesson.choice.steps.empty()) {
    fmt::print(out, "\n### Start\n");
    print_markdown_buffers(out, lesson, std::nullopt);
  }
  for (std::size_t s = 0; s < lesson.steps.size(); ++s) {
    if (!lesson.shows(s + 1)) continue;
    fmt::print(out, "\n### Step {} of {}: {}{}\n", s + 1, lesson.steps.size(),
               lesson.steps[s].phase, step_time_words(lesson, lesson.steps[s]));
    print_markdown_transfers(out, lesson, lesson.steps[s]);
    print_markdown_buffers(out, lesson, s);
  }
}

}  // namespace

void print_lesson_markdown(const Lesson& lesson, std::ostream& out) {
  fmt::print(out, "## {}\n", title_of(lesson));
  if (lesson.steps.empty()) {
    fmt::print(out, "\nNothing is sent.\n");
    return;
  }
  if (lesson.call) {
    fmt::print(out, "\nOn {}.\n", lesson.call->request->topology.name());
    print_markdown_call(out, lesson);
  } else {
    print_markdown_plan(out, lesson);
  }
  print_markdown_chart(out, lesson);
  out << "\n### In all\n";
  for (const auto& lines : {traffic_words(lesson), time_words(lesson)}) {
    for (const std::string& line : lines) fmt::print(out, "\n{}\n", line);
  }
  if (const std::string line = check_words(lesson); !line.empty()) fmt::print(out, "\n{}\n", line);
}

}  // namespace collsim::command
