#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "sim/topologies/topology.h"
#include "tools/collsim/calibrate/fit_plan.h"
#include "tools/collsim/calibrate/fit_rows.h"
#include "tools/collsim/calibrate/fitted_calibration.h"
#include "tools/collsim/request/recorded_input.h"

namespace collsim::command {

/// The recordings of a plan, and the machines of their rows.
class PlannedRecordings {
 public:
  /// Reads the recordings. What is assumed about machines is reported on `err`. Throws InputError.
  PlannedRecordings(const std::vector<PlannedRecording>& planned, std::ostream& err);

  /// The machine of the first recording, or of the first row that is used. Throws InputError if
  /// there is none.
  const Topology& first_machine();
  /// The rows, laid out to be simulated; refers to the machines. Throws InputError if a recording
  /// is from another GPU than its machine's.
  FitRows rows(const Calibration& cost, FitSubject subject = FitSubject::machine);
  /// The provenance of a fit to these rows: files, numbers of rows and recorded machines.
  Provenance provenance(const FitRows& rows) const;

 private:
  struct Entry {
    PlannedRecording planned;
    RecordedInput input;
    const Topology* machine = nullptr;  ///< of rows that name none, where it was asked for

    const Recording& recording() const { return input.recording; }
  };
  const Topology& machine_of(Entry& entry, const RecordedRow& row);
  const Topology& load(const std::string& name);
  /// The machine that a log shows; logs of alike machines share it.
  const Topology& shown_by(const RecordedInput& input);

  std::vector<Entry> entries_;
  std::map<std::string, Topology> topologies_;
  std::ostream& err_;
};

}  // namespace collsim::command
