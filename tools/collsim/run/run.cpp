#include <fmt/format.h>
#include <fmt/ostream.h>

#include <map>
#include <optional>
#include <ostream>

#include "models/predict/predictor.h"
#include "models/recordings/recording.h"
#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/run_watch.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/time_limit.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/kernel_rows.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/engine_name.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// How the answers are to be computed.
struct Approach {
  EngineName engine_name = EngineName::native;
  bool exact = false;
  RunWatch* watch = nullptr;

  Method method() const {
    Method method = method_of(engine_name, exact);
    method.simulation.watch = watch->watch();
    method.simulation.begin = [this](Bytes size, double messages) {
      watch->begin(to_string(size), messages);
    };
    return method;
  }
};

std::optional<Seconds> measured_time(const std::map<Bytes, Seconds>& times, Bytes size) {
  const auto found = times.find(size);
  if (found == times.end()) return std::nullopt;
  return found->second;
}

void answer(const CallRequest& request, const RunSpec& run, const Approach& approach,
            CallPrinter& printer, std::ostream& err) {
  const Scenario& scenario = request.scenario;
  std::map<Bytes, Seconds> recorded;
  if (run.measured) {
    recorded = measured_times(read_recording(run.measured->file), run.measured->id,
                              scenario.collective, request.ranks);
  }
  Predictor predictor(spec_of(request, run), approach.method());
  warn(predictor.compiler(), err);
  printer.begin(
      {&request, &predictor.compiler().spec().run, std::string(name_of(approach.engine_name))});
  for (const Bytes size : sizes_of(request)) {
    const Prediction prediction = predictor.predict(size);
    approach.watch->end();
    printer.add({prediction, measured_time(recorded, size)});
  }
  printer.end();
}

int run_run(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(run_subcommand, args, out);
  if (!values) return exit_ok;
  if (answer_kernel_question(*values, run_subcommand, args, out, err)) return exit_ok;
  const EngineName engine_name = (*values)["engine"].as<EngineName>();
  RunWatch watch(err, time_limit(*values));
  const Approach approach{engine_name, (*values)["exact"].as<bool>(), &watch};
  const CallRequest request = read_request(*values, err);
  heed_schedules(run_subcommand, *values, request);
  require_heeded(*values,
                 {{"exact", engine_name != EngineName::analytic, "an engine that simulates"}});
  const auto printer = make_call_printer(request.format, command_text("run", args), out);
  for (const RunSpec& run : request.scenario.runs) {
    answer(request, run, approach, *printer, err);
  }
  printer->finish();
  return exit_ok;
}

}  // namespace

const Subcommand run_subcommand{
    .name = "run",
    .summary = "simulate a collective: how long it takes, next to recorded times if there are any",
    .usages = {"[MACHINE|SCENARIO] [options]"},
    .answers =
        "Says how long a collective takes on a machine: it is simulated event by event, as NCCL or "
        "a textbook runs it. `bound` is a time that no algorithm can beat on the ports that these "
        "GPUs can use. If the scenario names a recording, the table also shows its times and the "
        "error of the prediction.",
    .manual = std::string(call_manual) + " docs/run.md explains the output.",
    .examples = {"run hgx-h200 -a ring,tree -b 1M -e 1G -f 4", "run hgx-h200-all-reduce",
                 "run --alpha 1us --bandwidth 50GB/s -n 8 -a ring,tree",
                 "run hgx-h200 --schedule textbook -a ring -b 1M -e 1G -f 4",
                 "run switch-1024 -b 1G --format csv",
                 "run hgx-h200-all-reduce --format html > run.html"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes maxbytes stepfactor env fault format",
    .modes = sweep_modes("engine exact"),
    .formats = formats_with_page(),
    .run = run_run,
};

}  // namespace collsim::command
