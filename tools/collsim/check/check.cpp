#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "models/nccl/choice.h"
#include "sim/algorithms/registry.h"
#include "sim/algorithms/written_schedule.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/nccl/nccl_point_to_point.h"
#include "sim/plan/checker.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/request/algorithm_plan.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/program_check.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

// Counts per origin take ranks^2 x chunks bytes: 64 MiB a loop for a ring of 400.
constexpr Rank max_ranks = 400;
// For an all-to-all ranks^4: 32 MiB a loop for 64.
constexpr Rank max_ranks_all_to_all = 64;
constexpr std::uint32_t max_channels = 64;

struct Request {
  Collective collective = Collective::all_reduce;
  std::vector<std::uint32_t> rank_counts;
  Rank per_node = 1;
  std::uint32_t channels = 1;
  std::optional<Rank> root = 0;  // nothing: every rank in turn
  CheckOptions options;
};

/// The result of proving the plans of one algorithm.
struct Outcome {
  std::uint32_t plans = 0;
  std::uint32_t unsupported = 0;
  std::string why_not;              // of the last that is not supported
  std::uint32_t max_schedules = 0;  // of one plan
  std::uint64_t runs = 0;
  std::uint64_t messages = 0;
  std::uint64_t violation_count = 0;
  std::vector<std::string> violations;
  std::set<std::uint32_t> credits;  // that were tried
};

void prove(const Plan& plan, const CheckOptions& options, Outcome& outcome) {
  const CheckReport report = check(plan, options);
  const auto credits = default_credits(plan);
  outcome.credits.insert(credits.begin(), credits.end());
  ++outcome.plans;
  outcome.max_schedules = std::max(outcome.max_schedules, report.schedules);
  outcome.runs += report.runs;
  outcome.messages += report.messages;
  outcome.violation_count += report.violation_count;
  for (const Violation& violation : report.violations) {
    const std::string root =
        has_root(plan.collective) ? fmt::format(", root {}", plan.root) : std::string();
    outcome.violations.push_back(fmt::format("{} ranks{}: {}", plan.ranks(), root, violation.text));
  }
}

/// Of a schedule that a person wrote, one contribution that is missing or doubled, and where.
/// Whether there is one.
bool add_counterexample(const Plan& plan, const Placement& placement, Outcome& outcome) {
  const auto fault = written_fault(plan, placement);
  if (!fault) return false;
  ++outcome.violation_count;
  outcome.violations.insert(outcome.violations.begin(),
                            fmt::format("{} ranks: {}", plan.ranks(), fault->text));
  return true;
}

std::optional<std::string> why_not_proved(const std::string& algorithm, Collective collective,
                                          const Placement& placement) {
  if (collective == Collective::all_to_all && placement.ranks() > max_ranks_all_to_all) {
    return "checking so many takes too long";
  }
  return why_no_named_plan(collective, algorithm, placement);
}

/// What all algorithms come to.
struct Tally {
  std::uint64_t plans = 0;
  std::uint64_t wrong = 0;
  std::string why_not;  ///< of the last that is not supported

  void add(const Outcome& outcome) {
    plans += outcome.plans;
    wrong += outcome.violation_count;
    if (!outcome.why_not.empty()) why_not = outcome.why_not;
  }
};

/// Where nothing was proved, nothing is right.
int exit_code_of(const Tally& tally, std::ostream& err) {
  if (tally.plans == 0) fmt::print(err, "collsim: nothing is proved: {}\n", tally.why_not);
  return tally.plans > 0 && tally.wrong == 0 ? exit_ok : exit_answer_is_no;
}

