#pragma once

#include <boost/program_options/variables_map.hpp>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/call/prediction.h"
#include "models/predict/predictor.h"
#include "sim/plan/collective.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// What one call of a communicator should take. `low` and `high` are the tenth and the ninetieth
/// percentile of what such calls have taken (ErrorTable); nothing of calls that are exact.
struct ExpectedCall {
  Collective collective = Collective::all_reduce;
  Prediction prediction;
  std::optional<Seconds> low{};
  std::optional<Seconds> high{};

  /// The busbw in bytes per second, by nccl-tests' factor; 0 of a call without bytes.
  double busbw(Rank ranks) const;
};

/// What the calls of a communicator should take, by collective and then by size.
struct Expectation {
  CallRequest request;  ///< of the first collective; all have its machine, ranks and release
  std::string method;   ///< "analytic" or "native"
  std::vector<ExpectedCall> calls{};
};

/// The communicator that options or a log describe: a machine's, or the one whose NCCL log or
/// nccl-tests table the first argument is. `collectives` are the names that --collective lists.
/// Prints warnings and guesses to `err`. Throws InputError.
Expectation expect_calls(const boost::program_options::variables_map& values,
                         const std::vector<Collective>& collectives, const Method& method,
                         std::ostream& err);

}  // namespace collsim::command
