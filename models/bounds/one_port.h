#pragma once

#include <vector>

#include "sim/plan/plan.h"

namespace collsim {

/// What a rank does next in a program of whole messages: it sends one, and goes on when it is out,
/// or it goes on when one has come.
struct PortStep {
  bool sends = false;
  Rank peer = 0;
  double seconds = 0;  ///< that a message which is sent takes alone
};

/// The time, in seconds, at which the last rank is done, where every rank has one port each way.
/// What comes to a port at the same time shares it evenly, and is seen `alpha` seconds after its
/// last byte. One message at a time leaves a rank. Precondition: what is waited for is sent.
double one_port_time(const std::vector<std::vector<PortStep>>& programs, double alpha);

}  // namespace collsim
