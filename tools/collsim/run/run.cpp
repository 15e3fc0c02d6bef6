#include <fmt/format.h>
#include <fmt/ostream.h>

#include <map>
#include <optional>
#include <ostream>

#include "models/estimate/estimator.h"
#include "models/recordings/recording.h"
#include "models/simulate/simulator.h"
#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/answer_page.h"
#include "tools/collsim/core/answerer.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/question.h"
#include "tools/collsim/core/report.h"
#include "tools/collsim/core/report_page.h"
#include "tools/collsim/core/run_watch.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/time_limit.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim run [MACHINE|SCENARIO] [options]";
constexpr std::string_view epilogue =
    "Simulates the collective event by event and prints how long it takes. `bound` is a time that\n"
    "no algorithm can beat on the ports that these GPUs can use. If the scenario names a\n"
    "recording, the table also shows its times and the error of the prediction.\n"
    "\n"
    "  collsim run scenarios/hgx-h200-all-reduce.yaml\n"
    "  collsim run -t hgx-h200 -a ring,tree -b 1M -e 1G -f 4\n"
    "  collsim run -t hgx-h200 --schedule textbook -a ring -b 1M -e 1G -f 4\n"
    "  collsim run -t switch-1024 -b 1G --format csv\n"
    "  collsim run hgx-h200-all-reduce --format html > run.html";

/// How the answers are to be computed.
struct Approach {
  Answerer answerer = Answerer::native;
  bool exact = false;
  RunWatch* watch = nullptr;
};

SimulationOptions options_of(const Approach& approach) {
  SimulationOptions options;
  options.engine = approach.answerer == Answerer::simgrid ? Engine::simgrid : Engine::native;
  options.exact = approach.exact;
  options.watch = approach.watch->watch();
  options.begin = [&approach](Bytes size, double messages) {
    approach.watch->begin(to_string(size), messages);
  };
  return options;
}

/// Answers for the sizes of one planner.
class Answers {
 public:
  Answers(const Planner& planner, const Approach& approach)
      : approach_(approach), estimator_(planner), simulator_(planner, options_of(approach)) {}

  Prediction of(Bytes size) {
    if (approach_.answerer == Answerer::analytic) return estimator_.estimate(size);
    Prediction prediction = simulator_.simulate(size);
    approach_.watch->end();
    return prediction;
  }

 private:
  const Approach& approach_;
  Estimator estimator_;
  Simulator simulator_;
};

std::optional<Seconds> measured_time(const std::map<Bytes, Seconds>& times, Bytes size) {
  const auto found = times.find(size);
  if (found == times.end()) return std::nullopt;
  return found->second;
}

void answer(const Question& question, const RunSpec& run, const Approach& approach, Report& report,
            std::ostream& err) {
  const Scenario& scenario = question.scenario;
  std::map<Bytes, Seconds> recorded;
  if (run.measured) {
    recorded = measured_times(read_recording(run.measured->file), run.measured->id,
                              scenario.collective, question.ranks);
  }
  const Planner planner(spec_of(question, run));
  warn(planner, err);
  Answers answers(planner, approach);
  report.begin({&question, &planner.spec().run, std::string(name_of(approach.answerer))});
  for (const Bytes size : sizes_of(question)) {
    report.add({answers.of(size), measured_time(recorded, size)});
  }
  report.end();
}

}  // namespace

int run_run(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options = question_options(SizesAsked::sweep, formats_with_page);
  options.add_options()("engine", po::value<std::string>()->default_value("auto"),
                        "auto, native, simgrid or analytic")(
      "exact", po::bool_switch(),
      "simulate every message of every rank: continue no steady state, fold nothing");
  const auto values = parse_options(options, usage, epilogue, "scenario", args, out);
  if (!values) return exit_ok;
  const Answerer answerer = parse_engine((*values)["engine"].as<std::string>());
  RunWatch watch(err, time_limit(*values));
  const Approach approach{answerer, (*values)["exact"].as<bool>(), &watch};
  const Question question = read_question(*values, err, PageOffered::yes);
  const auto report = question.format == Format::html
                          ? make_answer_page(command_text("run", args), out)
                          : make_report(question.format, out);
  for (const RunSpec& run : question.scenario.runs) {
    answer(question, run, approach, *report, err);
  }
  report->finish();
  return exit_ok;
}

}  // namespace collsim::command
