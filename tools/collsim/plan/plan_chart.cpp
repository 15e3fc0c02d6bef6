#include "tools/collsim/plan/plan_chart.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

namespace collsim::command {

namespace {

constexpr std::size_t chart_height = 10;
constexpr std::size_t chart_width = 66;
constexpr std::size_t widest_column = 8;
constexpr std::size_t bar_width = 40;

/// How far up a value is between the least and the most, from 0 to `rows` - 1.
std::size_t height_of(double value, double least, double most, std::size_t rows) {
  if (most <= least) return 0;
  const double share = std::log(value / least) / std::log(most / least);
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(rows - 1)));
}

std::string number_text(double value) {
  constexpr double wants_no_digits = 100;
  return value < wants_no_digits ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

void put(std::string& line, std::size_t place, const std::string& mark) {
  if (line.size() < place + mark.size()) line.resize(place + mark.size(), ' ');
  for (std::size_t i = 0; i < mark.size(); ++i) {
    if (line[place + i] == ' ') line[place + i] = mark[i];
  }
}

}  // namespace

void print_chart(std::span<const MarkedPoint> points, const std::string& title, std::ostream& out) {
  std::set<double> columns;
  double least = points.front().y;
  double most = least;
  for (const MarkedPoint& point : points) {
    columns.insert(point.x);
    least = std::min(least, point.y);
    most = std::max(most, point.y);
  }
  const std::size_t step = std::min(widest_column, chart_width / columns.size());
  const auto place_of = [&](double x) {
    return static_cast<std::size_t>(std::distance(columns.begin(), columns.find(x))) * step;
  };
  std::vector<std::string> lines(chart_height);
  for (const MarkedPoint& point : points) {
    put(lines[height_of(point.y, least, most, chart_height)], place_of(point.x), point.mark);
  }
  fmt::print(out, "# {}\n", title);
  for (std::size_t row = chart_height; row-- > 0;) {
    std::string label;
    if (row == 0 || row + 1 == chart_height) label = number_text(row == 0 ? least : most);
    std::string line = fmt::format("{:>10} |{}", label, lines[row]);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(out, "{}\n", line);
  }
  std::string axis;
  for (const double x : columns) put(axis, place_of(x), fmt::format("{}", x));
  fmt::print(out, "{:>11}+{}\n{:>12}{}\n", "", std::string(step * columns.size(), '-'), "", axis);
}

void print_bars(std::span<const MarkedPoint> points, const std::string& title, std::ostream& out) {
  double most = 0;
  std::size_t widest = 0;
  for (const MarkedPoint& point : points) {
    most = std::max(most, point.y);
    widest = std::max(widest, point.mark.size() + 1 + point.label.size());
  }
  widest = std::min<std::size_t>(widest, 26);
  fmt::print(out, "# {}\n", title);
  for (const MarkedPoint& point : points) {
    const auto length =
        static_cast<std::size_t>(std::lround(point.y / most * static_cast<double>(bar_width)));
    const std::string name = fmt::format("{} {}", point.mark, point.label).substr(0, widest);
    fmt::print(out, "{:<{}} {:>10} {}\n", name, widest, number_text(point.y),
               std::string(length, '#'));
  }
}

}  // namespace collsim::command
