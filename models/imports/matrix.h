#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/text_file.h"

namespace collsim {

/// How `nvidia-smi topo -m` says that two devices are joined, nearest first; `unknown` where the
/// text has lost it.
enum class Relation : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys, unknown };

/// How two devices are joined.
struct MatrixCell {
  Relation relation = Relation::unknown;
  std::uint32_t nvlinks = 0;
};

/// What `nvidia-smi topo -m` prints, and what the text around it says of the host.
struct Matrix {
  std::vector<std::string> names;              ///< of the columns: GPU0, GPU1, NIC0, mlx5_1
  std::size_t gpus = 0;                        ///< the first so many columns
  std::vector<std::vector<MatrixCell>> cells;  ///< [row][column], the same both ways
  std::vector<std::optional<int>> numa;        ///< the NUMA node of each row, where it says one
  std::vector<std::string> cpus;  ///< the CPUs beside each row ("0-55,112-167"), where it says some
  std::map<std::string, std::string> nic_names{};  ///< "NIC0": "mlx5_0", where the legend says it
  std::string
      gpu_name{};  ///< that all GPUs have by other lines of the text; empty: they do not say
  std::string cpu_name{};               ///< by a line "Model name:" of lscpu's; or empty
  std::vector<std::string> notes{};     ///< what was completed or left out, a sentence each
  std::vector<std::string> warnings{};  ///< what of it may be wrong, a sentence each
};

/// Whether a text has a matrix of GPUs.
bool has_matrix(const TextFile& text);

/// Reads the first matrix of a text. Rows and ends of rows that a paste has lost follow from the
/// columns, since a matrix is the same both ways. Later matrices, and those of `topo -p2p`, are
/// left out with a note. Throws InputError for what no nvidia-smi prints, and where the text does
/// not say how two GPUs are joined.
Matrix read_matrix(const TextFile& text);

}  // namespace collsim
