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

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim estimate [MACHINE|SCENARIO] [options]";
constexpr std::string_view epilogue =
    "Predicts the time by formulas, without simulating: thousands of sizes a second. A textbook's\n"
    "schedule has its algorithm's closed form where all hops are equal. Otherwise what repeats is\n"
    "computed for each kind of rank and link, and is near what `collsim run` simulates\n"
    "(docs/estimate.md says how near). --wide adds the parts of the bound. docs/algorithms.md and\n"
    "docs/estimate.md derive every formula.\n"
    "\n"
    "  collsim estimate -t hgx-h200 -a ring,tree -b 1M -e 1G -f 32\n"
    "  collsim estimate -t switch-64 -a ring --format csv\n"
    "  collsim estimate --alpha 1us --bandwidth 50GB/s --ranks 64 -a ring,tree -b 8 -e 1G";

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

}  // namespace

int run_estimate(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  auto options = request_options(RequestedSizes::sweep, formats_with_page());
  add_kernel_option(options);
  add_registered_option(options);
  const auto values = parse_options(options, usage, epilogue, "scenario", args, out);
  if (!values) return exit_ok;
  if (answer_kernel_question(*values, "estimate", args, out, err)) return exit_ok;
  const CallRequest request = read_request(*values, err);
  heed_schedules("estimate", *values, request);
  const auto printer = make_call_printer(request.format, command_text("estimate", args), out);
  for (const RunSpec& run : request.scenario.runs) write_rows(request, run, *printer, err);
  printer->finish();
  return exit_ok;
}

}  // namespace collsim::command
