#pragma once

#include <string>
#include <vector>

#include "tools/collsim/diagnose/log_predictor.h"

namespace collsim {

/// Settings of a call, such as "NCCL_NTHREADS=64", whose price is not simulated, though NCCL heeds
/// them where it runs that size as it does.
std::vector<std::string> unpriced_settings(const CallCompiler& compiler, const RecordedCall& call,
                                           Bytes size);

/// What settings that a log shows cost its first call, by simulation of its largest size: a
/// sentence for each that makes it slower by more than a tenth, and for a release whose channels
/// do. They are heeded by what is expected, so that no cause tells of them.
std::vector<std::string> setting_gains(const LogPredictor& predictor, NcclVersion version);

/// That the log's ranks sat on other GPUs of each host than the first ones, where the log is faster
/// than those allow and GPUs far apart explain it; else empty.
std::string other_gpus(const LogPredictor& predictor);

}  // namespace collsim
