#pragma once

#include "models/call/prediction.h"

namespace collsim {

/// The least that is taken to be a bug of ours when a call takes so many times what
/// plain_course() says. Of the shipped machines with all collectives, 8 B to 8 GiB, under NCCL's
/// rules the most is 45 times the bandwidth bound and 1 us for each of 2 N hops (send_recv of 8 GiB
/// on GPUs with many NICs, of which a pair uses few), and 168 times by one channel of a textbook's;
/// plain_course() knows thread blocks, so that what it says is less often exceeded. A count of
/// ranks that does not fit its type is off by thousands.
inline constexpr double far_above = 200;

/// The closed form of a call that does one thing after the other, for any collective: the launch,
/// what the bandwidth bound counts (of 64 elements more for each rank), once more at the rate
/// of one thread block, and a hop with all that it costs for each of 2 N steps and of as many
/// messages of `message` bytes as the call's size has (0: it is not cut). A textbook's star sends
/// everything N times.
Seconds plain_course(const CallCompiler& compiler, const Prediction& prediction, Bytes message);

/// Throws std::logic_error if a call on a healthy machine takes more than far_above times its
/// plain_course().
void check_not_far_above(const CallCompiler& compiler, const Prediction& prediction, Bytes message);

}  // namespace collsim
