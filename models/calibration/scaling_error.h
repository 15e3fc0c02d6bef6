#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace collsim {

/// How far off the growth of times over nodes has been.
struct ScalingError {
  double off = 0;  ///< of a time on so many nodes, beside that on others, as a share
  std::string source;
  std::map<std::string, double, std::less<>> gpus{};  ///< likewise, by the GPU of the families

  /// The error of machines with that GPU on several nodes; 0 where no family has it.
  double of_gpu(std::string_view gpu) const;
};

/// Reads the one of models/data/trust.yaml; none where the file has none. Throws InputError.
ScalingError load_scaling_error();

}  // namespace collsim
