#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "models/call/prediction.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/execution/effort.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/run_watch.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/time_limit.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/algorithm_plan.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/trace/view_data.h"

namespace collsim::command {

namespace {

/// Beyond, a page has more than 20 MB and takes long to open.
constexpr double max_slices = 400'000;
constexpr std::size_t max_calls = 2;

/// One call of the page, before it is simulated.
struct Viewing {
  std::string name;
  CallSpec spec;
  std::vector<std::string> faults;
};

std::vector<Viewing> viewings_of(const CallRequest& request, bool healthy) {
  std::vector<std::string> faults;
  for (const Fault& fault : request.scenario.faults) faults.push_back(fault.text);
  std::vector<Viewing> viewings;
  for (const RunSpec& run : request.scenario.runs) {
    CallSpec spec = spec_of(request, run);
    if (healthy) {
      viewings.push_back({"healthy, ", spec, {}});
      viewings.back().spec.faults = {};
    }
    viewings.push_back({healthy ? "with faults, " : "", std::move(spec), faults});
  }
  if (viewings.size() <= max_calls) return viewings;
  throw InputError(fmt::format("view: {} calls", viewings.size()),
                   "a page shows one call, or two side by side");
}

/// Of a schedule file its last part.
std::string short_name(const std::string& algorithm) {
  return std::filesystem::path(algorithm).filename().string();
}

/// The page with the data where its place is.
std::string page_with(const std::string& data) {
  constexpr std::string_view place = "@COLLSIM_DATA@";
  std::string page =
      read_text_file(data_directory() / "tools/web/viewer/viewer.html", "a page of collsim's")
          .content;
  page.replace(page.find(place), place.size(), data);
  return page;
}

int run_view(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(view_subcommand, args, out);
  if (!values) return exit_ok;
  const CallRequest request = read_request(*values, err);
  heed_schedules(view_subcommand, *values, request);
  require_heeded(*values, {{"healthy", !request.scenario.faults.empty(), "a fault"}});
  const std::string file = output_file("view", "FILE.html", *values);
  const Bytes size = only_size("view", *values, request);
  const auto viewings = viewings_of(request, (*values)["healthy"].as<bool>());
  std::vector<std::unique_ptr<const CallCompiler>> compilers;  // traces refer to them
  std::vector<ViewedCall> calls;
  RunWatch watch(err, time_limit(*values));
  for (const Viewing& viewing : viewings) {
    compilers.push_back(std::make_unique<const CallCompiler>(viewing.spec));
    const CallCompiler& compiler = *compilers.back();
    warn(compiler, err);
    const CompiledCall call = compiler.plan(size);
    if (compiler.ranks() < 2) throw InputError("view: one rank sends nothing", "-n of 2 or more");
    const std::string name =
        fmt::format("{}{} {}", viewing.name, short_name(call.algorithm), to_string(call.protocol));
    watch.begin(name, effort_of(execution_of(call)).whole);
    calls.push_back({name, trace_call(call, max_slices, watch.watch()), viewing.faults});
    const auto fault = written_fault(call.plan(), compiler.placement());
    if (fault) calls.back().wrong = fault->text;
  }
  const std::string title = fmt::format("{} of {} on {}", to_string(request.scenario.collective),
                                        to_string(size), request.topology.name());
  replace_file(file, page_with(view_data(title, command_text("view", args), calls,
                                         (*values)["embed"].as<bool>())));
  std::ostream& said = summary_stream(file, out, err);
  for (const ViewedCall& call : calls) {
    fmt::print(said, "{}: {}, {} slices, {:.2f} us\n", file, call.name,
               call.trace.timeline.records.size(), in_microseconds(call.trace.time));
    if (!call.wrong.empty()) fmt::print(said, "{}: wrong: {}\n", call.name, call.wrong);
  }
  said << "open it in a browser\n";
  return exit_ok;
}

}  // namespace

const Subcommand view_subcommand{
    .name = "view",
    .summary = "write a page that plays one call, or two side by side",
    .usages = {"[MACHINE|SCENARIO] -b SIZE --output FILE.html [options]"},
    .answers =
        "Shows how a call runs, or how two differ: a page with the machine and the messages on its "
        "links, what each channel of each rank does and waits for, and how buffers fill. Every "
        "message of every rank is simulated. The page opens from disk in any browser and needs no "
        "network. Two algorithms, or --healthy with a fault, are shown side by side on one clock.",
    .manual = std::string(call_manual),
    .examples = {"view hgx-h200 -a ring -b 4M --output ring.html",
                 "view switch-8 -a ring,tree -b 64K --output ring-and-tree.html",
                 "view switch-8 -a tree -b 64K --embed --output tree-for-slides.html",
                 "view --alpha 1us --bandwidth 50GB/s -n 8 -a tree -b 64K --output tree.html",
                 "view hgx-h200 -b 4M --fault 'rank: 3, late: 1ms' --healthy --output late.html"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes fault healthy embed output",
    .modes = call_modes("minbytes output healthy embed", "", ""),
    .run = run_view,
};

}  // namespace collsim::command
