#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/call/prediction.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/table.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// One answer of `run` or `estimate`.
struct Row {
  Prediction prediction;
  std::optional<Seconds> measured{};
};

/// What all rows of one run share.
struct Section {
  const CallRequest* request = nullptr;
  const RunSpec* run = nullptr;
  std::string engine;  ///< "native", "simgrid", "analytic"
};

/// A settled run in one line: "textbook schedule, algorithm ring, protocol Simple, 4 channels", "as
/// NCCL 2.30 runs it, NCCL_PROTO=LL".
std::string describe(const RunSpec& run);

/// The first lines of a table: collsim's version, collective and machine; schedule, engine and
/// calibration; one line per fault.
void print_head(const Section& section, std::ostream& out);

/// The word of the column `extent`: that of the Extent, or "est" where formulas answer, since no
/// part of the call is short enough to be simulated.
std::string_view extent_of(const Prediction& prediction);

/// A sentence for each class that says where such times lay: "range: 8 of 10 such times were 0.95
/// to 1.06 of the predicted from 16 MiB, 0.84 to 1.12 below (measured, over nvlink: 3,454 rows of 8
/// machines)".
std::vector<std::string> range_texts(const ErrorClasses& classes);

/// A sentence on an algorithm that has the name of an engine's kernel, or on such a kernel: what is
/// modelled, and that the other is something else. Empty for all else.
std::string model_of(const Section& section);

/// Ends a sentence with the range of a time: ", 8 of 10 such times from 23.10 to 26.40 us". Empty
/// for exact times.
std::string range_text(const CallRequest& request, const Prediction& prediction);

/// Adds `time_p10_us` and `time_p90_us`, the percentiles of what such calls have taken, which are
/// null of exact ones, and `medium`.
void add_range(const CallRequest& request, const Prediction& prediction, Record& record);

/// The fields of every CSV and JSON row that give its context: `machine`, `collective`, `nranks`,
/// `faults` ("link: node0/nic0, bandwidth: 10%; rank: 3, late: 1 ms", empty if there are none),
/// `nccl_version` (null in a textbook schedule, or if `run` is null) and `collsim_version`.
Record context_of(const CallRequest& request, const RunSpec* run);

/// A row as CSV and JSON have it: its columns, in order, are the same for every question.
Record answer_record(const Section& section, const Row& row);

/// All columns of tables that can have values in this section; see answer_record().
std::vector<Column> answer_columns(const Section& section);

/// (predicted - measured) / measured.
double relative_error(const Row& row);

/// Writes answers as they come: sections one after another, rows within them.
class CallPrinter {
 public:
  virtual ~CallPrinter() = default;
  virtual void begin(const Section& section) = 0;
  virtual void add(const Row& row) = 0;
  /// Ends a section, after its last row.
  virtual void end() = 0;
  /// Ends the output, after the last section.
  virtual void finish() {}
};

/// `table` has the columns that fit into line_width, or with `wide` all columns that can have
/// values. Rows for programs always have all columns. `command` heads a report (call_report.h).
std::unique_ptr<CallPrinter> make_call_printer(Format format, std::string command,
                                               std::ostream& out);

}  // namespace collsim::command
