#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/machine/gpu_model.h"
#include "sim/base/file_format.h"
#include "sim/base/text_file.h"
#include "sim/topologies/node_template.h"

namespace collsim {

/// One host as a tool of NVIDIA's describes it.
struct ImportedNode {
  NodeTemplate node;
  std::vector<std::string> notes;  ///< what the tool does not say and we assume, a sentence each
  std::vector<std::string> warnings{};  ///< what of the text is left out or odd, a sentence each
};

/// What a person adds to a description.
struct ImportOptions {
  const GpuModel* gpu = nullptr;  ///< what the GPUs are; overrides what the file says
  bool cards = false;             ///< they are PCIe cards, which no NVSwitch joins
  std::uint32_t added_nics = 0;   ///< NICs to add, shared out evenly beside the GPUs
};

/// Reads one host from a topology file of NCCL's (NCCL_TOPO_DUMP_FILE), what `nvidia-smi topo -m`
/// prints or what `lstopo --of xml` writes; which of them it is shows in the text. NCCL's may stand
/// inside a longer text, such as an issue. A graph file of NCCL's (NCCL_GRAPH_DUMP_FILE) is
/// refused: it has the channels that NCCL chose, not the links of the machine. The result makes a
/// topology that loads: at least one GPU, all of them joined. Throws InputError for everything that
/// is wrong; nothing in a text makes it crash, hang or take more memory than a few hundred bytes
/// for each of the text's.
ImportedNode import_node(const TextFile& text, const ImportOptions& options = {});

/// Adds NICs: number i of n beside GPU i * gpus / n, as wide as that GPU's PCIe, on the same switch
/// or socket; on the GPU itself where it has neither.
void add_nics(NodeTemplate& node, std::uint32_t count);

/// Whether a text is one that import_node() is for, and no YAML of ours: XML, HTML, NCCL's topology
/// inside another text, or a matrix of GPUs.
bool is_importable(const TextFile& text);

/// How a description of a host is read: MachineFormat::find() says what it is.
using MachineFormat =
    ReadFormat<FileKind::machine, ImportedNode(const TextFile& text, const ImportOptions& options)>;

/// Whether a text begins as XML or HTML does.
bool begins_with_element(std::string_view text);

/// Imports the system that NCCL makes of the file: PCIe as fast as NCCL takes it to be, NVLinks as
/// many as it counts, each as fast as the data sheet says.
ImportedNode import_nccl_topology(const TextFile& text, const ImportOptions& options);

}  // namespace collsim
