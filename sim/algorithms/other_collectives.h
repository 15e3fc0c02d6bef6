#pragma once

#include "sim/algorithms/registry.h"

namespace collsim {

// The entries of the table in registry.cpp for all but all_reduce. N is the
// number of ranks, S the bytes as nccl-tests counts them. Each comment says how long an algorithm
// is and what its ranks send.

/// N-1 steps; every rank sends S(N-1)/N.
extern const Algorithm all_gather_ring;
/// 1 step; every rank sends S(N-1)/N.
extern const Algorithm all_gather_one_shot;
/// 1 step through an NVSwitch, written out (multimem.h); every rank sends S/N.
extern const Algorithm all_gather_multimem;
/// N-1 steps; every rank sends S(N-1)/N.
extern const Algorithm reduce_scatter_ring;
/// 1 step; every rank sends S(N-1)/N.
extern const Algorithm reduce_scatter_one_shot;
/// 1 step through an NVSwitch, written out; every rank sends S.
extern const Algorithm reduce_scatter_multimem;
/// N-1 steps along the ring from the root; every rank but the last sends S.
extern const Algorithm broadcast_ring;
/// ceil(log2 N) steps; a rank sends at most 2S.
extern const Algorithm broadcast_tree;
/// N-1 steps along the ring to the root; every other rank sends S.
extern const Algorithm reduce_ring;
/// ceil(log2 N) steps; every rank but the root sends S.
extern const Algorithm reduce_tree;
/// 1 step; every rank sends S.
extern const Algorithm send_recv_direct;
/// N-1 steps; in step d rank r sends S/N to rank r + d.
extern const Algorithm all_to_all_direct;
/// 1 step; the root receives S(N-1)/N.
extern const Algorithm gather_direct;
/// N-1 steps; the root sends S(N-1)/N.
extern const Algorithm scatter_direct;
/// ceil(log2 N) steps; in step k rank r tells rank r + 2^k.
extern const Algorithm barrier_dissemination;

}  // namespace collsim
