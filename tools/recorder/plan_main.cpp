#include <fmt/format.h>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.h"
#include "tools/recorder/plan.h"
#include "tools/recorder/plan_cost.h"
#include "tools/recorder/program.h"

namespace {

using namespace collsim::recorder;

constexpr std::string_view usage =
    "Usage: collsim-recorder-plan [--dry-run] PLAN...\n"
    "\n"
    "Writes the run list of plans (docs/formats.md) to standard output, for collsim-recorder. "
    "With\n"
    "--dry-run instead what would be run, and about how long it takes.\n";

void print_dry_run(const std::vector<Run>& runs) {
  double total = 0;
  std::size_t cases = 0;
  fmt::print("{:<48} {:>5} {:>6} {:>8}\n", "run", "ranks", "cases", "about s");
  for (const Run& run : runs) {
    const double seconds = guessed_seconds(run);
    fmt::print("{:<48} {:>5} {:>6} {:>8.1f}\n", run.name, run.ranks, run.cases.size(), seconds);
    total += seconds;
    cases += run.cases.size();
  }
  fmt::print("{} runs, {} cases, about {:.0f} s\n", runs.size(), cases, total);
}

int print_plans(const std::vector<std::string>& words) {
  bool dry_run = false;
  std::vector<Run> runs;
  for (const std::string& word : words) {
    if (word == "--dry-run") {
      dry_run = true;
      continue;
    }
    std::vector<Run> more = load_plan(word);
    runs.insert(runs.end(), more.begin(), more.end());
  }
  if (runs.empty()) throw collsim::InputError("no runs", std::string(usage));
  if (dry_run) {
    print_dry_run(runs);
  } else {
    write_run_list(std::cout, runs);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv, usage, print_plans);
}
