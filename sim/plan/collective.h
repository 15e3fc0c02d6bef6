#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/topologies/topology.h"

namespace collsim {

/// What has to hold after the call; an Algorithm says how it is reached. N ranks, S bytes as
/// nccl-tests' size.
enum class Collective : std::uint8_t {
  all_reduce,      ///< everybody gets the sum of all buffers of S
  all_gather,      ///< everybody gets the N parts of S/N that each rank has
  reduce_scatter,  ///< rank r gets part r of the sum of all buffers of S
  broadcast,       ///< everybody gets the root's S
  reduce,          ///< the root gets the sum of all buffers of S
  send_recv,       ///< rank r sends S to rank r + 1, the last to the first
  all_to_all,      ///< rank r gets part r of every rank's S
  gather,          ///< the root gets the N parts of S/N that each rank has
  scatter,         ///< rank r gets part r of the root's S
  barrier,         ///< nobody is done before everybody has begun; no bytes
};

std::string_view to_string(Collective collective);
/// The collective of that name, or nothing.
std::optional<Collective> find_collective(std::string_view name);
std::span<const Collective> all_collectives();

/// Whether the result depends on a root.
bool has_root(Collective collective);
/// Whether it adds up, so that a contribution must not come twice.
bool sums(Collective collective);
/// Whether NCCL runs it by primitives that may read or write a peer's buffer itself, where that is
/// registered (`Direct` in NCCL src/device/*.h), which costs a little where it is not.
bool uses_direct_primitives(Collective collective);

/// Sends and receives that NCCL makes of it, at most, on one rank, as one group; 1 where it has an
/// operation for all of it.
std::uint32_t operations(Collective collective, Rank ranks);

/// How many blocks the data of a call has that are treated differently: N for all_gather,
/// reduce_scatter, gather, scatter and send_recv (that of rank r is number r), N^2 for all_to_all
/// (i to j: i N + j; more than 32 bits hold throw InputError), else 1. All have as many chunks.
std::uint32_t blocks(Collective collective, Rank ranks);
/// The bytes of all blocks, as multiple of S: N where every rank has other data (send_recv,
/// all_to_all), 0 for a barrier, else 1.
std::uint32_t sizes_held(Collective collective, Rank ranks);

/// Whose contributions a rank has of a block.
struct Holding {
  enum class Kind : std::uint8_t {
    anything,  ///< nothing is promised, nothing is there
    one,       ///< that of `origin`
    all,       ///< everybody's
  };
  Kind kind = Kind::anything;
  Rank origin = 0;
  bool operator==(const Holding&) const = default;
};

/// What `rank` holds of `block` before the call, and what it must hold after it. `root` counts only
/// where has_root().
Holding held_before(Collective collective, Rank ranks, Rank root, Rank rank, std::uint32_t block);
Holding held_after(Collective collective, Rank ranks, Rank root, Rank rank, std::uint32_t block);

/// busbw = algbw * factor: nccl-tests' figure that does not depend on the rank count on an ideal
/// machine (nccl-tests doc/PERFORMANCE.md): all_reduce 2(N-1)/N; all_gather, reduce_scatter,
/// all_to_all, gather and scatter (N-1)/N; else 1.
double busbw_factor(Collective collective, Rank ranks);

}  // namespace collsim
