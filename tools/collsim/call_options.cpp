#include "tools/collsim/call_options.h"

#include <fmt/format.h>

#include "sim/base/input_error.h"
#include "tools/collsim/replace_file.h"

namespace collsim::command {

namespace po = boost::program_options;

Bytes only_size(std::string_view command, const po::variables_map& values,
                const Question& question) {
  if (question.scenario.collective == Collective::barrier) return {};
  if (values.count("minbytes") == 0) {
    throw InputError(fmt::format("{}: no size", command), "-b SIZE");
  }
  return sizes_of(question).front();
}

std::string output_file(std::string_view command, std::string_view form,
                        const po::variables_map& values) {
  if (values.count("output") == 0) {
    throw InputError(fmt::format("{}: no file to write", command),
                     fmt::format("--output {}", form));
  }
  auto file = values["output"].as<std::string>();
  check_writable(file);
  return file;
}

}  // namespace collsim::command
