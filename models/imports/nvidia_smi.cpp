#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/imports/import.h"
#include "models/imports/matrix.h"
#include "models/imports/matrix_text.h"
#include "models/nccl/system/cpu_generation.h"
#include "models/nccl/system/link_bandwidth.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

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

  std::vector<std::string> notes{};  ///< what was assumed, a sentence each

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

  bool have_sys(std::size_t a, std::size_t b) const {
    return matrix_.cells[a][b].relation == Relation::sys;
  }

  bool differ_in_numa(std::size_t a, std::size_t b) const {
    return matrix_.numa[a] && matrix_.numa[b] && matrix_.numa[a] != matrix_.numa[b];
  }

  /// Whether two devices have the same NUMA node, or the same CPUs; GPUs of one socket can be SYS
  /// to each other, as those of virtual machines are.
  bool share_cpus(std::size_t a, std::size_t b) const {
    if (matrix_.numa[a] && matrix_.numa[a] == matrix_.numa[b]) return true;
    return !matrix_.cpus[a].empty() && matrix_.cpus[a] == matrix_.cpus[b] && !differ_in_numa(a, b);
  }

  /// Whether the text says that two devices are on sockets of their own.
  bool are_apart(std::size_t a, std::size_t b) const {
    const bool other_cpus =
        !matrix_.cpus[a].empty() && !matrix_.cpus[b].empty() && matrix_.cpus[a] != matrix_.cpus[b];
    return have_sys(a, b) || differ_in_numa(a, b) || other_cpus;
  }

  /// What is nearer than SYS or shares CPUs. NVLink hides how two GPUs are joined besides: what
  /// nothing tells apart from an earlier socket is on that one.
  Groups sockets() const {
    const std::size_t count = matrix_.names.size();
    Groups groups = groups_up_to(Relation::node);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (share_cpus(a, b)) groups.join(a, b);
      }
    }
    for (std::size_t a = 0; a < count; ++a) {
      if (groups.of(a) != a) continue;
      for (std::size_t b = 0; b < a; ++b) {
        if (groups.of(b) != b || groups_are_apart(groups, a, b)) continue;
        groups.join(a, b);
        break;
      }
    }
    return groups;
  }

  bool groups_are_apart(const Groups& groups, std::size_t one, std::size_t other) const {
    for (std::size_t a = 0; a < matrix_.names.size(); ++a) {
      for (std::size_t b = 0; b < matrix_.names.size() && groups.of(a) == one; ++b) {
        if (groups.of(b) == other && are_apart(a, b)) return true;
      }
    }
    return false;
  }

  /// The socket of every device, as the number of one of its devices.
  std::vector<std::size_t> sockets_of_devices() {
    const Groups groups = sockets();
    std::vector<std::size_t> socket(matrix_.names.size());
    for (std::size_t i = 0; i < socket.size(); ++i) socket[i] = groups.of(i);
    if (gpu_.chip_link > 0) share_out_graces(socket);
    return socket;
  }

  /// A Grace has as many GPUs as its chip links have room for. NICs are SYS to all of them, since
  /// PCIe of GPUs is a NUMA node of its own: those are shared out.
  void share_out_graces(std::vector<std::size_t>& socket) {
    std::map<std::size_t, std::vector<std::size_t>> gpus_on;  // by socket
    std::vector<std::size_t> graces;
    for (std::size_t gpu = 0; gpu < matrix_.gpus; ++gpu) {
      std::vector<std::size_t>& gpus = gpus_on[socket[gpu]];
      const bool full = gpus.size() % gpu_.gpus_per_cpu == 0;
      gpus.push_back(gpu);
      if (full) graces.push_back(gpu);
      socket[gpu] = gpus[(gpus.size() - 1) / gpu_.gpus_per_cpu * gpu_.gpus_per_cpu];
    }
    std::vector<std::size_t> stray;
    for (std::size_t nic = matrix_.gpus; nic < socket.size(); ++nic) {
      if (!gpus_on.contains(socket[nic])) stray.push_back(nic);
    }
    for (std::size_t i = 0; i < stray.size(); ++i) {
      socket[stray[i]] = graces[i * graces.size() / stray.size()];
    }
    if (stray.empty()) return;
    notes.push_back(fmt::format(
        "{} NICs, which the matrix puts beside no GPU, are shared out among the Grace CPUs in "
        "their order.",
        stray.size()));
  }

  void add_pcie() {
    const std::vector<std::size_t> sockets_of = sockets_of_devices();
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
      auto& cpu = cpus[sockets_of[i]];
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
    for (std::size_t gpu = 0; gpu < matrix_.gpus && gpu_.chip_link > 0; ++gpu) {
      add_link(gpu, *cpus[sockets_of[gpu]], LinkKind::nvlink, gpu_.chip_link);
    }
    join_cpus(made);
  }

  /// What the CPUs are and what two of them have between them, in GB/s.
  std::pair<std::string, double> cpu_model() {
    if (gpu_.chip_link > 0) return {"Grace", between_graces};
    if (const CpuGeneration* said = find_cpu_generation(matrix_.cpu_name)) {
      return {std::string(said->name), said->between_sockets};
    }
    const CpuGeneration& generation =
        *find_cpu_generation(gpu_.pcie_generation <= 3   ? "Xeon Skylake"
                             : gpu_.pcie_generation == 4 ? "AMD EPYC Rome"
                                                         : "Xeon Sapphire Rapids");
    notes.push_back(fmt::format(
        "The text does not say which CPUs these are: taken to be {}, of the GPUs' time.",
        generation.name));
    return {std::string(generation.name), generation.between_sockets};
  }

  void join_cpus(const std::vector<std::uint32_t>& cpus) {
    if (cpus.size() == 1 && gpu_.chip_link == 0 && matrix_.cpu_name.empty()) return;
    const auto [model, between] = cpu_model();
    for (const std::uint32_t cpu : cpus) node_.devices[cpu].model = model;
    for (std::size_t a = 0; a < cpus.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus.size(); ++b) {
        add_link(cpus[a], cpus[b], LinkKind::cpu, between);
      }
    }
  }

  /// GB/s of the NVLink between two Grace CPUs each way (Fusco et al., "Understanding Data Movement
  /// in Tightly Coupled Heterogeneous Systems", 2024, table 1: 200 GB/s, both ways together).
  static constexpr double between_graces = 100;
  const std::string& file_;
  const Matrix& matrix_;
  const GpuModel& gpu_;
  NodeTemplate node_;
};

