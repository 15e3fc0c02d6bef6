#pragma once

#include <string>
#include <string_view>

#include "models/nccl/choice.h"
#include "models/nccl/system/system_xml.h"

namespace collsim::test {

inline const std::string source = COLLSIM_SOURCE_DIR;
inline const std::string golden_folder = source + "/tests/data/nccl-golden/";
inline const std::string machine_folder = source + "/tests/data/nccl-machines/";
inline const std::string report_folder = source + "/tests/data/reports/";
inline const std::string recording_folder = source + "/recordings/nccl/";

/// NCCL on `nodes` hosts like that of a topology file.
inline Nccl nccl_on(const std::string& file, std::uint32_t nodes,
                    const Nccl::Variables& variables = {}, std::string_view version = "2.30") {
  const NcclVersion parsed = parse_nccl_version(version);
  return {read_nccl_topology(file, parsed), nodes, variables, parsed};
}

}  // namespace collsim::test
