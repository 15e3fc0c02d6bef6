#include "tools/collsim/request/recorded_input.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>

#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text_stream.h"

namespace collsim::command {

Recording open_recording(const std::string& argument) {
  if (argument != "-") return read_recording(find_data_file(argument, "recordings"));
  return read_recording(read_text_stream(std::cin, "standard input"));
}

std::string machine_of_recording(const Recording& recording, std::ostream& err) {
  if (!recording.topology.empty()) return recording.topology;
  std::string machine = shipped_machine_of(recording);
  fmt::print(err, "collsim: {}: recorded on {}; assuming {} (--topology names another)\n",
             recording.file.filename().string(), recording.machine.at("gpu"), machine);
  return machine;
}

void check_machine(const Recording& recording, const Topology& topology) {
  const std::string why = contradiction(recording, topology);
  if (why.empty()) return;
  throw InputError(SourcePosition{recording.file.string(), 0, 0}, why,
                   "recordings of the topology's machine, or -t with the recording's");
}

}  // namespace collsim::command
