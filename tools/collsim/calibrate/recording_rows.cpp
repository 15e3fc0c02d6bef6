#include "tools/collsim/calibrate/recording_rows.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <utility>

#include "models/imports/machine.h"
#include "models/validation/recorded_call.h"
#include "sim/base/input_error.h"
#include "tools/collsim/request/machine_guess.h"

namespace collsim::command {

namespace {

/// Adds what a recording says about the machine, each different value once.
void add_machine(const Recording& recording, std::map<std::string, std::string>& machine) {
  for (const char* key : {"gpu", "nccl", "driver"}) {
    const auto found = recording.machine.find(key);
    if (found == recording.machine.end()) continue;
    std::string& values = machine[key];
    if (values.empty()) {
      values = found->second;
    } else if (values.find(found->second) == std::string::npos) {
      values += ", " + found->second;
    }
  }
}

}  // namespace

PlannedRecordings::PlannedRecordings(const std::vector<PlannedRecording>& planned,
                                     std::ostream& err)
    : err_(err) {
  for (const PlannedRecording& each : planned) {
    entries_.push_back({each, open_recording(each.file)});
    Entry& entry = entries_.back();
    for (const std::string& note : entry.recording().notes) {
      fmt::print(err_, "collsim: warning: {}: {}\n", entry.recording().file.filename().string(),
                 note);
    }
    entry.planned.selection.rows.nccl_version = nccl_version_of(entry.recording());
  }
}

const Topology& PlannedRecordings::load(const std::string& name) {
  const auto found = topologies_.find(name);
  if (found != topologies_.end()) return found->second;
  return topologies_.emplace(name, load_machine(name).topology).first->second;
}

const Topology& PlannedRecordings::shown_by(const RecordedInput& input) {
  const std::string key = "shown: " + machine_key(input.recording, input.facts);
  const auto found = topologies_.find(key);
  if (found != topologies_.end()) return found->second;
  return topologies_.emplace(key, machine_of_recording(input, err_)).first->second;
}

const Topology& PlannedRecordings::machine_of(Entry& entry, const RecordedRow& row) {
  if (!entry.planned.machine.empty()) return load(entry.planned.machine);
  if (!row.topology.empty()) return load(row.topology);
  if (entry.machine == nullptr) entry.machine = &shown_by(entry.input);
  return *entry.machine;
}

const Topology& PlannedRecordings::first_machine() {
  if (!entries_.empty() && !entries_.front().planned.machine.empty()) {
    return load(entries_.front().planned.machine);
  }
  for (Entry& entry : entries_) {
    for (const RecordedRow& row : entry.recording().rows) {
      if (is_used(row, entry.planned.selection)) return machine_of(entry, row);
    }
  }
  throw InputError("calibrate: no recorded row is selected, so the machine is unknown",
                   "-t TOPOLOGY, or recordings of a known machine");
}

FitRows PlannedRecordings::rows(const Calibration& cost, FitSubject subject) {
  FitRows rows(cost, subject);
  for (Entry& entry : entries_) {
    const auto checked_machine = [&](const RecordedRow& row) -> const Topology& {
      const Topology& topology = machine_of(entry, row);
      check_machine(entry.recording(), topology);
      return topology;
    };
    rows.add(entry.recording(), checked_machine, entry.planned.selection);
  }
  return rows;
}

Provenance PlannedRecordings::provenance(const FitRows& rows) const {
  Provenance provenance;
  for (const Entry& entry : entries_) {
    provenance.recordings.push_back({entry.recording().file.filename().string(), 0, 0});
    add_machine(entry.recording(), provenance.machine);
  }
  for (const FitRow& row : rows.rows()) {
    Provenance::Recording& recording = provenance.recordings[row.recording];
    ++(row.held_out ? recording.held_out : recording.rows);
  }
  return provenance;
}

}  // namespace collsim::command
