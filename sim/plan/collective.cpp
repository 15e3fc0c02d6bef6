#include "sim/plan/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/checked_count.h"
#include "sim/base/words.h"

namespace collsim {

namespace {

constexpr std::array every_collective{
    Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
    Collective::broadcast,  Collective::reduce,     Collective::send_recv,
    Collective::all_to_all, Collective::gather,     Collective::scatter,
    Collective::barrier,
};

constexpr Holding nothing{};
constexpr Holding everybodys{Holding::Kind::all, 0};

constexpr Holding that_of(Rank origin) {
  return {Holding::Kind::one, origin};
}

/// Of an exchange in which every rank has a block for every rank.
std::uint32_t pairs(Rank ranks) {
  return checked_count(std::uint64_t{ranks} * ranks,
                       fmt::format("blocks in an exchange of {} ranks", ranks),
                       "65535 ranks (-n), or `collsim estimate` of NCCL's schedule");
}

}  // namespace

std::string_view to_string(Collective collective) {
  return word_for(collective, {{Collective::all_reduce, "all_reduce"},
                               {Collective::all_gather, "all_gather"},
                               {Collective::reduce_scatter, "reduce_scatter"},
                               {Collective::broadcast, "broadcast"},
                               {Collective::reduce, "reduce"},
                               {Collective::send_recv, "send_recv"},
                               {Collective::all_to_all, "all_to_all"},
                               {Collective::gather, "gather"},
                               {Collective::scatter, "scatter"},
                               {Collective::barrier, "barrier"}});
}

std::optional<Collective> find_collective(std::string_view name) {
  return value_called(name, every_collective);
}

std::span<const Collective> all_collectives() {
  return every_collective;
}

bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

bool sums(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

bool uses_direct_primitives(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::broadcast;
}

std::uint32_t operations(Collective collective, Rank ranks) {
  switch (collective) {
    case Collective::all_to_all:
      return 2 * ranks;
    case Collective::gather:
    case Collective::scatter:
      return ranks + 1;
    case Collective::send_recv:
      return 2;
    default:
      return 1;
  }
}

std::uint32_t blocks(Collective collective, Rank ranks) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::send_recv:
    case Collective::gather:
    case Collective::scatter:
      return ranks;
    case Collective::all_to_all:
      return pairs(ranks);
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return 1;
  }
  return 1;
}

std::uint32_t sizes_held(Collective collective, Rank ranks) {
  switch (collective) {
    case Collective::send_recv:
    case Collective::all_to_all:
      return ranks;
    case Collective::barrier:
      return 0;
    default:
      return 1;
  }
}

Holding held_before(Collective collective, Rank ranks, Rank root, Rank rank, std::uint32_t block) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce:
    case Collective::barrier:
      return that_of(rank);
    case Collective::broadcast:
    case Collective::scatter:
      return rank == root ? that_of(root) : nothing;
    case Collective::all_gather:
    case Collective::gather:
    case Collective::send_recv:
      return rank == block ? that_of(rank) : nothing;
    case Collective::all_to_all:
      return rank == block / ranks ? that_of(rank) : nothing;
  }
  return nothing;
}

Holding held_after(Collective collective, Rank ranks, Rank root, Rank rank, std::uint32_t block) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::barrier:
      return everybodys;
    case Collective::reduce_scatter:
      return rank == block ? everybodys : nothing;
    case Collective::reduce:
      return rank == root ? everybodys : nothing;
    case Collective::broadcast:
      return that_of(root);
    case Collective::scatter:
      return rank == block ? that_of(root) : nothing;
    case Collective::all_gather:
      return that_of(block);
    case Collective::gather:
      return rank == root ? that_of(block) : nothing;
    case Collective::send_recv:
      return rank == (block + 1) % ranks ? that_of(block) : nothing;
    case Collective::all_to_all:
      return rank == block % ranks ? that_of(block / ranks) : nothing;
  }
  return nothing;
}

double busbw_factor(Collective collective, Rank ranks) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
    case Collective::barrier:
      return 1;
  }
  return 1;
}

}  // namespace collsim
