#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/request/composed_machine.h"

namespace collsim {

/// A machine that a log shows.
struct GuessedMachine {
  std::string name;  ///< of the shipped one, or what it is composed of
  Topology topology;
  std::optional<ComposedMachine> composed{};  ///< where it is not a shipped one as it is
  std::vector<std::string> guesses{};         ///< what the log does not say, a phrase each
  bool guesses_nics = false;                  ///< of the guesses some are of NICs and their network

  /// The factor by which limits get wider: predictions of the machine rest on guesses.
  double widening() const;
};

/// The machine that a log is of: what the recording names; else, of one host, the shipped one with
/// its GPUs, as many as there are; of several, the smallest shipped cluster whose hosts have its
/// GPUs, and whose NICs the log does not contradict by number, network or rate. Where there is
/// none, or a person says more of it (`hints`), it is composed: the board of those GPUs, the NICs
/// that the log names, and the likeliest network. Throws InputError, with what to pass, where the
/// log does not name a GPU that we know.
GuessedMachine guessed_machine(const Recording& recording, const LogFacts& facts,
                               const MachineHints& hints = {});

/// Machines that a log that names no GPU may be of, one of each common kind, with hosts of eight
/// GPUs where it does not say how many.
std::vector<GuessedMachine> machines_of_unnamed_gpus(const Recording& recording,
                                                     const LogFacts& facts,
                                                     const MachineHints& hints = {});

/// What guessed_machine() asks of a log: logs with the same are of the same machine.
std::string machine_key(const Recording& recording, const LogFacts& facts);

/// Hosts of GB200 and GB300 are trays of racks, each of which NCCL takes for one node: counts the
/// nodes of a log's rows by racks that their ranks fill, alike, and says so in a note.
void join_trays(Recording& recording, LogFacts& facts);

/// The size of the largest run of a log.
RunShape shape_of(const Recording& recording, const LogFacts& facts);

}  // namespace collsim