Outcome prove(const std::string& algorithm, const Request& request) {
  Outcome outcome;
  for (const Rank ranks : request.rank_counts) {
    const Placement placement = uniform_placement(ranks, request.per_node);
    const auto why_not = why_not_proved(algorithm, request.collective, placement);
    if (why_not) {
      ++outcome.unsupported;
      outcome.why_not = fmt::format("{} ranks: {}", ranks, *why_not);
      continue;
    }
    const Rank first = request.root.value_or(0);
    const Rank last = !request.root && has_root(request.collective) ? ranks - 1 : first;
    for (Rank root = first; root <= last; ++root) {
      const Plan plan =
          named_plan(request.collective, algorithm, placement, request.channels, root);
      CheckOptions options = request.options;
      // One contribution, followed to its end, says more than all that are wrong.
      if (add_counterexample(plan, placement, outcome)) options.max_violations = 0;
      prove(plan, options, outcome);
    }
  }
  return outcome;
}

std::optional<Rank> read_root(const po::variables_map& values) {
  const auto& text = values["root"].as<std::string>();
  if (text == "all") return std::nullopt;
  const auto roots = parse_numbers("root", text, 0, max_ranks - 1);
  if (roots.size() != 1) throw InputError("--root: " + text, "one rank or all");
  return roots.front();
}

void print_outcome(std::ostream& out, const std::string& algorithm, const Outcome& outcome) {
  const std::string verdict = outcome.violation_count != 0 ? "WRONG"
                              : outcome.plans != 0         ? "proved"
                                                           : "skipped";
  fmt::print(out, "{:<41} {:<7} {:>4} plans {:>6} runs {:>9} messages", algorithm, verdict,
             outcome.plans, outcome.runs, outcome.messages);
  if (outcome.unsupported != 0) fmt::print(out, "  {} not supported", outcome.unsupported);
  fmt::print(out, "\n");
  for (const std::string& violation : outcome.violations) fmt::print(out, "  {}\n", violation);
  const std::uint64_t untold = outcome.violation_count - outcome.violations.size();
  if (untold != 0) fmt::print(out, "  and {} more\n", untold);
}

/// The full names to prove. A composed algorithm counts only with its inner one, because its bare
/// name means one of these.
std::vector<std::string> chosen_algorithms(Collective collective, const std::string& name) {
  if (name != "all") {
    // Throws for an unknown name.
    static_cast<void>(why_no_named_plan(collective, name, uniform_placement(1)));
    return {name};
  }
  auto names = algorithm_names(collective);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.composed) std::erase(names, algorithm.name);
  }
  return names;
}

/// How to prove NCCL's plans on machines.
struct NcclRequest {
  std::vector<Collective> collectives;
  std::vector<std::string> topologies;
  Rank max_ranks = max_ranks_all_to_all;
  std::optional<Rank> root = 0;
  CheckOptions options;
};

Rank last_root(Collective collective, const std::optional<Rank>& root, Rank ranks) {
  return !root && has_root(collective) ? ranks - 1 : root.value_or(0);
}

bool considers(const Nccl& nccl, NcclFunction function, NcclAlgorithm algorithm) {
  return std::any_of(all_nccl_protocols.begin(), all_nccl_protocols.end(), [&](Protocol protocol) {
    return nccl.tuning(function, algorithm, protocol).bandwidth > 0;
  });
}

/// Proves a collective that NCCL tunes, with every algorithm that NCCL considers and that has a
/// plan, on all channels. A call on fewer channels uses the first of the same schedules.
void prove_tuned(Collective collective, const Nccl& nccl, const NcclRequest& request,
                 std::ostream& out, Tally& tally) {
  const auto channels = nccl.channel_count();
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    if (why_no_nccl_plan(collective, algorithm)) continue;
    if (!considers(nccl, *function_of(collective), algorithm)) continue;
    Outcome outcome;
    const Rank last = last_root(collective, request.root, nccl.ranks());
    for (Rank root = request.root.value_or(0); root <= last; ++root) {
      prove(make_nccl_plan(collective, algorithm, nccl.channels(), channels, root), request.options,
            outcome);
    }
    print_outcome(out, fmt::format("  {} {}", to_string(collective), to_string(algorithm)),
                  outcome);
    tally.add(outcome);
  }
}

