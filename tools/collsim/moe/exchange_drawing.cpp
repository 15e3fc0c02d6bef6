#include "tools/collsim/moe/exchange_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/collsim/core/numbers.h"

namespace collsim::command {

namespace {

// Sizes of the drawing, in pixels.
constexpr double drawn_width = 720;
constexpr double bars_left = 190;
constexpr double bars_width = 420;
constexpr double bars_top = 52;
constexpr double bar_height = 18;
constexpr double bar_step = 26;

struct DrawnPart {
  std::string_view name;
  std::string_view colour;
  Seconds time;
};

/// What a row's time is made of; together they are its time.
std::array<DrawnPart, 5> parts_of(const ExchangeRow& row) {
  const Seconds skew{std::max(0.0, row.time.value - row.even.value)};
  const bool by_ports = row.ports.time > row.work;
  const Seconds moved{
      std::max(0.0, row.time.value - row.launch.value - row.fill.value - skew.value)};
  return {DrawnPart{"launch", "#9aa5b1", row.launch},
          DrawnPart{"ports are full", "#2f6db5", by_ports ? moved : Seconds{}},
          DrawnPart{"thread blocks are busy", "#7ab6e8", by_ports ? Seconds{} : moved},
          DrawnPart{"what the skew adds", "#d1495b", skew},
          DrawnPart{"first tokens", "#edae49", row.fill}};
}

std::string escaped_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string label_of(const ExchangeRow& row) {
  if (row.tokens <= 0) return row.call;
  return fmt::format("{}, {:g} tokens", row.call, row.tokens);
}

std::string bar_of(const ExchangeRow& row, double y) {
  std::string text = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n",
                                 bars_left - 8, y + bar_height - 5, label_of(row));
  double x = bars_left;
  for (const DrawnPart& part : parts_of(row)) {
    const double width = bars_width * part.time.value / row.time.value;
    if (width <= 0) continue;
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>\n", x, y,
        width, bar_height, part.colour);
    x += width;
  }
  return text + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{:.1f} us</text>\n",
                            bars_left + bars_width + 8, y + bar_height - 5,
                            in_microseconds(row.time));
}

/// The parts that any row has, by name.
std::string legend_of(const std::vector<ExchangeRow>& rows, double y) {
  std::string text;
  double x = bars_left;
  for (std::size_t part = 0; part < parts_of(rows.front()).size(); ++part) {
    const bool is_drawn = std::any_of(rows.begin(), rows.end(), [&](const ExchangeRow& row) {
      return parts_of(row).at(part).time.value > 0;
    });
    if (!is_drawn) continue;
    const DrawnPart drawn = parts_of(rows.front()).at(part);
    constexpr double letter_width = 6.2;
    constexpr double square = 24;
    text += fmt::format(
        "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"12\" height=\"12\" fill=\"{2}\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
        x, y, drawn.colour, x + 16, y + 10, drawn.name);
    x += square + letter_width * static_cast<double>(drawn.name.size()) + 8;
  }
  return text;
}

}  // namespace

std::string exchange_drawing(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows) {
  const double bottom = bars_top + bar_step * static_cast<double>(rows.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\" "
      "fill=\"#222\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n",
      drawn_width, bottom + 34);
  text += fmt::format("<text x=\"12\" y=\"20\" font-size=\"13\">{}</text>\n",
                      escaped_text(fmt::format("{}, {} ranks, {}", heading.machine, heading.ranks,
                                               rows.front().kernels)));
  text += fmt::format("<text x=\"12\" y=\"38\">{}</text>\n",
                      escaped_text(fmt::format("{}, skew {}", heading.facts, rows.front().skew)));
  double y = bars_top;
  for (const ExchangeRow& row : rows) {
    text += bar_of(row, y);
    y += bar_step;
  }
  return text + legend_of(rows, bottom + 10) + "</svg>\n";
}

}  // namespace collsim::command
