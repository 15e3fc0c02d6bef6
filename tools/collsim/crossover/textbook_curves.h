#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/call/call_compiler.h"
#include "sim/base/units.h"
#include "tools/collsim/crossover/crossover_report.h"
#include "tools/collsim/report/chart.h"
#include "tools/collsim/report/table.h"

namespace collsim::command {

/// The time of one textbook algorithm over the size, by the analytic model.
struct TextbookCurve {
  std::string algorithm;
  std::vector<Seconds> times;  ///< [size]
  std::string formula;  ///< "T = 2(N-1) alpha + 2(N-1)/N S/B = ..."; empty without a closed form
};

/// A size at which one curve falls below another.
struct CurveCrossing {
  std::size_t first = 0;  ///< of the curves: the faster one at smaller sizes
  std::size_t second = 0;
  double size = 0;  ///< bytes
  Seconds time;
};

/// The curves of several algorithms on the same ranks.
struct TextbookCurves {
  std::string title;  ///< "all_reduce on a machine of alpha 1 us and 50 GB/s, 8 ranks"
  Rank ranks = 1;
  std::vector<Bytes> sizes;  ///< above 0, rising
  std::vector<TextbookCurve> curves;
};

/// Estimates all compilers, which differ in their algorithm, at all sizes above 0.
TextbookCurves curves_of(const std::vector<CallCompiler>& compilers,
                         const std::vector<Bytes>& sizes, const std::string& collective);

/// Which curve is lowest at a size.
std::size_t fastest_at(const TextbookCurves& curves, std::size_t size);
/// The sizes at which the fastest curve changes, by straight lines between two sizes, as times
/// alpha + b S are.
std::vector<CurveCrossing> crossings_of(const TextbookCurves& curves);

/// A letter for each size: which is fastest; one line for each set of ranks.
void print_fastest_map(const std::vector<TextbookCurves>& rows, std::ostream& out);
/// The fastest algorithms as a table, with a record for each set of ranks and size.
Table fastest_table(const std::vector<TextbookCurves>& rows);

/// Times over sizes as a chart of a page: those that are numbers.
Chart curve_chart(const TextbookCurves& curves);
/// Times over sizes as a drawing, both axes logarithmic, crossings marked: an SVG file.
void print_curves_svg(const TextbookCurves& curves, std::ostream& out);

}  // namespace collsim::command
