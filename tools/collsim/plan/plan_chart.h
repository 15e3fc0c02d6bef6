#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace collsim::command {

/// A mark in a chart.
struct MarkedPoint {
  std::string mark;     ///< one letter or two
  double x = 0;         ///< above 0
  double y = 0;         ///< above 0
  std::string label{};  ///< of a bar
};

/// Points by x, each value of which has a column of its own, and y, which is logarithmic:
///
///     12.1 |A       A
///          |
///      3.0 |                A
///          +------------------
///           1       2       4
///
/// Where marks meet, the first stays. `title` says what y is.
void print_chart(std::span<const MarkedPoint> points, const std::string& title, std::ostream& out);

/// Prints one bar per point; its length is y.
void print_bars(std::span<const MarkedPoint> points, const std::string& title, std::ostream& out);

}  // namespace collsim::command
