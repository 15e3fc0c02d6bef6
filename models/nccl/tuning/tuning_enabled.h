#pragma once

#include "models/nccl/settings/function.h"
#include "models/nccl/tuning/tuning.h"

namespace collsim {

/// What NVLS and CollNet need of the nodes.
inline constexpr std::string_view like_stripes_needed =
    "equally many ranks on every node, with NICs beside the same of them";

/// AllGather or ReduceScatter, which have the whole of the data on one side alone.
bool is_gather(NcclFunction function);

/// Whether the release has code for the combination, so that its table has a figure.
bool implements(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol,
                const TuningInput& input);

/// Whether this machine and environment let NCCL choose it (NCCL src/graph/tuning.cc).
bool is_enabled(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol,
                const TuningInput& input);

/// Why NCCL does not consider a pair for the function, and what would change that; nothing where it
/// does.
std::optional<std::string> why_not(NcclFunction function, NcclAlgorithm algorithm,
                                   Protocol protocol, const TuningInput& input);

}  // namespace collsim
