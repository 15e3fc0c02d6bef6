#include "tools/collsim/crossover/choice_map_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <vector>

#include "sim/base/division.h"
#include "tools/collsim/core/markup.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

constexpr double percent = 100;

double mean_loss(const ChoiceRow& row) {
  double sum = 0;
  for (const ChoiceCell& cell : row.cells) sum += cell.loss(cell.chosen);
  return sum / static_cast<double>(row.cells.size());
}

// The text.

constexpr std::size_t label_width = 18;
constexpr std::size_t text_cell_width = 3;
constexpr std::size_t cells_per_line = (line_width - label_width) / text_cell_width;

template <typename TextOf>
void print_line(const std::string& label, std::span<const ChoiceCell> cells, TextOf text_of,
                std::ostream& out) {
  std::string line = fmt::format("{:<{}}", label, label_width);
  for (const ChoiceCell& cell : cells)
    line += fmt::format("{:<{}}", text_of(cell), text_cell_width);
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print(out, "{}\n", line);
}

/// Every fourth size, over its cell.
void print_sizes(std::span<const ChoiceCell> cells, std::ostream& out) {
  constexpr std::size_t every = 4;
  std::string line = fmt::format("{:<{}}", "", label_width);
  for (std::size_t i = 0; i < cells.size(); i += every) {
    line += fmt::format("{:<{}}", short_size(cells[i].size), every * text_cell_width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print(out, "{}\n", line);
}

/// In whole percent, of two digits; nothing below a half.
std::string short_loss(double loss) {
  constexpr double most = 99;
  const double rounded = std::min(most, std::round(percent * loss));
  return rounded < 1 ? "." : fmt::format("{:.0f}", rounded);
}

void print_row(const ChoiceRow& row, std::span<const ChoiceCell> cells, std::ostream& out) {
  print_line(
      name_of_row(row), cells,
      [&](const ChoiceCell& cell) { return code_of(row.pairs[cell.best], cell.is_open()); }, out);
  print_line(
      "  NCCL's choice", cells,
      [&](const ChoiceCell& cell) {
        return cell.chosen == cell.best ? "." : code_of(row.pairs[cell.chosen], false);
      },
      out);
  print_line(
      "  loses %", cells, [](const ChoiceCell& cell) { return short_loss(cell.loss(cell.chosen)); },
      out);
}

void print_legend(const ChoiceMap& map, std::ostream& out) {
  std::string line;
  for (const NcclVariants::Pair& pair : shown_pairs(map)) {
    const std::string word = fmt::format("{} {}", code_of(pair, false), name_of_pair(pair));
    if (!line.empty() && line.size() + word.size() + 2 > line_width) {
      fmt::print(out, "{}\n", line);
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + word;
  }
  fmt::print(out, "{}\nA small first letter: the lead is within the error of such predictions.\n",
             line);
}

void print_notes(const ChoiceMap& map, std::ostream& out) {
  for (const ChoiceRow& row : map.rows) {
    fmt::print(out, "{}\n", mean_loss_note(row));
  }
}

// The drawing.

constexpr int cell_width = 26;
constexpr int cell_height = 34;
constexpr int left = 150;
constexpr int top = 60;
constexpr int legend_step = 130;

/// A hue for each algorithm, darker from LL to Simple.
std::string color_of(const NcclVariants::Pair& pair) {
  constexpr std::array<int, nccl_algorithm_count> hues{130, 215, 300, 270, 25, 350, 55};
  constexpr PerProtocol<int> lightness{80, 66, 50};
  return fmt::format("hsl({},60%,{}%)", hues[index_of(pair.first)],
                     lightness[index_of(pair.second)]);
}

/// The best as a filled cell, hatched where the lead is within the error; NCCL's choice, where it
/// is another, as a bar below it, with what it loses.
void draw_cell(const ChoiceRow& row, const ChoiceCell& cell, int x, int y, std::ostream& out) {
  fmt::print(out, "<g><title>{}</title>", describe(row, cell));
  fmt::print(out, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", x, y,
             cell_width, cell_height, color_of(row.pairs[cell.best]));
  if (cell.is_open()) {
    fmt::print(out, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"url(#open)\"/>", x,
               y, cell_width, cell_height);
  }
  if (cell.chosen != cell.best) {
    constexpr int bar = 12;
    fmt::print(out,
               "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#fff\"/>"
               "<text x=\"{}\" y=\"{}\" font-size=\"9\" text-anchor=\"middle\">{}</text>",
               x, y + cell_height - bar, cell_width, bar, color_of(row.pairs[cell.chosen]),
               x + cell_width / 2, y + cell_height - 3, short_loss(cell.loss(cell.chosen)));
  }
  fmt::print(out, "</g>\n");
}

void draw_axis(const ChoiceRow& row, int bottom, std::ostream& out) {
  for (std::size_t i = 0; i < row.cells.size(); i += 2) {
    fmt::print(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\">{}</text>\n",
               left + static_cast<int>(i) * cell_width + cell_width / 2, bottom + 14,
               short_size(row.cells[i].size));
  }
}

void draw_legend(const ChoiceMap& map, int y, std::ostream& out) {
  int x = left;
  for (const NcclVariants::Pair& pair : shown_pairs(map)) {
    fmt::print(out,
               "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" fill=\"{}\"/>"
               "<text x=\"{}\" y=\"{}\">{}</text>\n",
               x, y, color_of(pair), x + 20, y + 11, name_of_pair(pair));
    x += legend_step;
  }
}

constexpr std::string_view hatching =
    "<defs><pattern id=\"open\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"6\" fill=\"#fff\" "
    "fill-opacity=\"0.7\"/></pattern></defs>\n";

constexpr std::string_view explanation =
    "Cells: what is fastest. Hatched: the lead is within the error of such predictions. Bars: what "
    "NCCL chooses instead, and how many percent it loses.";

}  // namespace

std::string title_of(const ChoiceMap& map) {
  return fmt::format("{} on {}", to_string(map.request->scenario.collective),
                     map.request->topology.name());
}

std::string name_of_row(const ChoiceRow& row) {
  if (row.nodes == 1) return fmt::format("{} ranks", row.ranks);
  return fmt::format("{} ranks, {} nodes", row.ranks, row.nodes);
}

std::string name_of_pair(const NcclVariants::Pair& pair) {
  return fmt::format("{}/{}", report_name(pair.first), report_name(pair.second));
}

std::string code_of(const NcclVariants::Pair& pair, bool open) {
  constexpr std::string_view algorithms = "TRDCNVP";
  constexpr std::string_view small = "trdcnvp";
  constexpr std::string_view protocols = "l8s";
  const std::size_t at = index_of(pair.first);
  return {open ? small[at] : algorithms[at], protocols[index_of(pair.second)]};
}

std::vector<NcclVariants::Pair> shown_pairs(const ChoiceMap& map) {
  std::map<NcclVariants::Pair, bool> shown;
  for (const ChoiceRow& row : map.rows) {
    for (const ChoiceCell& cell : row.cells) {
      shown[row.pairs[cell.best]] = true;
      shown[row.pairs[cell.chosen]] = true;
    }
  }
  std::vector<NcclVariants::Pair> pairs;
  pairs.reserve(shown.size());
  for (const auto& [pair, is_shown] : shown) pairs.push_back(pair);
  return pairs;
}

std::string short_size(Bytes size) {
  constexpr std::int64_t step = 1024;
  constexpr std::string_view units = "KMGT";
  std::int64_t count = size.count;
  std::size_t unit = 0;
  while (count >= step && count % step == 0 && unit < units.size()) {
    count /= step;
    ++unit;
  }
  return unit == 0 ? std::to_string(count) : fmt::format("{}{}", count, units[unit - 1]);
}

std::string describe(const ChoiceRow& row, const ChoiceCell& cell) {
  std::string text =
      fmt::format("{}, {}: {} {:.1f} us", name_of_row(row), short_size(cell.size),
                  name_of_pair(row.pairs[cell.best]), 1e6 * cell.times[cell.best].value);
  if (cell.second != cell.best) {
    text += fmt::format(", {} {:.1f} us", name_of_pair(row.pairs[cell.second]),
                        1e6 * cell.times[cell.second].value);
  }
  text += fmt::format("; NCCL chooses {}", name_of_pair(row.pairs[cell.chosen]));
  if (cell.chosen != cell.best) {
    text += fmt::format(", {:.1f} % slower", percent * cell.loss(cell.chosen));
  }
  return text;
}

std::string mean_loss_note(const ChoiceRow& row) {
  return fmt::format("{}: NCCL's choice loses {:.1f} % on average{}", name_of_row(row),
                     percent * mean_loss(row), row.simulated ? "" : "; by formulas, not simulated");
}

void add_cell(const ChoiceMap& map, const ChoiceRow& row, const ChoiceCell& cell, Table& table) {
  const auto time = [&](std::size_t way) { return 1e6 * cell.times[way].value; };
  NewRow add(table);
  add({"nranks", "ranks"}, row.ranks);
  add({"nodes", "nodes"}, row.nodes);
  add({"size_bytes", "size", "(B)"}, cell.size.count);
  add({"until_bytes", "up to", "(B)"}, cell.until.count);
  add({"best", "fastest"}, name_of_pair(row.pairs[cell.best]));
  add({"best_us", "time", "(us)"}, time(cell.best));
  add({"second", "next"}, name_of_pair(row.pairs[cell.second]));
  add({"second_us", "time", "(us)"}, time(cell.second));
  add({"lead_within_error", "lead within the error"}, cell.is_open());
  add({"error", "error of such predictions", "(%)", 0, percent}, cell.error);
  add({"choice", "NCCL's choice"}, name_of_pair(row.pairs[cell.chosen]));
  add({"choice_us", "time", "(us)"}, time(cell.chosen));
  add({"lost", "lost", "(%)", 1, percent}, cell.loss(cell.chosen));
  add({"simulated", "simulated"}, row.simulated);
  Record context = context_of(*map.request, &map.request->scenario.runs.front());
  context["nranks"] = row.ranks;
  table.rows.back().update(context);
}

void print_choice_map(const ChoiceMap& map, std::ostream& out) {
  fmt::print(out, "# {}: the fastest of what NCCL could run\n", title_of(map));
  const std::size_t sizes = map.rows.front().cells.size();
  const std::size_t blocks = divide_up(sizes, cells_per_line);
  const std::size_t per_block = divide_up(sizes, blocks);
  for (std::size_t begin = 0; begin < sizes; begin += per_block) {
    const std::size_t count = std::min(per_block, sizes - begin);
    print_sizes(std::span(map.rows.front().cells).subspan(begin, count), out);
    for (const ChoiceRow& row : map.rows) {
      print_row(row, std::span(row.cells).subspan(begin, count), out);
    }
    fmt::print(out, "\n");
  }
  print_legend(map, out);
  print_notes(map, out);
}

void print_choice_svg(const ChoiceMap& map, std::ostream& out) {
  const int rows = static_cast<int>(map.rows.size());
  const int columns = static_cast<int>(map.rows.front().cells.size());
  const int bottom = top + rows * cell_height;
  const int pairs = static_cast<int>(shown_pairs(map).size());
  const int width = left + std::max({columns * cell_width, pairs * legend_step, 760}) + 20;
  fmt::print(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n{}"
             "<text x=\"10\" y=\"22\" font-size=\"16\">{}</text>\n"
             "<text x=\"10\" y=\"44\">{}</text>\n",
             width, bottom + 60, hatching, escaped(title_of(map)), explanation);
  for (int i = 0; i < rows; ++i) {
    const ChoiceRow& row = map.rows[static_cast<std::size_t>(i)];
    const int y = top + i * cell_height;
    fmt::print(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", left - 8,
               y + cell_height / 2 + 4, name_of_row(row));
    for (int j = 0; j < columns; ++j) {
      draw_cell(row, row.cells[static_cast<std::size_t>(j)], left + j * cell_width, y, out);
    }
  }
  draw_axis(map.rows.front(), bottom, out);
  draw_legend(map, bottom + 30, out);
  fmt::print(out, "</svg>\n");
}

}  // namespace collsim::command
