#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/nccl/settings/version.h"
#include "sim/nccl/nccl_algorithm.h"

namespace collsim {

/// Why a variable, though parse_nccl_environment() knows it, does not reach the time of calls that
/// run by an algorithm (none: sends and receives), where NCCL itself heeds it; nothing where the
/// model follows it, or NCCL does not read it either.
std::optional<std::string_view> unmodelled_reach(std::string_view variable,
                                                 std::optional<NcclAlgorithm> algorithm);

/// Why the time of calls that run by an algorithm has not all of what a variable costs: it does not
/// reach it, or only in part; nothing where the model has all of it.
std::optional<std::string_view> unmodelled_price(std::string_view variable,
                                                 std::optional<NcclAlgorithm> algorithm);

/// Why NCCL variables that leave a call's time as it is say nothing: what the reader of variables
/// warns of, or what unmodelled_reach() says of any of them. `algorithm` is a prediction's
/// ("nvlstree", "p2p"). Nothing where the time may be believed. Throws InputError for bad values.
std::optional<std::string> unmodelled_reason(const std::map<std::string, std::string>& variables,
                                             std::string_view algorithm, NcclVersion version);

}  // namespace collsim
