#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "models/validation/validation.h"

namespace collsim {

/// What a recording says of the data that calls handed out, whatever machine it is of.
struct Correctness {
  std::size_t wrong_rows = 0;
  std::string first;                ///< of them: "line 17, 8388608 B, in place"
  std::vector<std::string> causes;  ///< that its settings show, one sentence each

  bool is_wrong() const { return wrong_rows > 0; }
};

/// Judges the rows that the options do not exclude. `facts` are those of NCCL's log; a setting can
/// be theirs or a row's.
Correctness correctness_of(const Recording& recording, const LogFacts& facts,
                           const ValidationOptions& options = {});

/// What settings show that may corrupt data, one sentence each. `facts` are those of NCCL's log.
std::vector<std::string> corrupting_settings(const LogFacts& facts,
                                             const std::map<std::string, std::string>& settings);

/// Says how many times are of wrong results, and the causes: "2 of 4 times are of wrong results,
/// the first in line 17, 8388608 B, in place".
std::string describe(const Correctness& correctness, const Recording& recording);

}  // namespace collsim
