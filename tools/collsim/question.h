#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/calibration/trust.h"
#include "models/prediction/planner.h"
#include "models/scenario/scenario.h"
#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"

namespace collsim::command {

/// How answers are written.
enum class Format : std::uint8_t { table, csv, json };

/// What `run` and `estimate` are asked: a scenario, the machine it is about, and the output wanted.
struct Question {
  Scenario scenario;
  Topology topology;
  Calibration cost;
  Rank ranks = 1;
  std::vector<DeviceId> gpus;  ///< of the ranks, in their order
  MachineFaults faults;
  Format format = Format::table;
  std::vector<TrustError> trust_errors;
  bool wide = false;           ///< tables with all columns, however long their lines
  bool nccl_estimate = false;  ///< show what NCCL itself expects, also where nothing was measured
};

/// Whether a command answers for a sweep of sizes or for one.
enum class SizesAsked : std::uint8_t { sweep, one };

/// The options that make a question, and none that the command has no use for. `formats` is what
/// the help says of --format.
boost::program_options::options_description question_options(
    SizesAsked sizes = SizesAsked::sweep, const char* formats = "table, csv or json");

/// Reads the scenario file if one is given; options given besides override it. Says on `err` what a
/// person should know of the machine and its calibration. Throws InputError.
Question read_question(const boost::program_options::variables_map& values, std::ostream& err);

/// What answers a run of the question, which it refers to.
CallSpec spec_of(const Question& question, const RunSpec& run);

/// The sizes asked about, in whole elements.
std::vector<Bytes> sizes_of(const Question& question);

/// Prints what a person should know about a planner's answers.
void warn(const Planner& planner, std::ostream& err);

}  // namespace collsim::command
