#include <ostream>

#include "models/predict/predictor.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/kernel_rows.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

namespace {

void write_rows(const CallRequest& request, const RunSpec& run, CallPrinter& printer,
                std::ostream& err) {
  Predictor predictor(spec_of(request, run), by_formulas());
  warn(predictor.compiler(), err);
  printer.begin({&request, &predictor.compiler().spec().run, "analytic"});
  for (const Bytes size : sizes_of(request)) {
    printer.add({predictor.predict(size), std::nullopt});
  }
  printer.end();
}

int run_estimate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(estimate_subcommand, args, out);
  if (!values) return exit_ok;
  if (answer_kernel_question(*values, estimate_subcommand, args, out, err)) return exit_ok;
  const CallRequest request = read_request(*values, err);
  heed_schedules(estimate_subcommand, *values, request);
  const auto printer = make_call_printer(request.format, command_text("estimate", args), out);
  for (const RunSpec& run : request.scenario.runs) write_rows(request, run, *printer, err);
  printer->finish();
  return exit_ok;
}

}  // namespace

const Subcommand estimate_subcommand{
    .name = "estimate",
    .summary = "how long a collective takes, by formulas alone, with bounds",
    .usages = {"[MACHINE|SCENARIO] [options]"},
    .answers =
        "Says how long a collective takes, as `collsim run` does, but by formulas: thousands of "
        "sizes a second. A textbook's schedule has its algorithm's closed form where all hops are "
        "equal. Otherwise what repeats is computed for each kind of rank and link, and is near "
        "what `collsim run` simulates.",
    .manual =
        "--wide adds the parts of the bound. docs/formulas.md derives the formulas; "
        "docs/estimate.md says how near they are.\n" +
        std::string(call_manual),
    .examples = {"estimate hgx-h200 -a ring,tree -b 1M -e 1G -f 32",
                 "estimate switch-64 -a ring --format csv",
                 "estimate --alpha 1us --bandwidth 50GB/s --ranks 64 -a ring,tree -b 8 -e 1G"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes maxbytes stepfactor env fault format",
    .modes = sweep_modes(""),
    .formats = formats_with_page(),
    .run = run_estimate,
};

}  // namespace collsim::command