/// Proves sends and receives, with every number of channels that one message may use.
void prove_messages(Collective collective, const Nccl& nccl, const NcclRequest& request,
                    std::ostream& out, Tally& tally) {
  const PointToPoint& resources = nccl.point_to_point();
  const Placement placement = uniform_placement(nccl.ranks(), nccl.ranks() / nccl.nodes());
  Outcome outcome;
  const Rank last = last_root(collective, request.root, nccl.ranks());
  for (std::uint32_t parts = 1; parts <= resources.per_peer; parts *= 2) {
    for (Rank root = request.root.value_or(0); root <= last; ++root) {
      prove(make_nccl_point_to_point_plan(collective, placement, resources.channels, parts, root),
            request.options, outcome);
    }
  }
  print_outcome(out, fmt::format("  {} sends and receives", to_string(collective)), outcome);
  tally.add(outcome);
}

void prove_machine(const std::string& name, const NcclRequest& request, Tally& tally,
                   std::ostream& out, std::ostream& err) {
  const Topology topology = load_with_warnings(name, err);
  const std::size_t gpus = topology.gpus().size();
  if (topology.calibration() == "ideal" || gpus < 2 || gpus > request.max_ranks) {
    tally.why_not = gpus > request.max_ranks ? "checking so many takes too long"
                                             : "NCCL does not run on this machine";
    fmt::print(out, "{}: {} GPUs, skipped: {}\n", name, gpus, tally.why_not);
    return;
  }
  const Nccl nccl(topology);
  fmt::print(out, "{}: {} ranks, {} channels, {} for sends and receives\n", name, nccl.ranks(),
             nccl.channel_count(), nccl.point_to_point().channels);
  for (const Collective collective : request.collectives) {
    if (function_of(collective)) {
      prove_tuned(collective, nccl, request, out, tally);
    } else {
      prove_messages(collective, nccl, request, out, tally);
    }
  }
}

void require_root_heeded(const po::variables_map& values,
                         const std::vector<Collective>& collectives) {
  const bool any = std::any_of(collectives.begin(), collectives.end(), has_root);
  require_heeded(values, {{"root", any, "broadcast, reduce, gather or scatter"}});
}

int check_nccl(const po::variables_map& values, std::ostream& out, std::ostream& err) {
  NcclRequest request;
  if (values["collective"].defaulted()) {
    for (const Collective each : all_collectives()) {
      if (each != Collective::barrier) request.collectives.push_back(each);
    }
  } else {
    const Collective asked = collective_option(values);
    // NCCL has no barrier. Frameworks call all_reduce instead.
    request.collectives.push_back(under_nccl(asked));
  }
  require_root_heeded(values, request.collectives);
  if (values.count("topology") != 0) {
    request.topologies.push_back(values["topology"].as<std::string>());
    request.max_ranks = max_ranks;
  } else {
    request.topologies = shipped_names("topologies");
  }
  request.root = read_root(values);
  request.options.orders = bounded_option(values, "orders", 1, 1000);
  request.options.seed = bounded_option(values, "seed", 0, 0x7fffffff);
  Tally tally;
  for (const std::string& topology : request.topologies) {
    prove_machine(topology, request, tally, out, err);
  }
  return exit_code_of(tally, err);
}

/// Only NCCL's plans depend on a machine.
ScheduleKind schedule_of(const po::variables_map& values) {
  if (values.count("schedule") != 0) return values["schedule"].as<ScheduleKind>();
  return values.count("topology") != 0 ? ScheduleKind::nccl : ScheduleKind::textbook;
}

Request read_request(const po::variables_map& values) {
  Request request;
  request.collective = asked_collective(values).value_or(collective_option(values));
  request.rank_counts = parse_numbers("ranks", values["ranks"].as<std::string>(), 1, max_ranks);
  request.per_node = bounded_option(values, "ranks-per-node", 1, max_ranks);
  const auto channels =
      parse_numbers("channels", values["channels"].as<std::string>(), 1, max_channels);
  request.channels = *std::max_element(channels.begin(), channels.end());
  request.root = read_root(values);
  request.options.orders = bounded_option(values, "orders", 1, 1000);
  request.options.seed = bounded_option(values, "seed", 0, 0x7fffffff);
  return request;
}

