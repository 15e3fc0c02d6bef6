#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/text_file.h"

namespace collsim {

/// The variables that NCCL reads, and what each is for, modelled here or not:
/// models/data/nccl-variables.yaml. Throws InputError.
std::map<std::string, std::string> load_nccl_variables();

/// A variable that a text sets.
struct PastedSetting {
  int line = 0;  ///< where its name stands
  std::string name;
  std::string value;
};

/// The NCCL variables that a text sets, in its order, however it does: lines of a shell (`export
/// A=B`, `A=B program`, `setenv A B`), of docker (`-e A=B`, `ENV A B`), of mpirun (`-x A=B`), of
/// nccl.conf, YAML (`A: B`, `- A=B`, and Kubernetes' `- name: A` with `value: B`) or JSON. Other
/// variables, comments and all else are passed over. A name that is nearly NCCL's prefix (NCLL_) is
/// taken as written.
std::vector<PastedSetting> read_pasted_settings(const TextFile& text);

}  // namespace collsim
