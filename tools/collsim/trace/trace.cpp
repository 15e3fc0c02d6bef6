#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <ostream>

#include "models/call/prediction.h"
#include "sim/base/input_error.h"
#include "sim/execution/effort.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/run_watch.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/time_limit.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/trace/perfetto.h"
#include "tools/collsim/trace/trace_counters.h"

namespace collsim::command {

namespace {

/// A trace of so many slices has about 200 MB, and takes a viewer a while.
constexpr double max_slices = 500'000;
constexpr std::uint32_t max_links = 1U << 30U;

const RunSpec& only_run(const CallRequest& request) {
  if (request.scenario.runs.size() == 1) return request.scenario.runs.front();
  throw InputError(fmt::format("trace: {} runs", request.scenario.runs.size()),
                   "a trace shows one run: name one algorithm");
}

void print_summary(const CallTrace& trace, const std::string& file, std::size_t links,
                   std::ostream& out) {
  fmt::print(out, "{}: {} of {}, {} {}, one call takes {:.2f} us\n", file,
             to_string(trace.call.plan().collective), to_string(trace.call.size),
             trace.call.algorithm, to_string(trace.call.protocol), in_microseconds(trace.time));
  fmt::print(out, "{} threads, {} slices, {} messages, the {} busiest links\n",
             trace.threads.size(), trace.timeline.records.size(), trace.messages.size(), links);
  out << "open it in https://ui.perfetto.dev (it stays in your browser)\n";
}

int run_trace(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(trace_subcommand, args, out);
  if (!values) return exit_ok;
  const CallRequest request = read_request(*values, err);
  heed_schedules(trace_subcommand, *values, request);
  const std::string file = output_file("trace", "FILE", *values);
  if (std::filesystem::path(file).extension() == ".json") {
    throw InputError(fmt::format("--output {}: a trace is no JSON", file),
                     "a file that ends in .pftrace, Perfetto's own form");
  }
  const CallCompiler compiler(spec_of(request, only_run(request)));
  warn(compiler, err);
  const Bytes size = only_size("trace", *values, request);
  const CompiledCall call = compiler.plan(size);
  if (call.plan().ranks() < 2) throw InputError("trace: one rank sends nothing", "-n of 2 or more");
  RunWatch watch(err, time_limit(*values));
  watch.begin(to_string(size), effort_of(execution_of(call)).whole);
  const CallTrace trace = trace_call(call, max_slices, watch.watch());
  std::vector<TraceCounter> counters =
      link_utilisation(trace, bounded_option(*values, "links", 0, max_links));
  const std::size_t links = counters.size();
  for (TraceCounter& fill : fifo_fill(trace)) counters.push_back(std::move(fill));
  replace_file(file, perfetto_trace(trace, counters));
  print_summary(trace, file, links, summary_stream(file, out, err));
  return exit_ok;
}

}  // namespace

const Subcommand trace_subcommand{
    .name = "trace",
    .summary = "write what happens in one call as a trace for Perfetto",
    .usages = {"[MACHINE|SCENARIO] -b SIZE --output FILE [options]"},
    .answers =
        "Says what happens when in a call, as a trace for https://ui.perfetto.dev (Open trace "
        "file). Every message of every rank is simulated. Ranks are processes, channels are "
        "threads. A slice is what a thread block does with one slice of data, or its wait and the "
        "reason of it. Arrows are messages. Counters show how busy links are, and how many slices "
        "lie in each rank's FIFOs.",
    .manual = std::string(call_manual),
    .examples = {"trace hgx-h200 -b 4M --output ring.pftrace",
                 "trace dgx-h100-x4 -a tree -b 1M --output tree.pftrace"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes fault env links output",
    .modes = call_modes("minbytes output links", "", ""),
    .run = run_trace,
};

}  // namespace collsim::command
