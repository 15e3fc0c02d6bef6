#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/predict/predictor.h"
#include "sim/base/units.h"

namespace collsim {

/// Calls whose times count, each alike.
struct CallList {
  struct Item {
    CallSpec spec;
    std::vector<Bytes> sizes;
  };
  std::vector<Item> items;
};

/// The calls with NCCL variables set besides.
CallList with_variables(CallList calls, const std::map<std::string, std::string>& variables);

/// The times of its calls, in order.
struct CallTimes {
  std::vector<Seconds> times;
  std::vector<std::string> algorithms{};  ///< by which they run: "nvlstree", "p2p"
  std::uint64_t messages = 0;             ///< simulated; 0 of estimates
};

/// Throws InputError where a call cannot run, HangError where it never ends.
CallTimes times_of(const CallList& calls, const Method& method);

/// By simulation on small clusters. Calls that are known are not simulated again;
/// CallTimes::messages counts theirs all the same.
Method by_simulation_of_changes(KnownCalls& known);

/// How the times of changed calls compare: changed over unchanged. Below 1 is faster.
struct Effect {
  double mean = 1;  ///< the geometric mean of all calls
  double min = 1;
  double max = 1;
  std::size_t min_at = 0;  ///< which call
  std::size_t max_at = 0;
};
Effect effect_of(const CallTimes& unchanged, const CallTimes& changed);

/// A change smaller than this is none: what rounding to whole chunks may do.
inline constexpr double min_change = 0.005;

/// Whether no call's time changes.
bool is_nothing(const Effect& effect);

}  // namespace collsim
