#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>

#include "models/predictor.h"
#include "models/scenario.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"

namespace collsim::command {

/// How answers are written.
enum class Format : std::uint8_t { table, csv, json };

/// What `run` and `estimate` are asked: a scenario, the machine it is about, and the output wanted.
struct Question {
  Scenario scenario;
  Topology topology;
  TransferCost cost;
  Rank ranks = 1;
  MachineFaults faults;
  Format format = Format::table;
  bool nccl_estimate = false;  ///< show what NCCL itself expects, also where nothing was measured
};

/// The options that make a question.
boost::program_options::options_description question_options();

/// Reads the scenario file if one is given; options given besides override it. Throws InputError.
Question read_question(const boost::program_options::variables_map& values);

/// What answers a run of the question, which it refers to.
Predictor make_predictor(const Question& question, const RunSpec& run);

/// Prints what a person should know about a predictor's answers.
void warn(const Predictor& predictor, std::ostream& err);

}  // namespace collsim::command
