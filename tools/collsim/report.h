#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/prediction/prediction.h"
#include "tools/collsim/question.h"
#include "tools/collsim/records.h"

namespace collsim::command {

/// One answer of `run` or `estimate`.
struct Row {
  Prediction prediction;
  std::optional<Seconds> measured{};
  std::optional<CriticalPath> path{};  ///< of an estimate
};

/// What all rows of one run have in common.
struct Section {
  const Question* question = nullptr;
  const RunSpec* run = nullptr;
  std::string engine;  ///< "native", "simgrid", "analytic"
};

/// What a settled run asks for, in a line: "textbook schedule, algorithm ring, protocol Simple, 4
/// channels", "as NCCL 2.30 runs it, NCCL_PROTO=LL".
std::string describe(const RunSpec& run);

/// The first lines of a table: our version, what is asked on which machine; schedule, engine and
/// calibration; a line for each fault.
void print_head(const Section& section, std::ostream& out);

/// A line for each class of trust: how far off predictions of it have been. None for exact ones.
void print_trust_errors(const Question& question, const std::set<Trust>& classes,
                        std::ostream& out);

/// What every row for programs says of where it comes from: `machine`, `collective`, `nranks`,
/// `faults` ("link: node0/nic0, bandwidth: 10%; rank: 3, late: 1 ms", empty where there are none),
/// `nccl_version` (null in a textbook schedule, or where `run` is null) and `collsim_version`.
Record context_of(const Question& question, const RunSpec* run);

/// (predicted - measured) / measured.
double relative_error(const Row& row);

/// Writes answers as they come: sections one after another, rows within them.
class Report {
 public:
  virtual ~Report() = default;
  virtual void begin(const Section& section) = 0;
  virtual void add(const Row& row) = 0;
  /// After the last row of a section.
  virtual void end() = 0;
  /// After the last section.
  virtual void finish() {}
};

/// `table` has what line_width has room for, or all columns with `wide`: as many as a question can
/// have values in. `csv` has one header and one line a row, `json` is one array of objects, with
/// all columns whatever is asked.
std::unique_ptr<Report> make_report(Format format, std::ostream& out);

}  // namespace collsim::command
