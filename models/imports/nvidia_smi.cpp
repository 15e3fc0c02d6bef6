#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "models/imports/import.h"
#include "models/imports/matrix_text.h"
#include "models/nccl/cpu_generation.h"
#include "models/nccl/link_bandwidth.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::size_t column_limit = 256;
constexpr std::uint32_t max_nvlinks = 64;

/// How `nvidia-smi topo -m` says that two devices are joined, nearest first.
enum class Relation : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys };

struct Cell {
  Relation relation = Relation::self;
  std::uint32_t nvlinks = 0;
};

/// The matrix as it stands in the text.
struct Matrix {
  std::vector<std::string> names;
  std::size_t gpus = 0;                          ///< the first so many columns
  std::vector<std::vector<Cell>> cells;          ///< [row][column]
  std::vector<std::optional<int>> numa;          ///< of each row, where it says one
  std::map<std::string, std::string> nic_names;  ///< "NIC0": "mlx5_0", where the legend says it
};

std::optional<std::uint32_t> number_after(std::string_view text, std::string_view stem) {
  if (!text.starts_with(stem)) return std::nullopt;
  text.remove_prefix(stem.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// SOC is what drivers before 2018 print for SYS.
constexpr std::array<std::pair<std::string_view, Relation>, 7> relations{{{"X", Relation::self},
                                                                          {"PIX", Relation::pix},
                                                                          {"PXB", Relation::pxb},
                                                                          {"PHB", Relation::phb},
                                                                          {"NODE", Relation::node},
                                                                          {"SYS", Relation::sys},
                                                                          {"SOC", Relation::sys}}};

std::optional<Cell> read_cell(std::string_view text) {
  for (const auto& [name, relation] : relations) {
    if (text == name) return Cell{relation, 0};
  }
  const auto links = number_after(text, "NV");
  if (!links || *links == 0 || *links > max_nvlinks) return std::nullopt;
  return Cell{Relation::nvlink, *links};
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
std::vector<MatrixWord> relations_apart(const std::vector<MatrixWord>& words) {
  std::vector<MatrixWord> apart{words.front()};
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

class MatrixReader {
 public:
  explicit MatrixReader(const TextFile& text) : text_(text) {}

  Matrix read() {
    for (const MatrixLine& line : matrix_lines(text_)) read_line(line);
    if (matrix_.names.empty()) {
      throw InputError(SourcePosition{text_.name, 1, 1}, "no matrix of GPUs",
                       "what `nvidia-smi topo -m` prints, also as a table of Markdown or HTML; an "
                       "XML file of NCCL's; or what `lstopo --of xml` writes");
    }
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      if (matrix_.cells[i].empty()) {
        throw InputError(header_, fmt::format("column {} has no row", matrix_.names[i]),
                         "a row for every column");
      }
    }
    check_symmetry();
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(const MatrixWord& word, const std::string& wrong,
                         const std::string& accepted) const {
    throw InputError(SourcePosition{text_.name, word.line, word.column}, wrong, accepted);
  }

  /// The first cell of a table's header is the title of the rows, if it has one.
  static std::vector<MatrixWord> without_corner(const MatrixLine& line) {
    std::vector<MatrixWord> words = line.words;
    const bool corner = line.cells && !number_after(words.front().text, "GPU");
    if (corner) words.erase(words.begin());
    return words;
  }

  void read_line(const MatrixLine& line) {
    if (line.words.empty()) return;
    if (matrix_.names.empty()) {
      const std::vector<MatrixWord> words = without_corner(line);
      if (words.empty() || !number_after(words.front().text, "GPU")) return;
      if (words.size() < 2 || !read_cell(words[1].text)) read_header(words);
      return;
    }
    const std::string& title = line.words.front().text;
    const auto name = std::find(matrix_.names.begin(), matrix_.names.end(), title);
    if (name != matrix_.names.end()) {
      read_row(static_cast<std::size_t>(name - matrix_.names.begin()),
               line.cells ? line.words : relations_apart(line.words));
    } else if (title.ends_with(':') && line.words.size() == 2) {
      matrix_.nic_names[title.substr(0, title.size() - 1)] = line.words[1].text;
    }
  }

  void read_header(const std::vector<MatrixWord>& words) {
    header_ = {text_.name, words.front().line, words.front().column};
    for (std::size_t i = 0; i < words.size(); ++i) {
      const MatrixWord& word = words[i];
      if (is_beside_relations(word.text)) {
        read_titles(words, i);
        break;
      }
      if (word.text.empty()) continue;
      if (matrix_.names.size() == column_limit) {
        fail(word, fmt::format("more than {} columns", column_limit), "one host");
      }
      const bool gpu = number_after(word.text, "GPU").has_value();
      if (std::find(matrix_.names.begin(), matrix_.names.end(), word.text) != matrix_.names.end()) {
        fail(word, fmt::format("column {} is there twice", word.text), "every device once");
      }
      if (gpu && matrix_.gpus != matrix_.names.size()) {
        fail(word, fmt::format("{} after a NIC", word.text), "the GPUs first");
      }
      matrix_.names.push_back(word.text);
      if (gpu) ++matrix_.gpus;
    }
    matrix_.cells.resize(matrix_.names.size());
    matrix_.numa.resize(matrix_.names.size());
  }

  /// Where a row has its NUMA node: after the CPUs, if it has those.
  void read_titles(const std::vector<MatrixWord>& words, std::size_t first) {
    std::size_t place = 0;
    for (std::size_t i = first; i < words.size(); ++i) {
      const bool of_gpu = i > first && words[i - 1].text == "GPU";  // "GPU NUMA ID"
      if (words[i].text.starts_with("NUMA") && !of_gpu) {
        numa_place_ = place;
        return;
      }
      if (words[i].text != "Affinity") ++place;
    }
  }

  void read_row(std::size_t row, const std::vector<MatrixWord>& words) {
    std::vector<Cell>& cells = matrix_.cells[row];
    // The legend names NICs again, with a colon; a row comes once.
    if (!cells.empty()) fail(words.front(), "a second row of this name", "every device once");
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      if (i + 1 >= words.size()) {
        fail(words.back(), fmt::format("{} of {} columns", i, matrix_.names.size()),
             "a relation for every column");
      }
      const MatrixWord& word = words[i + 1];
      const auto cell = read_cell(word.text);
      const bool fits = cell && (cell->relation == Relation::self) == (i == row) &&
                        (cell->relation != Relation::nvlink || std::max(i, row) < matrix_.gpus);
      if (!fits) {
        fail(word,
             fmt::format("'{}' between {} and {}", word.text, matrix_.names[row], matrix_.names[i]),
             "X of a device with itself; PIX, PXB, PHB, NODE, SYS; NV1 to NV64 between GPUs");
      }
      cells.push_back(*cell);
    }
    if (numa_place_) read_numa(row, words, matrix_.names.size() + 1 + *numa_place_);
  }

  void read_numa(std::size_t row, const std::vector<MatrixWord>& words, std::size_t place) {
    if (place >= words.size()) return;
    const std::string& text = words[place].text;
    int node = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
    if (error == std::errc{} && end != text.data() && node >= 0) matrix_.numa[row] = node;
  }

  void check_symmetry() const {
    for (std::size_t a = 0; a < matrix_.names.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.names.size(); ++b) {
        const Cell& there = matrix_.cells[a][b];
        const Cell& back = matrix_.cells[b][a];
        if (there.relation != back.relation || there.nvlinks != back.nvlinks) {
          throw InputError(header_,
                           fmt::format("{} and {} are joined in one way there and in another back",
                                       matrix_.names[a], matrix_.names[b]),
                           "a matrix that is the same both ways");
        }
      }
    }
  }

  const TextFile& text_;
  SourcePosition header_;
  std::optional<std::size_t> numa_place_;  // after the relations
  Matrix matrix_;
};

/// Sets of devices that some relation puts together.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t device) const {
    while (parent_[device] != device) device = parent_[device];
    return device;
  }
  /// The smaller number stands for the group.
  void join(std::size_t a, std::size_t b) {
    const std::size_t first = of(a);
    const std::size_t second = of(b);
    parent_[std::max(first, second)] = std::min(first, second);
  }
  std::size_t size(std::size_t device) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < parent_.size(); ++i) count += of(i) == of(device) ? 1U : 0U;
    return count;
  }

 private:
  std::vector<std::size_t> parent_;
};