/// By the matrix: NVLinks by their number, direct or, where a GPU would need more links than its
/// model has, through an NVSwitch; PCIe switches where pairs are PIX or PXB; sockets by NUMA nodes
/// and CPUs, else where pairs are SYS. The matrix says no speeds: the model of the GPUs is
/// `options.gpu`, or what other lines of the text name.
ImportedNode import_nvidia_smi(const TextFile& text, const ImportOptions& options) {
  const Matrix matrix = read_matrix(text);
  const GpuModel* gpu = options.gpu != nullptr ? options.gpu : find_gpu_model(matrix.gpu_name);
  if (gpu == nullptr) {
    throw InputError(fmt::format("{}: the matrix does not say which GPUs these are", text.name),
                     fmt::format("`collsim topo import FILE --gpu NAME`, with NAME one of {}",
                                 gpu_model_names()));
  }
  HostMaker maker(text, matrix, *gpu);
  ImportedNode imported{
      maker.make(),
      {fmt::format("PCIe is taken to be gen{} x16 everywhere.", gpu->pcie_generation)},
      matrix.warnings};
  imported.notes.insert(imported.notes.end(), matrix.notes.begin(), matrix.notes.end());
  imported.notes.insert(imported.notes.end(), maker.notes.begin(), maker.notes.end());
  const bool linked = std::any_of(matrix.cells.begin(), matrix.cells.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(),
                       [](const MatrixCell& cell) { return cell.nvlinks > 0; });
  });
  const bool cards = options.cards || (options.gpu == nullptr && is_card(matrix.gpu_name));
  if (!linked && matrix.gpus > 1 && gpu->nvlinks > 0 && !cards) {
    imported.warnings.push_back(
        fmt::format("No NV# between the GPUs, though {} can have NVLinks: taken to have PCIe alone "
                    "(`nvidia-smi topo -mp` leaves NVLinks out).",
                    gpu->name));
  }
  return imported;
}

/// Whatever is nothing else may have a matrix that a paste has damaged.
const MachineFormat matrix_format(
    "what `nvidia-smi topo -m` prints",
    [](std::string_view text) {
      if (begins_with_element(text)) {
        const bool is_page = text.find("<system") == std::string_view::npos && is_html(text);
        return is_page ? FormatSign::inside : FormatSign::no;
      }
      const bool is_nccl = text.find("</system>") != std::string_view::npos;
      return !is_nccl && has_matrix({{}, std::string(text)}) ? FormatSign::inside : FormatSign::any;
    },
    import_nvidia_smi);

}  // namespace

}  // namespace collsim
