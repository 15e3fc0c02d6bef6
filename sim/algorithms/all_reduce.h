#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/algorithms/patterns.h"
#include "sim/algorithms/registry.h"
#include "sim/plan/schedule_builder.h"

namespace collsim {

// The entries of the table in registry.cpp, one file each. N ranks, S bytes.

/// 2(N-1) steps; every rank sends 2S(N-1)/N.
extern const Algorithm all_reduce_ring;
/// 2 ceil(log2 N) steps; a rank sends at most S up and 2S down.
extern const Algorithm all_reduce_tree;
/// Two trees with one rank per node, each with half of the data; every rank sends about 2S.
extern const Algorithm all_reduce_double_binary_tree;
/// p ranks per node: 2(p-1) steps inside nodes; S/p enter the algorithm between nodes.
extern const Algorithm all_reduce_hierarchical;
/// 2 steps; the server receives and sends S(N-1).
extern const Algorithm all_reduce_parameter_server;
/// 1 step; every rank sends S(N-1).
extern const Algorithm all_reduce_one_shot;
/// 2 steps; every rank sends 2S(N-1)/N.
extern const Algorithm all_reduce_two_shot;
/// 1 step through an NVSwitch, written out (multimem.h): every rank is read S for each rank, SN.
extern const Algorithm all_reduce_multimem_one_shot;
/// 2 steps through an NVSwitch, written out: every rank sends S(N+1)/N.
extern const Algorithm all_reduce_multimem_two_shot;
/// 2 log2 N steps, 2 more where N is no power of two; every rank of a power of two sends 2S(N-1)/N.
extern const Algorithm all_reduce_recursive_halving_doubling;

/// The answer of an algorithm that runs everywhere.
std::optional<std::string> supports_everything(const Placement& placement, const Algorithm* inter);
/// Those of an algorithm that cuts a loop into one chunk, or into as many as there are ranks.
std::uint32_t one_chunk(const Placement& placement, const Algorithm* inter);
std::uint32_t chunk_per_rank(const Placement& placement, const Algorithm* inter);

/// Chunk r ends complete at rank r; the group has as many chunks as ranks.
void ring_reduce_scatter(Group& group);
/// Begins with chunk r at rank r; every rank ends with every chunk.
void ring_all_gather(Group& group);

/// Sums chunk t over tree t to its root, all trees at once, level by level, then back down. Trees
/// stream: reducing and broadcasting have lanes of their own (2t and 2t + 1), so that the next loop
/// goes up while this one comes down.
void tree_all_reduce(Group& group, std::span<const RootedTree> trees);

}  // namespace collsim
