#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/call/call_compiler.h"
#include "sim/base/units.h"

namespace collsim {

/// What each rank has for each rank, itself included.
struct MessageSizes {
  Rank ranks = 0;
  std::vector<Bytes> sizes{};  ///< sender by sender

  Bytes of(Rank from, Rank to) const { return sizes[std::size_t{from} * ranks + to]; }
};

/// Whether they are so few, of so few ranks, that each message is looked at.
bool are_few(const MessageSizes& sizes);

/// How long a group of NCCL's sends and receives takes in which each message has its own size: each
/// goes by the protocol and in the parts that NCCL gives its size, and all move at once. What a
/// rank has for itself its thread blocks copy, in as many parts. `exchange` is that of the equal
/// all_to_all on the same ranks, in their order. Without faults.
Seconds time_of_messages(const CallCompiler& exchange, const MessageSizes& sizes);

/// How long broadcasts of unlike sizes take that are issued as one group, as frameworks gather
/// unlike parts: they run at once, each on its share of the channels. `broadcasts` has one for each
/// root. Without faults.
Seconds time_of_broadcasts(std::span<const CallCompiler> broadcasts, std::span<const Bytes> sizes);

}  // namespace collsim
