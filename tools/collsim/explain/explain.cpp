#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "models/explanation/explanation.h"
#include "models/scenario/scenario.h"
#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/explain/explanation_report.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage = "collsim explain [MACHINE|SCENARIO] -b SIZE [options]";
constexpr std::string_view epilogue =
    "Explains one call: the candidates and NCCL's choice, how the data is divided, where the time\n"
    "goes, the critical path through the machine, and the busiest resources.\n"
    "\n"
    "  collsim explain -t hgx-h200 -b 4M\n"
    "  collsim explain -t dgx-h100-x4 -c all_to_all -b 64M\n"
    "  collsim explain -t hgx-h200 -a tree -b 64K --format json";

Bytes only_size(const CallRequest& request) {
  if (request.scenario.collective == Collective::barrier) return {};
  return sizes_of(request).front();
}

}  // namespace

int run_explain(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(request_options(RequestedSizes::one, "table or json"), usage,
                                    epilogue, "scenario", args, out);
  if (!values) return exit_ok;
  const CallRequest request = read_request(*values, err);
  if (values->count("minbytes") == 0 && request.scenario.collective != Collective::barrier) {
    throw InputError("explain: no size", "-b SIZE");
  }
  if (request.format == Format::csv) {
    throw InputError("--format csv: an explanation has no rows", "table or json");
  }
  std::vector<Explanation> explanations;
  for (const RunSpec& run : request.scenario.runs) {
    const CallCompiler compiler(spec_of(request, run));
    warn(compiler, err);
    const Section section{&request, &compiler.spec().run, "native"};
    const Explanation explanation = [&] {
      const Waiting waiting(err, "explaining " + to_string(only_size(request)));
      return explain(compiler, only_size(request), Engine::native);
    }();
    if (request.format == Format::json) {
      explanations.push_back(explanation);
    } else {
      print_explanation(section, compiler, explanation, out);
    }
  }
  if (request.format == Format::json) print_explanations_json(request, explanations, out);
  return exit_ok;
}

}  // namespace collsim::command
