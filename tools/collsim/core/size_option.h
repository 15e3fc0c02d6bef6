#pragma once

#include <boost/any.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace collsim::command {

/// A size as in nccl-tests: "8", "32K", "1.5M", "8g" (powers of 1024) or with a unit ("4
/// MiB", "1 MB"). Throws InputError that names the option, also for fractions of a byte.
Bytes parse_size(std::string_view option, std::string_view text);

}  // namespace collsim::command

namespace collsim {

/// Reads such a size for boost::program_options: `po::value<Bytes>()` is a typed option.
void validate(boost::any& value, const std::vector<std::string>& texts, Bytes* target, int);

}  // namespace collsim
