// Traces of programs: what a viewer is told of two ops.

#include "models/program/program_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "models/program/call_program_yaml.h"

namespace collsim {
namespace {

/// Calls that take 20 us.
class SteadyCalls : public CallCosts {
 public:
  CallCost cost_of(const ProgramCommunicator& /*communicator*/,
                   const ProgramCall& /*call*/) override {
    return {Seconds{20e-6}, {}, 0, 0};
  }
};

// Rank 0 computes 10 us, rank 1 40 us; the call moves from 40 to 60 us, for which rank 0 waits 30.
TEST(ProgramTrace, has_waits_and_moves) {
  const CallProgram program = read_call_program(read_yaml({"program.yaml", R"(collsim: program/1
ranks: 2
communicators: { all: "0..1" }
groups:
  a: { ranks: 0, ops: [ { compute: 10 us }, { all_reduce: 1 MB, on: all } ] }
  b: { ranks: 1, ops: [ { compute: 40 us }, { all_reduce: 1 MB, on: all } ] }
)"},
                                                          "program"));
  SteadyCalls costs;
  const auto trace =
      nlohmann::json::parse(program_trace(program, schedule_program(program, costs)));
  std::vector<std::tuple<int, std::string, double, double>> slices;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    slices.emplace_back(event["pid"].get<int>(), event["name"].get<std::string>(),
                        std::round(event["ts"].get<double>()),
                        std::round(event["dur"].get<double>()));
  }
  const std::vector<std::tuple<int, std::string, double, double>> expected{
      {0, "kernels", 0, 10},
      {0, "waits: all_reduce", 10, 30},
      {0, "all_reduce", 40, 20},
      {1, "kernels", 0, 40},
      {1, "all_reduce", 40, 20}};
  EXPECT_EQ(slices, expected);
}

}  // namespace
}  // namespace collsim
