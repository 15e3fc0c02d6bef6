#pragma once

#include <boost/any.hpp>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/plan/protocol.h"

namespace collsim {

// Words of options, read for boost::program_options: `po::value<Protocol>()` is a typed option.

/// "ll", "ll128", "simple", in any case.
void validate(boost::any& value, const std::vector<std::string>& texts, Protocol* target, int);

/// "nccl", "textbook".
void validate(boost::any& value, const std::vector<std::string>& texts, ScheduleKind* target, int);

/// "2.28", "2.28.9".
void validate(boost::any& value, const std::vector<std::string>& texts, NcclVersion* target, int);

/// As in nccl-tests: "float", "half".
void validate(boost::any& value, const std::vector<std::string>& texts, Datatype* target, int);

/// "sum", "avg".
void validate(boost::any& value, const std::vector<std::string>& texts, ReductionOp* target, int);

}  // namespace collsim
