#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/collsim/report/records.h"

namespace collsim::command {

/// How the values of an axis are laid out.
enum class AxisScale : std::uint8_t {
  bytes,        ///< logarithmic, with ticks such as 64 KiB
  counts,       ///< logarithmic, with ticks at powers of two
  logarithmic,  ///< a person may switch to linear
  linear,       ///< from zero; a person may switch to logarithmic
  words,        ///< each value has a place of its own
};

struct ChartAxis {
  std::string label;
  AxisScale scale = AxisScale::linear;
  std::vector<std::string> words{};  ///< in their order; empty: in the order of the points
};

/// How a series is drawn.
enum class SeriesMark : std::uint8_t {
  line,     ///< a line with small marks
  dashes,   ///< a dashed line without marks
  dots,     ///< marks alone
  rings,    ///< around points of others, with a dotted line through them
  band,     ///< the area from `low` to `high`
  bars,     ///< from the left: x is a number and y a word; a whisker from `low` to `high`
  cells,    ///< of a map of words by words, as dark as `weight`, with `label`
  hatched,  ///< the same, hatched over what lies below
};

/// A point of a series. Every number of it is one of the answer's rows.
struct ChartPoint {
  Record x{};
  Record y{};
  std::string label{};  ///< written at the point
  std::string text{};   ///< shown where the pointer is
  Record low{};         ///< null: none
  Record high{};        ///< null: none
  double weight = 1;    ///< from 0 to 1
};

/// The tone of what others are held against: grey.
inline constexpr int reference_tone = -1;

struct ChartSeries {
  std::string name;  ///< in the legend; empty: not there
  SeriesMark mark = SeriesMark::line;
  /// Which colour, shape and dashes; colours come back after the seventh.
  int tone = 0;
  bool quiet = false;  ///< thin and grey, behind the others
  std::vector<ChartPoint> points{};
};

/// A chart of a page.
struct Chart {
  std::string title;
  std::string note{};  ///< a sentence or two under the title
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series{};
  bool wide = false;  ///< takes a row of the page for itself
};

}  // namespace collsim::command
