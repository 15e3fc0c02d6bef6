#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/program/tensor_slice.h"
#include "sim/base/units.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What a call of a program does on its communicator. Sizes count as for Collective; a send and the
/// receive that it meets have the bytes that are sent.
enum class ProgramCallKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send,
  receive,
};
/// The word of a program's file for the kind: "all_reduce", "send".
std::string_view to_string(ProgramCallKind kind);
/// The kind of that name, or nothing.
std::optional<ProgramCallKind> find_program_call(std::string_view name);
/// The names of all kinds, with commas between them, for messages.
std::string program_call_names();
/// What is planned for the call: a message goes one way, as from a scatter's root to its only
/// other rank.
Collective collective_of(ProgramCallKind kind);

/// Whether it is a send or a receive.
constexpr bool is_message(ProgramCallKind kind) {
  return kind == ProgramCallKind::send || kind == ProgramCallKind::receive;
}

/// More channels than any release of NCCL gives a call; far more is a mistake.
inline constexpr std::uint32_t max_program_channels = 1024;

/// One call as one rank issues it.
struct ProgramCall {
  std::uint32_t communicator = 0;
  ProgramCallKind kind = ProgramCallKind::all_reduce;
  Bytes bytes;
  std::uint32_t peer = 0;   ///< of a message: the group at its other end
  std::uint32_t count = 1;  ///< that many in a row, of an op's `inner` calls
  /// Channels that it had when the program was measured (`CallProgram::measured`); 0: not known.
  std::uint32_t channels = 0;
  /// The time of the kernels beside one of an op's `inner` calls, without it: a part of the op's
  /// `compute`.
  Seconds beside{};
  /// Of a broadcast or a reduce, and of a message that has met (CallMeetings) who sends: its place
  /// in the communicator.
  Rank root = 0;
  /// Which of CallProgram::moved it moves; nothing where only its size is known.
  std::optional<std::uint32_t> moved{};

  bool operator==(const ProgramCall&) const = default;
};

/// A product of an m x k with a k x n matrix, whose time is the kernel model's to say.
struct MatrixProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool operator==(const MatrixProduct&) const = default;
};

/// What one rank issues to one stream. It is either work of the GPU, with `compute`, or one or more
/// calls that are issued as a group: each begins when all who take part have come to it, and the op
/// ends with the last of them.
struct ProgramOp {
  std::string name{};
  std::uint32_t stream = 0;
  Seconds compute{};          ///< alone on the GPU, `inner` calls aside
  std::uint32_t kernels = 1;  ///< equal kernels that `compute` consists of
  /// Calls between the kernels of `compute`, which wait for them: tensor parallelism's. Their time
  /// is that of the call alone, and all who take part must do the same.
  std::vector<ProgramCall> inner{};
  std::vector<ProgramCall> calls{};
  std::vector<std::uint32_t> after{};  ///< earlier ops of the same group that end before it begins
  Seconds host{};                      ///< that the host takes to issue it, after the op before it
  /// Earlier ops of the same group whose end the host waits for before it begins to issue this one.
  std::vector<std::uint32_t> host_after{};
  std::optional<MatrixProduct> product{};  ///< of which `compute` is to be found
  Bytes moved{};                           ///< likewise: what a kernel reads and writes; 0: none

  bool computes() const { return calls.empty(); }
  bool operator==(const ProgramOp&) const = default;
};

/// Ranks that run the same program. Ops are in the order in which the host issues them; each stream
/// runs its own one after the other.
struct RankGroup {
  std::string name{};
  std::vector<Rank> ranks{};
  std::vector<std::string> streams{};
  std::vector<ProgramOp> ops{};
  SlicesByRank holds{};  ///< what lies on its ranks before the program; empty: nothing
  SlicesByRank wants{};  ///< what has to lie there after it

  bool operator==(const RankGroup&) const = default;
};

/// Ranks that call each other. Where groups of ranks have many equal communicators, as every
/// pipeline stage has many data-parallel ones, this is one of them.
struct ProgramCommunicator {
  std::string name{};                   ///< exposed time is counted by it: "dp"
  std::vector<Rank> ranks{};            ///< of one of them, in their order there
  std::vector<std::uint32_t> groups{};  ///< of its ranks: they wait for each other
  /// Equal communicators that call at the same time and have ranks on a node of its first rank.
  std::uint32_t alike = 1;
  /// All communicators of the name, this one first, where the program says them.
  std::vector<std::vector<Rank>> instances{};
  std::vector<Rank> beside{};  ///< all ranks of its groups, in order, where `alike` is counted

  bool operator==(const ProgramCommunicator&) const = default;
};

/// What all ranks of a job do, group by group: a training step, a decoding loop. Ranks of a group
/// are alike, so that one of them stands for all.
struct CallProgram {
  std::string name{};
  std::vector<ProgramCommunicator> communicators{};
  std::vector<RankGroup> groups{};
  /// Kernels' times were measured beside all else that runs. Only calls that take more
  /// multiprocessors than they did then, or fewer, change them.
  bool measured = false;
  std::vector<ProgramTensor> tensors{};
  std::vector<SlicesByRank> moved{};  ///< by calls, each of a call's whole group

  bool operator==(const CallProgram&) const = default;
};

/// How many ranks it has.
Rank ranks_of(const CallProgram& program);
/// The place in a communicator of the first rank that it has of a group; 0 if it has none.
Rank place_of_group(const CallProgram& program, std::uint32_t communicator, std::uint32_t group);

/// What a host takes to launch a call outside a CUDA graph: NCCL's small all-reduces on two
/// communicators of two H200 begin so long after each other.
inline constexpr Seconds launch_of_call{6.2e-6};

/// Lets the host take so long to launch each op of calls before it issues the next op, where the
/// program does not say what that one takes. The first launch is part of the call's own time.
void launch_calls_apart(CallProgram& program, Seconds launch);

/// Counts for every communicator how many like it are on a node with `per_node` ranks, of the
/// program's ranks in order: `alike` becomes per_node / (its own ranks on the first rank's node),
/// at least 1; of instances that the program says, those on the node count. Those that are of the
/// same groups have their ranks among `beside`.
void count_alike(CallProgram& program, Rank per_node);

}  // namespace collsim
