#include "models/imports/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "models/imports/matrix_text.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

constexpr std::size_t column_limit = 256;
constexpr std::uint32_t max_nvlinks = 64;

using Words = std::vector<MatrixWord>;

/// A header and the rows below it.
struct MatrixBlock {
  Words header;
  std::vector<Words> rows;
};

std::optional<std::uint32_t> number_after(std::string_view text, std::string_view stem) {
  if (!text.starts_with(stem)) return std::nullopt;
  return parse_number<std::uint32_t>(text.substr(stem.size()));
}

bool is_gpu(std::string_view name) {
  return number_after(name, "GPU").has_value();
}

/// SOC is what drivers before 2018 print for SYS.
constexpr std::array<std::pair<std::string_view, Relation>, 7> relations{{{"X", Relation::self},
                                                                          {"PIX", Relation::pix},
                                                                          {"PXB", Relation::pxb},
                                                                          {"PHB", Relation::phb},
                                                                          {"NODE", Relation::node},
                                                                          {"SYS", Relation::sys},
                                                                          {"SOC", Relation::sys}}};

/// What `nvidia-smi topo -p2p` prints of a pair: OK, or why not.
constexpr std::array<std::string_view, 7> peer_states{"OK", "NS", "CNS", "GNS", "TNS", "DR", "U"};

bool is_peer_state(std::string_view text) {
  return std::find(peer_states.begin(), peer_states.end(), text) != peer_states.end();
}

std::optional<MatrixCell> read_cell(std::string_view text) {
  for (const auto& [name, relation] : relations) {
    if (text == name) return MatrixCell{relation, 0};
  }
  const auto links = number_after(text, "NV");
  if (!links || *links == 0 || *links > max_nvlinks) return std::nullopt;
  return MatrixCell{Relation::nvlink, *links};
}

/// The relation that a text begins with, as text; empty if there is none.
std::string_view relation_at(std::string_view text) {
  if (text.starts_with("NV")) {
    return text.substr(0, text.find_first_not_of("0123456789", 2));
  }
  for (const auto& [name, relation] : relations) {
    if (text.starts_with(name)) return text.substr(0, name.size());
  }
  return {};
}

/// The words of a row, where the blanks between relations may be lost: "NODENODE" is two. A word
/// that is not made of relations stays as it is.
Words relations_apart(const Words& words) {
  Words apart{words.front()};
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    const std::size_t first = apart.size();
    std::string_view rest = word->text;
    while (!rest.empty()) {
      const std::string_view relation = relation_at(rest);
      if (relation.empty()) break;
      const auto offset = static_cast<int>(word->text.size() - rest.size());
      apart.push_back({std::string(relation), word->line, word->column + offset});
      rest.remove_prefix(relation.size());
    }
    if (!rest.empty() || apart.size() == first) {
      apart.resize(first);
      apart.push_back(*word);
    }
  }
  return apart;
}

/// The columns after the relations. Their titles are words of their own, but for tables.
bool is_beside_relations(std::string_view title) {
  return title == "GPU" || title.starts_with("CPU") || title.starts_with("NUMA") ||
         title.starts_with("GPU NUMA");
}

/// The first cell of a table's header is the title of the rows, if it has one.
Words without_corner(const MatrixLine& line) {
  Words words = line.words;
  const bool corner = line.cells && !words.empty() && !is_gpu(words.front().text);
  if (corner) words.erase(words.begin());
  return words;
}

/// A row begins like a header, but goes on with a relation, or with whatever stands in its place.
bool is_header(const Words& words) {
  if (words.empty() || !is_gpu(words.front().text)) return false;
  if (words.size() < 2) return true;
  const std::string& second = words[1].text;
  return !read_cell(second) && !is_peer_state(second) && relation_at(second) != second;
}

bool is_next_header(const Words& words) {
  return is_header(words) && words.size() > 1 &&
         (is_gpu(words[1].text) || is_beside_relations(words[1].text));
}

bool is_of_peers(const MatrixBlock& block) {
  return std::any_of(block.rows.begin(), block.rows.end(), [](const Words& row) {
    return std::any_of(row.begin() + 1, row.end(),
                       [](const MatrixWord& word) { return is_peer_state(word.text); });
  });
}

std::string joined(Words::const_iterator begin, Words::const_iterator end) {
  std::string text;
  for (; begin != end; ++begin) {
    if (!text.empty()) text += ' ';
    text += begin->text;
  }
  return text;
}

