#include <algorithm>
#include <ostream>

#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/expect/expectation.h"
#include "tools/collsim/expect/expectation_text.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/collective_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// Those that -c lists, once each; without it all that carry data.
std::vector<Collective> asked_collectives(const po::variables_map& values) {
  std::vector<Collective> asked;
  if (!values.contains("collective")) {
    for (const Collective each : all_collectives()) {
      if (each != Collective::barrier) asked.push_back(each);
    }
    return asked;
  }
  for (const std::string& name : split(values["collective"].as<std::string>(), ',')) {
    const Collective collective = parse_collective(name);
    if (collective == Collective::barrier) {
      throw InputError("--collective: a barrier has no bytes to expect a time for",
                       "collectives that carry data; `collsim run -c barrier` times one");
    }
    if (std::find(asked.begin(), asked.end(), collective) == asked.end()) {
      asked.push_back(collective);
    }
  }
  return asked;
}

po::variables_map in_place(po::variables_map values) {
  values.erase("in-place");
  values.insert({"in-place", po::variable_value(true, false)});
  return values;
}

int run_expect(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(expect_subcommand, args, out);
  if (!values) return exit_ok;
  const std::vector<Collective> collectives = asked_collectives(*values);
  const bool simulates = (*values)["simulate"].as<bool>();
  const Method method = simulates ? by_simulation() : by_formulas();
  const Expectation expectation = expect_calls(*values, collectives, method, err);
  heed_schedules(expect_subcommand, *values, expectation.request);
  require_heeded(*values, {{"in-place", expectation.request.format != Format::nccl_tests,
                            "a --format other than nccl-tests, whose table has both"}});
  if (values->contains("export-lookup")) {
    replace_file((*values)["export-lookup"].as<OutputFile>().name, lookup_file(expectation));
  }
  switch (expectation.request.format) {
    case Format::prometheus:
      print_prometheus(expectation, out);
      break;
    case Format::nccl_tests: {
      std::ostream silent(nullptr);
      print_nccl_tests(expectation, expect_calls(in_place(*values), collectives, method, silent),
                       out);
      break;
    }
    default:
      write_answer(expectation.request.format, answer_of(expectation, command_text("expect", args)),
                   out);
  }
  return exit_ok;
}

}  // namespace

const Subcommand expect_subcommand{
    .name = "expect",
    .summary = "what each call of a communicator should take, with a range, for other programs",
    .usages = {"[MACHINE|SCENARIO|LOG] [options]"},
    .answers =
        "Says what every call of a communicator should take: by collective and size, with the "
        "algorithm, the protocol and the range that holds 8 of 10 healthy times. The communicator "
        "is a machine's, or that of NCCL's log (NCCL_DEBUG=INFO) or of nccl-tests' output: then "
        "its machine, ranks, release and variables are the log's.",
    .manual =
        "Times follow from formulas, as `collsim estimate` has them; --simulate takes those of "
        "`collsim run`. docs/expect.md says how schedulers, mocks and monitors read the answer; "
        "docs/expect.schema.json is the schema of its JSON.",
    .examples = {"expect hgx-h200", "expect dgx-h100-x4 -c all_reduce,all_gather -b 1M -e 1G",
                 "expect hgx-h200 --format json", "expect hgx-h200 --format prometheus",
                 "expect hgx-h200 -c all_reduce --format nccl-tests"},
    .argument = "scenario",
    .first =
        "topology ranks collective minbytes maxbytes env nccl-version simulate export-lookup "
        "format",
    .modes = call_modes(size_options() + "simulate export-lookup", "", "op"),
    .formats = {Format::table, Format::csv, Format::json, Format::jsonl, Format::markdown,
                Format::html, Format::prometheus, Format::nccl_tests},
    .values = {{"collective", text("LIST")}},
    .run = run_expect,
};

}  // namespace collsim::command
