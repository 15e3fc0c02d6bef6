#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/program/call_costs.h"
#include "models/program/call_program.h"

namespace collsim {

/// How kernels and calls share a GPU.
struct GpuSharing {
  /// Multiprocessors of a GPU. A call in flight keeps as many as it has channels, and kernels run
  /// on the others. 0: calls take none.
  std::uint32_t multiprocessors = 0;
  /// How much longer kernels take at least beside a call: it breaks up the waves of products,
  /// however few multiprocessors it keeps.
  double kernels_beside_calls = 1;
  /// How much longer the bytes of a call take while kernels run on its GPUs.
  double calls_beside_kernels = 1;
  /// Whether a call that finds a kernel running begins when that kernel ends: a product's thread
  /// blocks are queued before the call's, and hold all multiprocessors until the last have begun.
  bool calls_wait_for_kernels = false;
};

/// The times at which an op runs on the ranks of its group.
struct OpTime {
  Seconds begin;  ///< it is at the head of its stream, with nothing more to wait for
  Seconds moves;  ///< all who take part have come to its first call, or its kernels begin
  Seconds end;
};

/// What one rank of a group does in the time that the whole program takes.
struct GroupSchedule {
  std::vector<OpTime> ops{};  ///< as RankGroup::ops
  Seconds end{};              ///< when its last op ends
  Seconds computes{};         ///< time in which kernels run
  Seconds waits{};            ///< no kernel runs, no call moves: waits for others or the host
  /// The time in which calls move and no kernel runs, by the communicator's name. Of several calls
  /// at once, the one that began first counts.
  std::map<std::string, Seconds> exposed{};
};

/// The times of everything in a program.
struct ProgramSchedule {
  Seconds time{};  ///< until the last group ends
  std::vector<GroupSchedule> groups{};

  /// The group that ends last.
  std::size_t last_group() const;
};

/// Runs a program, call by call: ops begin in the order of their streams, when what they come after
/// has ended and the host has issued them. Kernels of several streams share a GPU evenly. Calls
/// inside nodes slow each other down as `costs` say; those that would together fill more than their
/// nodes' NICs do by the same factor. Collectives of one communicator run one after the other, on
/// whatever streams they are, but for those of one op. Throws HangError where ops wait for each
/// other for ever, which names them, and InputError where those who take part in a call disagree on
/// it.
ProgramSchedule schedule_program(const CallProgram& program, CallCosts& costs,
                                 const GpuSharing& sharing = {});

}  // namespace collsim
