#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/imports/machine_parts.h"
#include "models/machine/gpu_model.h"
#include "models/recordings/log_facts.h"

namespace collsim {

/// How many nodes a run had, and how many ranks one of them.
struct RunShape {
  std::uint32_t nodes = 1;
  std::uint32_t per_node = 0;
  std::uint32_t hosts = 1;  ///< of a node: more where it is a rack of trays
};

/// What a person or a file says of a log's machine beside the log.
struct MachineHints {
  std::optional<std::uint32_t> nodes{};
  std::string fabric{};                     ///< a shipped fabric, or a file of one
  std::string nic{};                        ///< "200Gb/s", or "4x200Gb/s" for their number as well
  std::string base{};                       ///< a machine whose hosts it has
  std::optional<NodeTemplate> described{};  ///< a host, by nvidia-smi, NCCL's topology or lstopo

  bool any() const {
    return nodes || !fabric.empty() || !nic.empty() || !base.empty() || described;
  }
};

/// A host before the log is heeded.
struct Board {
  std::string name;      ///< of a shipped template, or what describes it
  NodeTemplate node;     ///< with the NICs that it has by itself
  std::string fabric{};  ///< its own, as MachineParts has it; may be empty
  std::string calibration{};
  std::vector<std::string> guesses{};  ///< what was assumed of it, a phrase each
};

/// A machine that was put together.
struct ComposedMachine {
  MachineParts parts;
  std::uint32_t nodes = 1;
  std::vector<std::string> guesses;  ///< what neither the log nor a person says, a phrase each
  bool guesses_nics = false;         ///< their number, rate or kind is among the guesses
  std::vector<std::string> lines;    ///< of YAML that describe it: nodes, fabric, calibration
};

/// The board of `gpus` such GPUs: the shipped template of that many, or of another GPU of the same
/// kind with its links. Throws InputError where there is none.
Board board_of(const GpuModel& model, bool is_card, std::uint32_t gpus);

/// Hosts of that board with as many NICs as the log names, and the network and rate that it or a
/// person says, else those of the GPUs' time. Throws InputError for hints that cannot be.
ComposedMachine compose_machine(Board board, const RunShape& shape, const LogFacts& facts,
                                const GpuModel* model, const MachineHints& hints);

}  // namespace collsim
