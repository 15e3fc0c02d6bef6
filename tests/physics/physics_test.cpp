// What must hold of every machine, whatever its size, links and latencies: properties of physics,
// tried on machines, calls and faults that RapidCheck draws. What fails is shrunk to the smallest
// case.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim {
namespace {

using nlohmann::json;
using test::TemporaryFile;

/// Nodes of one kind below one switch.
struct DrawnMachine {
  std::string node;  // a template
  int nodes = 1;
  int gigabytes_per_second = 1;  // of a cable of the fabric
  int tenths_of_us = 1;          // its latency
};

struct DrawnCall {
  std::string collective;
  std::string algorithm;
  std::int64_t bytes = 8;
};

// RapidCheck finds these by its name for them.
// NOLINTNEXTLINE(readability-identifier-naming)
void showValue(const DrawnMachine& machine, std::ostream& out) {
  out << machine.nodes << " x " << machine.node << ", " << machine.gigabytes_per_second << " GB/s, "
      << machine.tenths_of_us << " / 10 us";
}

// NOLINTNEXTLINE(readability-identifier-naming)
void showValue(const DrawnCall& call, std::ostream& out) {
  out << call.collective << ' ' << call.algorithm << ' ' << call.bytes << " B";
}

rc::Gen<DrawnMachine> any_machine() {
  return rc::gen::build<DrawnMachine>(
      rc::gen::set(&DrawnMachine::node, rc::gen::element<std::string>("v100-1-25g", "polaris",
                                                                      "dgx-1-v100", "dgx-a100")),
      rc::gen::set(&DrawnMachine::nodes, rc::gen::inRange(2, 6)),
      rc::gen::set(&DrawnMachine::gigabytes_per_second, rc::gen::inRange(1, 100)),
      rc::gen::set(&DrawnMachine::tenths_of_us, rc::gen::inRange(1, 50)));
}

rc::Gen<DrawnCall> any_call() {
  using Pair = std::pair<std::string, std::string>;
  const auto which =
      rc::gen::element(Pair{"all_reduce", "ring"}, Pair{"all_reduce", "tree"},
                       Pair{"all_reduce", "double_binary_tree"}, Pair{"all_reduce", "hierarchical"},
                       Pair{"all_gather", "ring"}, Pair{"broadcast", "tree"},
                       Pair{"reduce", "ring"}, Pair{"all_to_all", "direct"});
  return rc::gen::map(
      rc::gen::pair(which, rc::gen::inRange(3, 25)), [](const std::pair<Pair, int>& drawn) {
        return DrawnCall{drawn.first.first, drawn.first.second, std::int64_t{1} << drawn.second};
      });
}

std::string description_of(const DrawnMachine& machine) {
  std::ostringstream text;
  text << "collsim: topology/1\nname: drawn\nnodes: { template: " << machine.node
       << ", count: " << machine.nodes
       << " }\nfabric:\n  kind: fat_tree\n  link: { bandwidth: " << machine.gigabytes_per_second
       << " GB/s, latency: " << machine.tenths_of_us << "e-1 us }\n";
  return text.str();
}

/// What is printed of one call of the textbook, without constants of any real machine.
std::string printed_by(const std::string& subcommand, const DrawnMachine& machine,
                       const DrawnCall& call, const std::vector<std::string>& more) {
  const TemporaryFile file("machine.yaml", description_of(machine));
  const std::string bytes = std::to_string(call.bytes);
  std::vector<std::string> words{subcommand, "-t", file.path().string()};
  for (const std::string& word :
       {std::string("--calibration"), std::string("ideal"), std::string("--schedule"),
        std::string("textbook"), std::string("-c"), call.collective, std::string("-a"),
        call.algorithm, std::string("-b"), bytes, std::string("-e"), bytes}) {
    words.push_back(word);
  }
  words.insert(words.end(), more.begin(), more.end());
  std::ostringstream out;
  std::ostringstream err;
  const int status = command::run_command(words, out, err);
  if (status != command::exit_ok) RC_FAIL(err.str());
  return out.str();
}

json rows_of(const std::string& subcommand, const DrawnMachine& machine, const DrawnCall& call,
             std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--format", "json"});
  return json::parse(printed_by(subcommand, machine, call, more));
}

double time_of(const std::string& subcommand, const DrawnMachine& machine, const DrawnCall& call,
               const std::vector<std::string>& more = {}) {
  return rows_of(subcommand, machine, call, more).at(0).at("time_us").get<double>();
}

constexpr double rounding = 1e-9;

RC_GTEST_PROP(Physics, no_call_is_faster_than_its_bound, ()) {
  const DrawnMachine machine = *any_machine();
  const DrawnCall call = *any_call();
  for (const char* const subcommand : {"run", "estimate"}) {
    const json row = rows_of(subcommand, machine, call).at(0);
    RC_ASSERT(row.at("time_us").get<double>() >= row.at("bound_us").get<double>() * (1 - rounding));
  }
}

RC_GTEST_PROP(Physics, more_latency_is_never_faster, ()) {
  DrawnMachine machine = *any_machine();
  const DrawnCall call = *any_call();
  const double before = time_of("run", machine, call);
  machine.tenths_of_us *= 2;
  RC_ASSERT(time_of("run", machine, call) >= before * (1 - rounding));
}

RC_GTEST_PROP(Physics, slower_cables_are_never_faster, ()) {
  DrawnMachine machine = *any_machine();
  const DrawnCall call = *any_call();
  const double slow = time_of("run", machine, call);
  machine.gigabytes_per_second *= 2;
  RC_ASSERT(time_of("run", machine, call) <= slow * (1 + rounding));
}

RC_GTEST_PROP(Physics, a_larger_call_is_never_faster, ()) {
  const DrawnMachine machine = *any_machine();
  DrawnCall call = *any_call();
  const double before = time_of("run", machine, call);
  call.bytes *= 2;
  RC_ASSERT(time_of("run", machine, call) >= before * (1 - rounding));
}

// A slow port may move senders apart that were in each other's way: 1 % (see metamorphic_test.cpp).
RC_GTEST_PROP(Physics, a_fault_never_makes_a_call_faster, ()) {
  const DrawnMachine machine = *any_machine();
  const DrawnCall call = *any_call();
  const int node = *rc::gen::inRange(0, machine.nodes);
  const int percent = *rc::gen::inRange(5, 100);
  const std::string fault =
      "link: node" + std::to_string(node) + "/nic0, bandwidth: " + std::to_string(percent) + "%";
  RC_ASSERT(time_of("run", machine, call, {"--fault", fault}) >=
            0.99 * time_of("run", machine, call));
}

/// The column of the first row of a table of commas.
std::string cell_of(const std::string& csv, const std::string& column) {
  std::istringstream lines(csv);
  std::string names;
  std::string values;
  std::getline(lines, names);
  std::getline(lines, values);
  std::istringstream name_cells(names);
  std::istringstream value_cells(values);
  std::string name;
  std::string value;
  while (std::getline(name_cells, name, ',') && std::getline(value_cells, value, ',')) {
    if (name == column) return value;
  }
  return {};
}

// Columns before the first text that may hold a comma.
RC_GTEST_PROP(Physics, formats_say_the_same, ()) {
  const DrawnMachine machine = *any_machine();
  const DrawnCall call = *any_call();
  const json row = rows_of("run", machine, call).at(0);
  const std::string csv = printed_by("run", machine, call, {"--format", "csv"});
  const std::string line = printed_by("run", machine, call, {"--format", "jsonl"});
  RC_ASSERT(json::parse(line) == row);
  for (const char* const column : {"time_us", "busbw_GBps", "bound_us"}) {
    const auto exact = row.at(column).get<double>();
    constexpr double printed_digits = 1e-8;
    RC_ASSERT(std::abs(std::stod(cell_of(csv, column)) - exact) <= printed_digits * exact);
  }
}

}  // namespace
}  // namespace collsim
