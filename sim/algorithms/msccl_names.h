#pragma once

#include <array>
#include <string_view>

#include "sim/plan/collective.h"

namespace collsim {

/// What MSCCL calls a collective that it has and we read.
struct MscclCollective {
  std::string_view name;
  Collective collective;
};
inline constexpr std::array<MscclCollective, 6> msccl_collectives{
    {{"allreduce", Collective::all_reduce},
     {"allgather", Collective::all_gather},
     {"reduce_scatter", Collective::reduce_scatter},
     {"reducescatter", Collective::reduce_scatter},
     {"broadcast", Collective::broadcast},
     {"reduce", Collective::reduce}}};

}  // namespace collsim
