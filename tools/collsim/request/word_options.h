#pragma once

#include <boost/any.hpp>
#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/plan/protocol.h"

namespace collsim {

// Words of options, read for boost::program_options: `po::value<Protocol>()` is a typed option.

/// Reads a protocol: "ll", "ll128" or "simple", in any case.
void validate(boost::any& value, const std::vector<std::string>& texts, Protocol* target, int);

/// Reads whose schedule runs: "nccl" or "textbook".
void validate(boost::any& value, const std::vector<std::string>& texts, ScheduleKind* target, int);

/// Releases of NCCL, of which most commands take one.
struct NcclVersions {
  std::vector<NcclVersion> named{};
};
/// Reads one release or two: "2.28", "2.28.9"; "2.28,2.31".
void validate(boost::any& value, const std::vector<std::string>& texts, NcclVersions* target, int);

/// Reads a type as nccl-tests has it: "float", "half".
void validate(boost::any& value, const std::vector<std::string>& texts, Datatype* target, int);

/// Reads a reduction as nccl-tests has it: "sum", "avg".
void validate(boost::any& value, const std::vector<std::string>& texts, ReductionOp* target, int);

namespace command {

/// The release that `--nccl-version` names, if it is given. Throws InputError for several.
std::optional<NcclVersion> nccl_version_option(const boost::program_options::variables_map& values);

}  // namespace command

}  // namespace collsim
