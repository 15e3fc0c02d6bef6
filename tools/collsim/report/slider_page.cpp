#include "tools/collsim/report/slider_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/base/text_file.h"
#include "tools/collsim/core/markup.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"

namespace collsim::command {

namespace {

constexpr double giga = 1e9;

}  // namespace

SliderStart slider_start(const CallRequest& request,
                         const boost::program_options::variables_map& values,
                         const std::string& option) {
  if (!values.contains("alpha") || !values.contains("bandwidth")) {
    throw InputError(option + " of a textbook's schedule on a machine of many numbers",
                     "--alpha and --bandwidth, such as --alpha 1us --bandwidth 50GB/s -n 8");
  }
  if (request.scenario.collective != Collective::all_reduce) {
    throw InputError(
        fmt::format("{} of a textbook's {}", option, to_string(request.scenario.collective)),
        "all_reduce, of which the page has closed forms");
  }
  SliderStart start{in_microseconds(quantity_option(values, "alpha", parse_time)),
                    quantity_option(values, "bandwidth", parse_rate).value / giga,
                    static_cast<Rank>(request.gpus.size()),
                    request.scenario.ranks_per_node.value_or(1),
                    {},
                    {},
                    {}};
  for (const Bytes size : sizes_of(request)) {
    if (size.count <= 0) continue;
    if (start.from.count == 0) start.from = size;
    start.to = size;
  }
  if (start.from.count == 0) start.from = start.to = Bytes{1};
  return start;
}

std::string slider_page(const SliderStart& start, const std::string& command) {
  const nlohmann::ordered_json data{{"command", command},
                                    {"alpha_us", start.alpha_us},
                                    {"gigabytes_per_second", start.gigabytes_per_second},
                                    {"ranks", start.ranks},
                                    {"ranks_per_node", start.per_node},
                                    {"from_bytes", start.from.count},
                                    {"to_bytes", start.to.count},
                                    {"algorithms", start.algorithms}};
  constexpr std::string_view place = "@COLLSIM_DATA@";
  std::string page =
      read_text_file(data_directory() / "tools/web/sliders/sliders.html", "a page of collsim's")
          .content;
  page.replace(page.find(place), place.size(), script_json(json_text(data)));
  return page;
}

}  // namespace collsim::command
