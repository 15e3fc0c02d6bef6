#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce-scatter");
  ring_reduce_scatter(group);
}

std::uint32_t chunks(const Placement& placement, const Algorithm* /*inter*/) {
  return placement.ranks();
}

}  // namespace

constexpr Algorithm reduce_scatter_ring{
    "ring",
    Collective::reduce_scatter,
    "every part is summed once around the ring: least bytes, N-1 steps",
    supports_everything,
    chunks,
    emit};

}  // namespace collsim
