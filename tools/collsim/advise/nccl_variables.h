#pragma once

#include <map>
#include <string>

namespace collsim {

/// The variables that NCCL reads, and what each is for, modelled here or not:
/// models/data/nccl-variables.yaml. Throws InputError.
std::map<std::string, std::string> load_nccl_variables();

}  // namespace collsim
