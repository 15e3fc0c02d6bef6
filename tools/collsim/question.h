#pragma once

#include <boost/program_options.hpp>
#include <string>

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
  Format format = Format::table;
};

/// The options that make a question.
boost::program_options::options_description question_options();

/// Reads the scenario file if one is given; options given besides override it. Throws InputError.
Question read_question(const boost::program_options::variables_map& values);

}  // namespace collsim::command
