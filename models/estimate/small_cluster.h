#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/call_spec.h"

namespace collsim {

/// How much a small cluster has to be like the whole.
enum class Likeness : std::uint8_t {
  /// In all that a simulation sees. There is none where a fault comes or goes during the call, is
  /// random, makes ranks late or sits between switches; where ways depend on all flows
  /// (Topology::takes_detours()); and of a textbook's call with faults.
  close,
  /// For an estimate: faults hold all the time. Of nodes that they touch it has so many as leave
  /// half of it healthy.
  near,
};

/// The call on `ranks` of a cluster's ranks (whole nodes, at least two), that it is extrapolated
/// from: on the first nodes, or, where faults are, on the nodes that they touch and on neighbours
/// of theirs; of a textbook's call half of them are the last nodes, since its hops have no NICs of
/// their own. A touched node takes the place at which it has as many children in both of NCCL's
/// trees over nodes, as nearly as there is one. Nothing where no small cluster is like the whole,
/// where not all nodes have the same GPUs in the call, and where it would be more than half of the
/// whole. The whole must outlive who plans for it: what NCCL's search found is taken over.
std::optional<CallSpec> small_cluster(const CallCompiler& whole, Rank ranks = 64,
                                      Likeness likeness = Likeness::close);

/// The ranks that sit on GPUs of the call, in the GPUs' order.
std::vector<Rank> ranks_on(const CallSpec& spec, const std::vector<DeviceId>& gpus);

/// The call on those of its ranks, in that order; rank 0 is the root where that is not among them.
CallSpec call_of_ranks(CallSpec spec, const std::vector<Rank>& kept);

/// The size that gives each rank of `small` as many bytes as `size` gives each of `ranks`.
Bytes size_for(const CallCompiler& small, Bytes size, Rank ranks);

}  // namespace collsim
