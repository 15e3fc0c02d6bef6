#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "models/predictor.h"
#include "tools/collsim/options.h"
#include "tools/collsim/question.h"
#include "tools/collsim/report.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim estimate [SCENARIO] [options]";
constexpr std::string_view epilogue =
    "The analytic model: an algorithm's closed form where all hops are alike, else the plan's\n"
    "critical path with its transfer time raised to what the busiest link needs. The table adds "
    "the\n"
    "lower bounds (of any algorithm on this machine: cut; of this plan: busiest link, latency) "
    "and\n"
    "what the critical path consists of. docs/algorithms.md derives every form.\n"
    "\n"
    "  collsim estimate -t hgx-h200 -a ring,tree -b 1M -e 1G -f 32\n"
    "  collsim estimate -t switch-64 -a ring --format csv";

std::string_view name_of(EstimateMethod method) {
  return method == EstimateMethod::closed_form ? "closed form" : "critical path";
}

void print_table(const Question& question, const RunSpec& run, std::ostream& out,
                 std::ostream& err) {
  const Predictor predictor = make_predictor(question, run);
  warn(predictor, err);
  print_head({&question, &run, "analytic"}, out);
  fmt::print(out, "#\n");
  fmt::print(out, "#{:>12} {:>11} {:>14} | {:>10} {:>10} {:>10} | {:>5} {:>9} {:>9} {:>9} {:>9}\n",
             "size", "time", "", "cut", "busiest", "latency", "hops", "launch", "latency", "serial",
             "transfer");
  fmt::print(out, "#{:>12} {:>11} {:>14} | {:>32} | {:>45}\n", "(B)", "(us)", "method",
             "lower bounds (us)", "critical path without contention (us)");
  for (const Bytes size : expand(question.scenario.sizes, float_size)) {
    const Prediction prediction = predictor.estimate(size);
    const CriticalPath path = predictor.critical_path(size);
    const Bounds& bounds = prediction.bounds;
    fmt::print(out,
               " {:>12} {:>11.2f} {:>14} | {:>10.2f} {:>10.2f} {:>10.2f} | {:>5} {:>9.2f} {:>9.2f} "
               "{:>9.2f} {:>9.2f}\n",
               size.count, in_microseconds(prediction.time), name_of(prediction.method),
               in_microseconds(bounds.cut), in_microseconds(bounds.busiest_resource),
               in_microseconds(bounds.latency), path.hops, in_microseconds(path.launch),
               in_microseconds(path.latency), in_microseconds(path.serial),
               in_microseconds(path.transfer));
    out.flush();
  }
  fmt::print(out, "\n");
}

void write_rows(const Question& question, const RunSpec& run, Report& report, std::ostream& err) {
  const Predictor predictor = make_predictor(question, run);
  warn(predictor, err);
  report.begin({&question, &run, "analytic"});
  for (const Bytes size : expand(question.scenario.sizes, float_size)) {
    report.add({predictor.estimate(size), std::nullopt});
  }
  report.end();
}

}  // namespace

int run_estimate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(question_options(), usage, epilogue, "scenario", args, out);
  if (!values) return exit_ok;
  const Question question = read_question(*values);
  if (question.format == Format::table) {
    for (const RunSpec& run : question.scenario.runs) print_table(question, run, out, err);
    return exit_ok;
  }
  const auto report = make_report(question.format, out);
  for (const RunSpec& run : question.scenario.runs) write_rows(question, run, *report, err);
  report->finish();
  return exit_ok;
}

}  // namespace collsim::command
