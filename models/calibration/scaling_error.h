#pragma once

#include <string>

namespace collsim {

/// How far off the growth of times over nodes has been.
struct ScalingError {
  double off = 0;  ///< of a time on so many nodes, beside that on others, as a share
  std::string source;
};

/// That of models/data/trust.yaml; none where the file has none. Throws InputError.
ScalingError load_scaling_error();

}  // namespace collsim