int check_textbook(const po::variables_map& values, std::ostream& out, std::ostream& err) {
  Request request = read_request(values);
  require_root_heeded(values, {request.collective});
  const auto& named = values["algorithm"].as<std::string>();
  if (names_schedule_file(named) && values["ranks"].defaulted()) {
    if (const auto only = only_ranks(*read_schedule_file(named))) request.rank_counts = {*only};
  }
  Tally tally;
  std::uint32_t max_schedules = 0;
  std::set<std::uint32_t> credits;
  for (const auto& algorithm :
       chosen_algorithms(request.collective, values["algorithm"].as<std::string>())) {
    const Outcome outcome = prove(algorithm, request);
    print_outcome(out, algorithm, outcome);
    tally.add(outcome);
    max_schedules = std::max(max_schedules, outcome.max_schedules);
    credits.insert(outcome.credits.begin(), outcome.credits.end());
  }
  fmt::print(out, "credits {}; {} orders each; {} loops", fmt::join(credits, ", "),
             request.options.orders, request.options.loops);
  if (request.channels > 1 && max_schedules == 1) {
    fmt::print(out, "; up to {} channels share one schedule, proved once", request.channels);
  }
  fmt::print(out, "\n");
  return exit_code_of(tally, err);
}

int run_check(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(check_subcommand, args, out);
  if (!values) return exit_ok;
  if (values->contains("topology")) {
    const auto& subject = (*values)["topology"].as<std::string>();
    if (is_program(subject)) {
      heed_only(*values, check_subcommand, {"a program"});
      return check_program(subject, out);
    }
  }
  if (schedule_of(*values) == ScheduleKind::nccl) {
    heed_only(*values, check_subcommand, {"NCCL's plans"});
    return check_nccl(*values, out, err);
  }
  heed_only(*values, check_subcommand, {"textbook plans"});
  return check_textbook(*values, out, err);
}

}  // namespace

const Subcommand check_subcommand{
    .name = "check",
    .summary = "prove that plans deliver every contribution exactly once",
    .usages = {"[--algorithm A|all] [options]", "MACHINE [options]", "PROGRAM.yaml"},
    .answers =
        "Says whether an algorithm is right: every plan runs in random legal orders, with several "
        "credit depths, and the contributions of every rank in every buffer are counted. Exit code "
        "1 means that a plan is wrong, or that none is proved.",
    .manual =
        "-a takes one of the algorithms of `collsim list`, or all, a schedule file, and NCCL's "
        "nvls, nvls_tree, collnet_direct, collnet_chain and pat. Without a machine plans are a "
        "textbook's, and ranks fill nodes in order. On a machine (with --schedule nccl alone: on "
        "every shipped one of up to 64 GPUs, in minutes) they are all that NCCL runs. -r all takes "
        "every rank in turn as the root.\nOf a program (`collsim: program/1`) it proves that no "
        "order of events makes it hang, or says who waits for whom; if it moves slices of tensors, "
        "that every rank gets what it wants. docs/check.md says what a proof is.",
    .examples = {"check --algorithm ring --ranks 1..17", "check dgx-h100-x4",
                 "check my-program.yaml", "check --algorithm my-ring.yaml --ranks 2..9"},
    .argument = "topology",
    .first = "topology schedule algorithm collective ranks ranks-per-node channels orders root",
    .modes = {{"a program", "topology"},
              {"NCCL's plans", "topology schedule collective orders root seed"},
              {"textbook plans",
               "algorithm collective ranks ranks-per-node channels orders root seed schedule"}},
    .values = {{"algorithm", text("NAME", "all")},
               {"collective", text("NAME", "all_reduce")},
               {"ranks", text("LIST", "1..17,32,64,100")},
               {"ranks-per-node", number(1)},
               {"channels", text("LIST", "1,4")},
               {"root", text("N|all", "0")},
               {"seed", number(1)}},
    .run = run_check,
};

}  // namespace collsim::command
