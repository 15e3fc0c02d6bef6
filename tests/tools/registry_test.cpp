// Every algorithm of the registry is taken by every command that takes one. A new row gets here by
// itself.

#include "sim/algorithms/registry.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

/// Two nodes of four ranks, with a port each.
const std::vector<std::string> machine{"--ranks", "8",   "--ranks-per-node", "4",
                                       "--alpha", "1us", "--bandwidth",      "50GB/s"};

struct Row {
  Collective collective = Collective::all_reduce;
  std::string algorithm;

  std::vector<std::string> command(const std::string& name,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> args{name, "-c", std::string(to_string(collective)), "-a", algorithm};
    args.insert(args.end(), machine.begin(), machine.end());
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  std::string name() const { return std::string(to_string(collective)) + " " + algorithm; }
};

std::vector<Row> rows_of_registry() {
  std::vector<Row> rows;
  for (const Collective collective : all_collectives()) {
    for (const std::string& name : algorithm_names(collective)) {
      if (why_unsupported(collective, name, uniform_placement(8, 4))) continue;
      rows.push_back({collective, name});
    }
  }
  return rows;
}

double time_of(const Row& row, const std::string& engine) {
  const std::string out =
      output_of(row.command(engine, {"-b", "16M", "-e", "16M", "--format", "json"}));
  return nlohmann::json::parse(out).at(0).at("time_us").get<double>();
}

TEST(Registry, rows_are_taken_by_every_command) {
  const std::vector<Row> rows = rows_of_registry();
  EXPECT_GT(rows.size(), 20U);
  for (const Row& row : rows) {
    for (const char* const command : {"run", "estimate"}) {
      EXPECT_EQ(run(row.command(command, {"-b", "1M", "-e", "1M"})).status, exit_ok)
          << command << " " << row.name();
    }
    for (const char* const command : {"explain", "steps", "faults"}) {
      if (row.collective == Collective::barrier) continue;  // has no size
      EXPECT_EQ(run(row.command(command, {"-b", "1M"})).status, exit_ok)
          << command << " " << row.name();
    }
    EXPECT_EQ(run({"check", "-c", std::string(to_string(row.collective)), "-a", row.algorithm,
                   "--ranks", "8", "--ranks-per-node", "4", "--channels", "1"})
                  .status,
              exit_ok)
        << "check " << row.name();
  }
}

// An algorithm of which the formulas knew nothing came out as its bound, up to 14 times too fast.
TEST(Registry, rows_are_estimated_as_they_are_simulated) {
  for (const Row& row : rows_of_registry()) {
    const double simulated = time_of(row, "run");
    const double estimated = time_of(row, "estimate");
    EXPECT_GT(simulated, 0) << row.name();
    EXPECT_NEAR(estimated / simulated, 1, 0.25) << row.name();
  }
}

}  // namespace
}  // namespace collsim::command