/// The name of a GPU that a line of another tool says: "GPU 0: NVIDIA H200 (UUID: ...)" of
/// `nvidia-smi -L`, "GPU 0,1: NVIDIA H20" of reports of an environment, or "|   0  NVIDIA H100 ..."
/// of nvidia-smi's own table.
std::string gpu_name_in(const MatrixLine& line) {
  if (line.cells) {
    const std::string& cell = line.words.front().text;
    const std::size_t name = std::min(cell.find_first_not_of("0123456789"), cell.size());
    const std::string rest = cell.substr(name);
    const bool named = name > 0 && (rest.starts_with(" NVIDIA") || rest.starts_with(" Tesla"));
    return named ? rest : std::string();
  }
  const std::string text = joined(line.words.begin(), line.words.end());
  constexpr std::string_view title = "GPU ";
  if (!text.starts_with(title)) return {};
  const std::size_t colon = text.find_first_not_of("0123456789,", title.size());
  if (colon == title.size() || colon == std::string::npos || text[colon] != ':') return {};
  return text.substr(colon + 1, text.find('(') - colon - 1);
}

/// Takes a text apart: the blocks that look like matrices, and what other lines say.
class MatrixFinder {
 public:
  explicit MatrixFinder(const TextFile& text) {
    for (const MatrixLine& line : matrix_lines(text)) read_line(line);
    // "GPU0 is slow" begins like a header.
    std::erase_if(blocks, [](const MatrixBlock& block) { return block.rows.empty(); });
  }

  std::vector<MatrixBlock> blocks{};
  std::map<std::string, std::string> nic_names{};
  std::vector<std::string> gpu_names{};
  std::string cpu_name{};

 private:
  void read_line(const MatrixLine& line) {
    if (line.words.empty()) return;
    const Words header = without_corner(line);
    if (blocks.empty() ? is_header(header) : is_next_header(header)) {
      blocks.push_back({header, {}});
      return;
    }
    const std::string& title = line.words.front().text;
    if (!blocks.empty() && has_column(blocks.back(), title)) {
      blocks.back().rows.push_back(line.cells ? line.words : relations_apart(line.words));
    } else if (title.ends_with(':') && line.words.size() == 2) {
      nic_names[title.substr(0, title.size() - 1)] = line.words[1].text;
    } else if (std::string name = gpu_name_in(line); !name.empty()) {
      gpu_names.push_back(std::move(name));
    } else if (title == "Model" && line.words.size() > 2 && line.words[1].text == "name:") {
      cpu_name = joined(line.words.begin() + 2, line.words.end());
    }
  }

  static bool has_column(const MatrixBlock& block, const std::string& name) {
    return std::any_of(block.header.begin(), block.header.end(),
                       [&](const MatrixWord& word) { return word.text == name; });
  }
};

class MatrixReader {
 public:
  explicit MatrixReader(const TextFile& text) : text_(text) {}

