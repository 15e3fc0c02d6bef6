#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// What the page begins with on which alpha, bandwidth, ranks and size can be moved.
struct SliderStart {
  double alpha_us = 0;
  double gigabytes_per_second = 0;
  Rank ranks = 1;
  Rank per_node = 1;
  Bytes from;
  Bytes to;
  std::vector<std::string> algorithms;  ///< textbook ones
};

/// The start for a question about a machine of two numbers. `option` is what asked for the page.
/// Throws InputError for another machine, and for a collective of which the page has no closed
/// forms.
SliderStart slider_start(const CallRequest& request,
                         const boost::program_options::variables_map& values,
                         const std::string& option);

/// The page, which evaluates closed forms itself. `command` is what made it.
std::string slider_page(const SliderStart& start, const std::string& command);

}  // namespace collsim::command
