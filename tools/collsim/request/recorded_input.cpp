#include "tools/collsim/request/recorded_input.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <utility>

#include "models/imports/machine.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text_stream.h"

namespace collsim::command {

RecordedInput open_recording(const std::string& argument) {
  const TextFile text = argument == "-"
                            ? read_text_stream(std::cin, "standard input")
                            : read_text_file(find_data_file(argument, "recordings"), "a recording");
  Recording recording = read_recording(text);
  return {std::move(recording), read_log_facts(text)};
}

std::string release_in(const Recording& recording, const LogFacts& facts) {
  const auto recorded = recording.machine.find("nccl");
  return recorded == recording.machine.end() ? facts.nccl : recorded->second;
}

Topology machine_of_recording(const RecordedInput& input, std::ostream& err) {
  if (!input.recording.topology.empty()) return load_machine(input.recording.topology).topology;
  GuessedMachine guessed = guessed_machine(input.recording, input.facts);
  report_guess(input.recording, guessed, err);
  return std::move(guessed.topology);
}

void report_guess(const Recording& recording, const GuessedMachine& guessed, std::ostream& err) {
  fmt::print(err, "collsim: {}: assuming {} (-t names another)\n",
             recording.file.filename().string(), guessed.name);
  if (!guessed.guesses.empty()) {
    fmt::print(err, "collsim: not in the log, so guessed: {}\n", fmt::join(guessed.guesses, "; "));
  }
  if (!guessed.composed) return;
  for (const std::string& line : guessed.composed->lines) fmt::print(err, "  {}\n", line);
}

void check_machine(const Recording& recording, const Topology& topology) {
  const std::string why = contradiction(recording, topology);
  if (why.empty()) return;
  throw InputError(SourcePosition{recording.file.string(), 0, 0}, why,
                   "recordings of the topology's machine, or -t with the recording's");
}

}  // namespace collsim::command
