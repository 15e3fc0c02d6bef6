#pragma once

#include <string>
#include <vector>

#include "models/call/call_spec.h"

namespace collsim {

/// A variable and a value that people set.
struct CandidateSetting {
  std::string name;
  std::string value;
};

/// The settings worth trying on the call's machine, of the variables that are modelled: algorithms,
/// protocols, channels, buffers, threads, ways to leave out. Those of networks only where ranks sit
/// on several nodes; those of sends and receives only for collectives made of them. None that the
/// call sets already.
std::vector<CandidateSetting> candidate_settings(const CallSpec& call);

}  // namespace collsim
