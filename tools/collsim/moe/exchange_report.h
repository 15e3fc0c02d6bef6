#pragma once

#include <string>
#include <vector>

#include "models/calibration/error_table.h"
#include "sim/base/units.h"
#include "sim/cost/trust.h"
#include "tools/collsim/moe/port_exchange.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// One predicted exchange.
struct ExchangeRow {
  std::string call;     ///< moe_dispatch, all_to_all_v, ...
  std::string kernels;  ///< whose: deepep, nccl, ...
  std::string skew;
  double tokens = 0;  ///< of a rank; 0 for calls of sizes
  double bytes = 0;   ///< that the busiest sender sends to other ranks
  Seconds time;
  Seconds launch;  ///< launch, work and fill are 0 for calls of sizes
  Seconds work;
  Seconds fill;
  Seconds even;      ///< the time without skew
  double error = 0;  ///< the median to expect of the time, as a share
  ErrorRange range;  ///< where eight of ten times lie, as shares of `time`
  Trust trust = Trust::measured;
  std::string taken_over;  ///< what is another machine's of the constants; empty: nothing
  PortExchange ports;
};

/// The heading: what holds for all rows.
struct ExchangeHeading {
  std::string machine;
  Rank ranks = 0;
  std::string facts;       ///< hidden size, top-k, experts, ...
  std::string source;      ///< what the constants were fitted to
  bool explained = false;  ///< with the busiest ports and the parts of the time
};

/// A row for each exchange; all of the answer has the busiest ports of every row, too.
Answer exchange_answer(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows);

}  // namespace collsim::command
