#include <ostream>

#include "models/prediction/prediction.h"
#include "tools/collsim/options.h"
#include "tools/collsim/question.h"
#include "tools/collsim/report.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim estimate [MACHINE|SCENARIO] [options]";
constexpr std::string_view epilogue =
    "Predicts the time by the analytic model. If all hops are equal, this is the algorithm's\n"
    "closed form. Otherwise it is the plan's critical path, whose transfer time is at least the\n"
    "time that the busiest link needs. --wide adds the parts of the bound, of the model's floor\n"
    "(this plan's busiest link and its hops) and of the critical path. docs/algorithms.md derives\n"
    "every form.\n"
    "\n"
    "  collsim estimate -t hgx-h200 -a ring,tree -b 1M -e 1G -f 32\n"
    "  collsim estimate -t switch-64 -a ring --format csv\n"
    "  collsim estimate --alpha 1us --bandwidth 50GB/s --ranks 64 -a ring,tree -b 8 -e 1G";

void write_rows(const Question& question, const RunSpec& run, Report& report, std::ostream& err) {
  const Planner planner(spec_of(question, run));
  warn(planner, err);
  report.begin({&question, &planner.spec().run, "analytic"});
  LayoutMemo memo;
  for (const Bytes size : sizes_of(question)) {
    const CallPlan call = planner.plan(size, &memo);
    report.add({estimate(call), std::nullopt, critical_path(call)});
  }
  report.end();
}

}  // namespace

int run_estimate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(question_options(), usage, epilogue, "scenario", args, out);
  if (!values) return exit_ok;
  const Question question = read_question(*values, err);
  const auto report = make_report(question.format, out);
  for (const RunSpec& run : question.scenario.runs) write_rows(question, run, *report, err);
  report->finish();
  return exit_ok;
}

}  // namespace collsim::command
