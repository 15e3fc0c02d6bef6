#pragma once

#include <cstddef>
#include <vector>

#include "models/diagnosis/hypothesis.h"

namespace collsim {

/// What twins of causes are asked about a call.
struct TwinContext {
  bool between_hosts = false;
  bool has_rdma = false;
  bool has_nvlink = false;
  std::size_t nics = 0;  ///< of a host
};

/// Adds causes that are simulated as another one is, and that hosts have for other reasons: they
/// have words, a check, a remedy and usual values of their own. Gives every cause its remedy.
void add_twins(const TwinContext& context, std::vector<Hypothesis>& hypotheses);

}  // namespace collsim