  Matrix read() {
    MatrixFinder found(text_);
    const MatrixBlock& block = choose(found.blocks);
    read_header(block.header);
    for (const Words& row : block.rows) read_row(row);
    check_symmetry();
    complete();
    matrix_.nic_names = std::move(found.nic_names);
    matrix_.cpu_name = std::move(found.cpu_name);
    const auto& names = found.gpu_names;
    if (!names.empty() && std::count(names.begin(), names.end(), names.front()) ==
                              static_cast<std::ptrdiff_t>(names.size())) {
      matrix_.gpu_name = names.front();
    }
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(const MatrixWord& word, const std::string& wrong,
                         const std::string& accepted) const {
    throw InputError(SourcePosition{text_.name, word.line, word.column}, wrong, accepted);
  }

  /// rocm-smi prints matrices of weights, of hops and of kinds of links, which look alike.
  void refuse_other_makers(const std::vector<MatrixBlock>& blocks) const {
    for (const MatrixBlock& block : blocks) {
      for (const Words& row : block.rows) {
        const auto sign = std::find_if(row.begin(), row.end(),
                                       [](const MatrixWord& word) { return word.text == "XGMI"; });
        if (sign == row.end()) continue;
        fail(*sign, "'XGMI', which rocm-smi prints of AMD's GPUs", "a machine with NVIDIA's GPUs");
      }
    }
  }

  /// The first matrix that is not of peers.
  const MatrixBlock& choose(const std::vector<MatrixBlock>& blocks) {
    refuse_other_makers(blocks);
    const MatrixBlock* chosen = nullptr;
    for (const MatrixBlock& block : blocks) {
      const bool peers = is_of_peers(block);
      if (!peers && chosen == nullptr) {
        chosen = &block;
        continue;
      }
      matrix_.notes.push_back(
          fmt::format("The matrix in line {} is left out{}.", block.header.front().line,
                      peers ? ": it is of `topo -p2p`, and peer-to-peer is as NCCL's rules have it "
                              "(NCCL_P2P_DISABLE, NCCL_P2P_LEVEL)"
                            : ", as another one than the first"));
    }
    if (chosen != nullptr) return *chosen;
    throw InputError(SourcePosition{text_.name, 1, 1},
                     blocks.empty() ? "no matrix of GPUs" : "no matrix but of `topo -p2p`",
                     "what `nvidia-smi topo -m` prints, also as a table of Markdown or HTML; an "
                     "XML file of NCCL's; or what `lstopo --of xml` writes");
  }

  void read_header(const Words& words) {
    header_ = {text_.name, words.front().line, words.front().column};
    for (std::size_t i = 0; i < words.size(); ++i) {
      const MatrixWord& word = words[i];
      if (is_beside_relations(word.text)) {
        read_titles(words, i);
        break;
      }
      if (!word.text.empty()) add_column(word);
    }
    const std::size_t count = matrix_.names.size();
    matrix_.cells.assign(count, std::vector<MatrixCell>(count));
    matrix_.numa.resize(count);
    matrix_.cpus.resize(count);
    read_.resize(count);
  }

  void add_column(const MatrixWord& word) {
    if (matrix_.names.size() == column_limit) {
      fail(word, fmt::format("more than {} columns", column_limit), "one host");
    }
    if (std::find(matrix_.names.begin(), matrix_.names.end(), word.text) != matrix_.names.end()) {
      fail(word, fmt::format("duplicate column {}", word.text),
           "each device has one row and one column");
    }
    if (is_gpu(word.text) && matrix_.gpus != matrix_.names.size()) {
      fail(word, fmt::format("{} stands after a NIC", word.text), "list the GPUs first");
    }
    matrix_.names.push_back(word.text);
    if (is_gpu(word.text)) ++matrix_.gpus;
  }

  /// Where a row has its CPUs and its NUMA node: after the relations.
  void read_titles(const Words& words, std::size_t first) {
    std::size_t place = 0;
    for (std::size_t i = first; i < words.size(); ++i) {
      const bool of_gpu = i > first && words[i - 1].text == "GPU";  // "GPU NUMA ID"
      if (words[i].text.starts_with("CPU")) cpu_place_ = place;
      if (words[i].text.starts_with("NUMA") && !of_gpu) {
        numa_place_ = place;
        return;
      }
      if (words[i].text != "Affinity") ++place;
    }
  }

  void read_row(const Words& words) {
    const auto name = std::find(matrix_.names.begin(), matrix_.names.end(), words.front().text);
    if (name == matrix_.names.end()) return;
    const auto row = static_cast<std::size_t>(name - matrix_.names.begin());
    // The legend names NICs again, with a colon; a row comes once.
    if (read_[row])
      fail(words.front(), "duplicate row of this name", "each device has one row and one column");
    read_[row] = true;
    const std::size_t columns = std::min(matrix_.names.size(), words.size() - 1);
    for (std::size_t i = 0; i < columns; ++i) {
      matrix_.cells[row][i] = cell_of(row, i, words[i + 1]);
    }
    if (columns < matrix_.names.size()) cut_.push_back(row);
    read_cpus(row, words);
  }

  MatrixCell cell_of(std::size_t row, std::size_t column, const MatrixWord& word) const {
    const auto cell = read_cell(word.text);
    const bool fits = cell && (cell->relation == Relation::self) == (column == row) &&
                      (cell->relation != Relation::nvlink || std::max(column, row) < matrix_.gpus);
    if (fits) return *cell;
    fail(
        word,
        fmt::format("'{}' between {} and {}", word.text, matrix_.names[row], matrix_.names[column]),
        "X of a device with itself; PIX, PXB, PHB, NODE, SYS; NV1 to NV64 between GPUs");
  }

  void read_cpus(std::size_t row, const Words& words) {
    const std::size_t first = matrix_.names.size() + 1;
    const auto text_at = [&](const std::optional<std::size_t>& place) {
      const bool there = place && first + *place < words.size();
      return there ? std::string_view(words[first + *place].text) : std::string_view();
    };
    const std::string_view cpus = text_at(cpu_place_);
    if (!cpus.empty() && std::isdigit(static_cast<unsigned char>(cpus.front())) != 0) {
      matrix_.cpus[row] = cpus;
    }
    const int node = leading_number<int>(text_at(numa_place_)).value_or(-1);
    if (node >= 0) matrix_.numa[row] = node;
  }

  void check_symmetry() const {
    for (std::size_t a = 0; a < matrix_.names.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.names.size(); ++b) {
        const MatrixCell& there = matrix_.cells[a][b];
        const MatrixCell& back = matrix_.cells[b][a];
        if (there.relation == Relation::unknown || back.relation == Relation::unknown) continue;
        if (there.relation == back.relation && there.nvlinks == back.nvlinks) continue;
        throw InputError(header_,
                         fmt::format("{} and {} are joined differently in the two directions",
                                     matrix_.names[a], matrix_.names[b]),
                         "a matrix that is the same both ways");
      }
    }
  }

