#include "tools/collsim/crossover/textbook_curves.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <ostream>
#include <string_view>

#include "models/predict/predictor.h"
#include "tools/collsim/core/markup.h"
#include "tools/collsim/core/numbers.h"

namespace collsim::command {

namespace {

/// Okabe and Ito's, as in pages.
constexpr std::array<std::string_view, 7> curve_colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                        "#e69f00", "#56b4e9", "#555555"};

std::string size_word(double bytes) {
  constexpr std::array<std::string_view, 4> units{"", "K", "M", "G"};
  constexpr double step = 1024;
  std::size_t unit = 0;
  while (bytes >= step && unit + 1 < units.size()) {
    bytes /= step;
    ++unit;
  }
  return fmt::format("{:.3g}{}", bytes, units.at(unit));
}

/// A letter for each algorithm: the first of its name that no other has.
std::string letters_of(const TextbookCurves& curves) {
  std::string letters;
  for (const TextbookCurve& curve : curves.curves) {
    char letter = static_cast<char>('A' + static_cast<char>(letters.size() % 26));
    for (const char each : curve.algorithm) {
      const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
      if (std::isalpha(static_cast<unsigned char>(each)) == 0) continue;
      if (letters.find(upper) != std::string::npos) continue;
      letter = upper;
      break;
    }
    letters += letter;
  }
  return letters;
}

/// Maps sizes and times to the drawing's units.
class LogFrame {
 public:
  static constexpr double left = 64;
  static constexpr double top = 34;
  static constexpr double width = 620;
  static constexpr double height = 300;

  explicit LogFrame(const TextbookCurves& curves)
      : first_size_(std::log2(static_cast<double>(curves.sizes.front().count))),
        last_size_(std::log2(static_cast<double>(curves.sizes.back().count))) {
    double least = 1e300;
    double most = 0;
    for (const TextbookCurve& curve : curves.curves) {
      for (const Seconds time : curve.times) {
        if (time.value > 0) least = std::min(least, time.value);
        most = std::max(most, time.value);
      }
    }
    first_time_ = std::floor(std::log10(std::min(least, most)));
    last_time_ = std::max(first_time_ + 1, std::ceil(std::log10(most)));
  }

  double x(double size) const {
    const double span = std::max(last_size_ - first_size_, 1.0);
    return left + width * (std::log2(size) - first_size_) / span;
  }
  double y(double seconds) const {
    const double share = (std::log10(seconds) - first_time_) / (last_time_ - first_time_);
    return top + height * (1 - share);
  }
  int first_time() const { return static_cast<int>(first_time_); }
  int last_time() const { return static_cast<int>(last_time_); }

 private:
  double first_size_;
  double last_size_;
  double first_time_ = 0;
  double last_time_ = 1;
};

std::string time_word(int power) {
  const double microseconds = std::pow(10, power + 6);
  constexpr double thousand = 1e3;
  return microseconds < thousand ? fmt::format("{:g} us", microseconds)
         : microseconds < thousand * thousand
             ? fmt::format("{:g} ms", microseconds / thousand)
             : fmt::format("{:g} s", microseconds / thousand / thousand);
}

void print_axes(const TextbookCurves& curves, const LogFrame& frame, std::ostream& out) {
  const double bottom = LogFrame::top + LogFrame::height;
  for (int power = frame.first_time(); power <= frame.last_time(); ++power) {
    const double y = frame.y(std::pow(10, power));
    fmt::print(out,
               "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
               "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
               LogFrame::left, y, LogFrame::left + LogFrame::width, y, LogFrame::left - 6, y + 4,
               time_word(power));
  }
  const std::size_t every = std::max<std::size_t>(1, (curves.sizes.size() + 9) / 10);
  for (std::size_t i = 0; i < curves.sizes.size(); i += every) {
    const auto size = static_cast<double>(curves.sizes[i].count);
    fmt::print(out,
               "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#eee\"/>"
               "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
               frame.x(size), LogFrame::top, bottom, bottom + 16, size_word(size));
  }
}

void print_curve(const TextbookCurves& curves, std::size_t c, const LogFrame& frame,
                 std::ostream& out) {
  std::string points;
  for (std::size_t i = 0; i < curves.sizes.size(); ++i) {
    const double time = curves.curves[c].times[i].value;
    if (time <= 0) continue;
    points += fmt::format("{:.1f},{:.1f} ", frame.x(static_cast<double>(curves.sizes[i].count)),
                          frame.y(time));
  }
  const std::string_view colour = curve_colours.at(c % curve_colours.size());
  const double y = LogFrame::top + LogFrame::height + 40 + 16 * static_cast<double>(c);
  fmt::print(out,
             "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n"
             "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/>"
             "<text x=\"{}\" y=\"{}\">{}</text>\n",
             points, colour, LogFrame::left, y - 6, colour, LogFrame::left + 20, y,
             escaped(curves.curves[c].algorithm +
                     (curves.curves[c].formula.empty() ? "" : ": " + curves.curves[c].formula)));
}

}  // namespace

TextbookCurves curves_of(const std::vector<CallCompiler>& compilers,
                         const std::vector<Bytes>& sizes, const std::string& collective) {
  TextbookCurves curves;
  curves.ranks = compilers.front().ranks();
  curves.title = fmt::format("{} on {}, {} ranks", collective, compilers.front().topology().name(),
                             curves.ranks);
  for (const Bytes size : sizes) {
    if (size.count > 0) curves.sizes.push_back(size);
  }
  if (curves.sizes.empty()) curves.sizes.push_back(Bytes{1});
  for (const CallCompiler& compiler : compilers) {
    Predictor predictor(compiler, by_formulas());
    TextbookCurve& curve = curves.curves.emplace_back();
    curve.algorithm = compiler.spec().run.algorithm;
    for (const Bytes size : curves.sizes) {
      const Prediction prediction = predictor.predict(size);
      curve.times.push_back(prediction.time);
      if (!prediction.form) continue;
      curve.formula = fmt::format("T = {} = {:g} alpha + {:g} S/B", prediction.form->symbols,
                                  prediction.form->alphas, prediction.form->transfers);
    }
  }
  return curves;
}