class HostMaker {
 public:
  HostMaker(const TextFile& text, const Matrix& matrix, const GpuModel& gpu)
      : file_(text.name), matrix_(matrix), gpu_(gpu) {}

  NodeTemplate make() {
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      const bool gpu = i < matrix_.gpus;
      GraphDevice device;
      device.name = fmt::format("{}{}", gpu ? "gpu" : "nic", gpu ? i : i - matrix_.gpus);
      device.kind = gpu ? DeviceKind::gpu : DeviceKind::nic;
      if (gpu) device.model = gpu_.name;
      const auto name = matrix_.nic_names.find(matrix_.names[i]);
      if (name != matrix_.nic_names.end()) device.model = name->second;
      node_.devices.push_back(std::move(device));
    }
    add_nvlinks();
    add_pcie();
    return std::move(node_);
  }

 private:
  std::uint32_t add(DeviceKind kind, std::string name) {
    GraphDevice device;
    device.name = std::move(name);
    device.kind = kind;
    node_.devices.push_back(std::move(device));
    return static_cast<std::uint32_t>(node_.devices.size() - 1);
  }

  void add_link(std::size_t from, std::size_t to, LinkKind kind, double bandwidth,
                std::uint32_t count = 1) {
    node_.links.push_back({static_cast<std::uint32_t>(from),
                           static_cast<std::uint32_t>(to),
                           kind,
                           count,
                           count * gigabytes_per_second(bandwidth),
                           {}});
  }

  /// NVLinks of a GPU, if every pair had its own, and the most to one peer.
  std::pair<std::uint32_t, std::uint32_t> links_of(std::size_t gpu) const {
    std::uint32_t sum = 0;
    std::uint32_t most = 0;
    for (std::size_t peer = 0; peer < matrix_.gpus; ++peer) {
      sum += matrix_.cells[gpu][peer].nvlinks;
      most = std::max(most, matrix_.cells[gpu][peer].nvlinks);
    }
    return {sum, most};
  }

  void add_nvlinks() {
    bool switched = false;
    for (std::size_t gpu = 0; gpu < matrix_.gpus; ++gpu) {
      const auto [sum, most] = links_of(gpu);
      if (most > gpu_.nvlinks) {
        throw InputError(fmt::format("{}: {} NVLinks between GPUs, but one {} has {}", file_, most,
                                     gpu_.name, gpu_.nvlinks),
                         "another GPU model");
      }
      switched = switched || sum > gpu_.nvlinks;
    }
    if (switched) {
      constexpr int first_with_multicast = 90;  // NVLink SHARP came with Hopper
      const std::uint32_t nvswitch = add(DeviceKind::nvswitch, "nvswitch0");
      node_.devices[nvswitch].reduces = gpu_.compute_capability >= first_with_multicast;
      for (std::size_t gpu = 0; gpu < matrix_.gpus; ++gpu) {
        const std::uint32_t links = links_of(gpu).second;
        if (links > 0) add_link(gpu, nvswitch, LinkKind::nvlink, gpu_.nvlink_bandwidth, links);
      }
      return;
    }
    for (std::size_t a = 0; a < matrix_.gpus; ++a) {
      for (std::size_t b = a + 1; b < matrix_.gpus; ++b) {
        const std::uint32_t links = matrix_.cells[a][b].nvlinks;
        if (links > 0) add_link(a, b, LinkKind::nvlink, gpu_.nvlink_bandwidth, links);
      }
    }
  }

  Groups groups_up_to(Relation worst) const {
    Groups groups(matrix_.names.size());
    for (std::size_t a = 0; a < matrix_.names.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.names.size(); ++b) {
        const Relation relation = matrix_.cells[a][b].relation;
        if (relation != Relation::nvlink && relation <= worst) groups.join(a, b);
      }
    }
    return groups;
  }

  /// What is nearer than SYS or has the same NUMA node. NVLink hides how two GPUs are joined
  /// besides; what nothing is known of is with the first GPU.
  Groups sockets() const {
    Groups groups = groups_up_to(Relation::node);
    for (std::size_t a = 0; a < matrix_.names.size(); ++a) {
      bool known = matrix_.numa[a].has_value() || a >= matrix_.gpus;
      for (std::size_t b = 0; b < matrix_.names.size(); ++b) {
        if (matrix_.numa[a] && matrix_.numa[a] == matrix_.numa[b]) groups.join(a, b);
        const Relation relation = matrix_.cells[a][b].relation;
        known = known || relation > Relation::nvlink;
      }
      if (!known) groups.join(0, a);
    }
    return groups;
  }

  void add_pcie() {
    const Groups sockets_of = sockets();
    const Groups bridged = groups_up_to(Relation::pxb);
    const Groups switched = groups_up_to(Relation::pix);
    const double bandwidth =
        pci_line_rate(pci_gen3_bandwidth) * std::exp2(gpu_.pcie_generation - 3);
    std::vector<std::optional<std::uint32_t>> above(matrix_.names.size());
    std::vector<std::optional<std::uint32_t>> lower(matrix_.names.size());
    std::vector<std::optional<std::uint32_t>> cpus(matrix_.names.size());
    std::vector<std::uint32_t> made;
    std::size_t switches = 0;
    const auto add_switch = [&] {
      return add(DeviceKind::pcie_switch, fmt::format("pcie{}", switches++));
    };
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      auto& cpu = cpus[sockets_of.of(i)];
      if (!cpu) {
        cpu = add(DeviceKind::cpu, fmt::format("cpu{}", made.size()));
        made.push_back(*cpu);
      }
      if (bridged.size(i) == 1) {
        add_link(i, *cpu, LinkKind::pcie, bandwidth);
        continue;
      }
      // PXB alone: a switch of its own for each set of PIX, below one that joins them.
      auto& upper = above[bridged.of(i)];
      if (!upper) {
        upper = add_switch();
        add_link(*upper, *cpu, LinkKind::pcie, bandwidth);
      }
      std::uint32_t parent = *upper;
      if (switched.size(i) != bridged.size(i)) {
        auto& own = lower[switched.of(i)];
        if (!own) {
          own = add_switch();
          add_link(*own, *upper, LinkKind::pcie, bandwidth);
        }
        parent = *own;
      }
      add_link(i, parent, LinkKind::pcie, bandwidth);
    }
    join_cpus(made);
  }

  /// CPUs of the GPU's time.
  const CpuGeneration& cpus_of_the_time() const {
    return *find_cpu_generation(gpu_.pcie_generation <= 3   ? "Xeon Skylake"
                                : gpu_.pcie_generation == 4 ? "AMD EPYC Rome"
                                                            : "Xeon Sapphire Rapids");
  }

  void join_cpus(const std::vector<std::uint32_t>& cpus) {
    const CpuGeneration& generation = cpus_of_the_time();
    for (const std::uint32_t cpu : cpus) {
      if (cpus.size() > 1) node_.devices[cpu].model = generation.name;
    }
    for (std::size_t a = 0; a < cpus.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus.size(); ++b) {
        add_link(cpus[a], cpus[b], LinkKind::cpu, generation.between_sockets);
      }
    }
  }

  const std::string& file_;
  const Matrix& matrix_;
  const GpuModel& gpu_;
  NodeTemplate node_;
};

}  // namespace

ImportedNode import_nvidia_smi(const TextFile& text, const ImportOptions& options) {
  const Matrix matrix = MatrixReader(text).read();
  if (options.gpu == nullptr) {
    throw InputError(fmt::format("{}: the matrix does not say which GPUs these are", text.name),
                     fmt::format("--gpu NAME, one of {}", gpu_model_names()));
  }
  const bool linked = std::any_of(matrix.cells.begin(), matrix.cells.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const Cell& cell) { return cell.nvlinks > 0; });
  });
  ImportedNode imported{
      HostMaker(text, matrix, *options.gpu).make(),
      {fmt::format("PCIe is taken to be gen{} x16 everywhere, and sockets of the same time.",
                   options.gpu->pcie_generation)}};
  if (!linked && matrix.gpus > 1 && options.gpu->nvlinks > 0 && !options.cards) {
    imported.warnings.push_back(
        fmt::format("No NV# between the GPUs, though {} can have NVLinks: taken to have PCIe alone "
                    "(`nvidia-smi topo -mp` leaves NVLinks out).",
                    options.gpu->name));
  }
  return imported;
}

}  // namespace collsim