  /// What a row has lost stands in the column of its name.
  void complete() {
    const std::size_t count = matrix_.names.size();
    std::size_t unknown_nics = 0;
    std::size_t unknown_gpus = 0;
    for (std::size_t a = 0; a < count; ++a) {
      matrix_.cells[a][a].relation = Relation::self;
      for (std::size_t b = 0; b < count; ++b) {
        if (matrix_.cells[a][b].relation == Relation::unknown) {
          matrix_.cells[a][b] = matrix_.cells[b][a];
        }
        if (b <= a || matrix_.cells[a][b].relation != Relation::unknown) continue;
        if (b < matrix_.gpus) {
          complete_gpus(a, b);
        } else {
          ++(a < matrix_.gpus ? unknown_gpus : unknown_nics);
        }
      }
    }
    if (unknown_gpus > 0) {
      matrix_.warnings.push_back(fmt::format(
          "The text does not say how GPUs and NICs are joined, in {} pairs: taken to be on no "
          "common PCIe switch.",
          unknown_gpus));
    }
    note_lost_rows();
    if (unknown_nics > 0) {
      matrix_.notes.push_back(fmt::format(
          "The relation of {} pairs of NICs to each other is not in the text; that to GPUs is.",
          unknown_nics));
    }
  }

  /// Two GPUs of which nothing is said are joined as all others are, if these are all alike.
  void complete_gpus(std::size_t a, std::size_t b) {
    const MatrixCell* like = nullptr;
    for (std::size_t row = 0; row < matrix_.gpus; ++row) {
      for (std::size_t column = 0; column < matrix_.gpus; ++column) {
        const MatrixCell& cell = matrix_.cells[row][column];
        if (row == column || cell.relation == Relation::unknown) continue;
        if (like == nullptr) like = &cell;
        if (cell.relation != like->relation || cell.nvlinks != like->nvlinks) fail_unknown(a, b);
      }
    }
    if (like == nullptr) fail_unknown(a, b);
    matrix_.cells[b][a] = matrix_.cells[a][b] = MatrixCell(*like);
  }

  [[noreturn]] void fail_unknown(std::size_t a, std::size_t b) const {
    throw InputError(header_,
                     fmt::format("nothing says how {} and {} are joined: neither of them has a "
                                 "whole row",
                                 matrix_.names[a], matrix_.names[b]),
                     "the rows of all GPUs");
  }

  void note_lost_rows() {
    std::vector<std::string> gpus;
    std::size_t nics = 0;
    for (std::size_t row = 0; row < matrix_.names.size(); ++row) {
      if (read_[row] && std::find(cut_.begin(), cut_.end(), row) == cut_.end()) continue;
      if (row < matrix_.gpus) {
        gpus.push_back(matrix_.names[row]);
      } else {
        ++nics;
      }
    }
    if (!gpus.empty()) {
      matrix_.warnings.push_back(
          fmt::format("The text has lost the row of {}, or its end: taken from the columns.",
                      fmt::join(gpus, ", ")));
    }
    if (nics > 0) {
      matrix_.notes.push_back(fmt::format(
          "Rows of NICs that the text has lost, {}, are taken from the columns.", nics));
    }
  }

  const TextFile& text_;
  SourcePosition header_;
  std::optional<std::size_t> cpu_place_;   // after the relations
  std::optional<std::size_t> numa_place_;  // after the relations
  std::vector<bool> read_;                 // of each row
  std::vector<std::size_t> cut_;           // rows with too few columns
  Matrix matrix_;
};

}  // namespace

bool has_matrix(const TextFile& text) {
  return !MatrixFinder(text).blocks.empty();
}

Matrix read_matrix(const TextFile& text) {
  return MatrixReader(text).read();
}

}  // namespace collsim