std::size_t fastest_at(const TextbookCurves& curves, std::size_t size) {
  const auto lowest = std::min_element(curves.curves.begin(), curves.curves.end(),
                                       [&](const TextbookCurve& a, const TextbookCurve& b) {
                                         return a.times[size].value < b.times[size].value;
                                       });
  return static_cast<std::size_t>(lowest - curves.curves.begin());
}

std::vector<CurveCrossing> crossings_of(const TextbookCurves& curves) {
  std::vector<CurveCrossing> crossings;
  for (std::size_t i = 1; i < curves.sizes.size(); ++i) {
    const std::size_t before = fastest_at(curves, i - 1);
    const std::size_t after = fastest_at(curves, i);
    if (before == after) continue;
    const auto time = [&](std::size_t curve, std::size_t at) {
      return curves.curves[curve].times[at].value;
    };
    const double lead_before = time(after, i - 1) - time(before, i - 1);
    const double lead_after = time(before, i) - time(after, i);
    const double both = lead_before + lead_after;
    const double share = both > 0 && std::isfinite(both) ? lead_before / both : 0;
    const auto from = static_cast<double>(curves.sizes[i - 1].count);
    const auto to = static_cast<double>(curves.sizes[i].count);
    crossings.push_back(
        {before, after, from + share * (to - from),
         Seconds{time(before, i - 1) + share * (time(before, i) - time(before, i - 1))}});
  }
  return crossings;
}

void print_fastest_map(const std::vector<TextbookCurves>& rows, std::ostream& out) {
  const TextbookCurves& first = rows.front();
  const std::string letters = letters_of(first);
  fmt::print(out, "# {}\n# fastest by the analytic model:\n",
             first.title.substr(0, first.title.rfind(',')));
  for (std::size_t c = 0; c < letters.size(); ++c) {
    fmt::print(out, "#   {} {}\n", letters[c], first.curves[c].algorithm);
  }
  fmt::print(out, "{:>6}", "ranks");
  constexpr std::size_t labelled = 4;
  for (std::size_t i = 0; i < first.sizes.size(); i += labelled) {
    fmt::print(out, " {:<7}", size_word(static_cast<double>(first.sizes[i].count)));
  }
  fmt::print(out, "\n");
  for (const TextbookCurves& row : rows) {
    fmt::print(out, "{:>6}", row.ranks);
    for (std::size_t i = 0; i < row.sizes.size(); ++i) {
      fmt::print(out, " {}", letters[fastest_at(row, i)]);
    }
    fmt::print(out, "\n");
  }
}

Table fastest_table(const std::vector<TextbookCurves>& rows) {
  Table table;
  for (const TextbookCurves& row : rows) {
    for (std::size_t i = 0; i < row.sizes.size(); ++i) {
      const TextbookCurve& fastest = row.curves[fastest_at(row, i)];
      NewRow add(table);
      add({"nranks", "ranks"}, row.ranks);
      add({"size_bytes", "size", "(B)"}, row.sizes[i].count);
      add({"fastest", "fastest"}, fastest.algorithm);
      add({"time_us", "time", "(us)"}, in_microseconds(fastest.times[i]));
    }
  }
  return table;
}

Chart curve_chart(const TextbookCurves& curves) {
  Chart chart{
      curves.title, {},   {"size", AxisScale::bytes, {}}, {"time (us)", AxisScale::logarithmic, {}},
      {},           false};
  int tone = 0;
  for (const TextbookCurve& curve : curves.curves) {
    ChartSeries series{curve.algorithm, SeriesMark::line, tone++};
    for (std::size_t i = 0; i < curves.sizes.size(); ++i) {
      if (!std::isfinite(curve.times[i].value)) continue;
      const double time = in_microseconds(curve.times[i]);
      const std::string text =
          fmt::format("{}, {}: {:.4g} us", curve.algorithm,
                      size_word(static_cast<double>(curves.sizes[i].count)), time);
      series.points.push_back({curves.sizes[i].count, time, {}, text});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

void print_curves_svg(const TextbookCurves& curves, std::ostream& out) {
  const LogFrame frame(curves);
  const double height =
      LogFrame::top + LogFrame::height + 50 + 16 * static_cast<double>(curves.curves.size());
  fmt::print(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 {0:.0f}\" width=\"720\" "
             "height=\"{0:.0f}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n"
             "<rect width=\"720\" height=\"{0:.0f}\" fill=\"#fff\"/>\n"
             "<text x=\"{1}\" y=\"18\" font-size=\"14\">{2}</text>\n",
             height, LogFrame::left, escaped(curves.title));
  print_axes(curves, frame, out);
  for (std::size_t c = 0; c < curves.curves.size(); ++c) print_curve(curves, c, frame, out);
  for (const CurveCrossing& each : crossings_of(curves)) {
    const double x = frame.x(each.size);
    const double y = frame.y(each.time.value);
    fmt::print(out,
               "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"none\" stroke=\"#222\"/>"
               "<text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3}</text>\n",
               x, y, y - 10, size_word(each.size));
  }
  fmt::print(out, "</svg>\n");
}

}  // namespace collsim::command
