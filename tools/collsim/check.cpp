#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/checker.h"
#include "sim/input_error.h"
#include "tools/collsim/collective_option.h"
#include "tools/collsim/named_plan.h"
#include "tools/collsim/numbers.h"
#include "tools/collsim/options.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

// Counts per origin take ranks^2 x chunks bytes: 64 MiB a loop for a ring of 400.
constexpr Rank most_ranks = 400;
// For an all-to-all ranks^4: 32 MiB a loop for 64.
constexpr Rank most_ranks_all_to_all = 64;
constexpr std::uint32_t most_channels = 64;

struct Request {
  Collective collective = Collective::all_reduce;
  std::vector<std::uint32_t> rank_counts;
  Rank per_node = 1;
  std::uint32_t channels = 1;
  std::optional<Rank> root = 0;  // nothing: every rank in turn
  CheckOptions options;
};

/// What was proved of one algorithm.
struct Outcome {
  std::uint32_t plans = 0;
  std::uint32_t unsupported = 0;
  std::uint32_t most_schedules = 0;  // of one plan
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
  outcome.most_schedules = std::max(outcome.most_schedules, report.schedules);
  outcome.runs += report.runs;
  outcome.messages += report.messages;
  outcome.violation_count += report.violation_count;
  for (const Violation& violation : report.violations) {
    const std::string root =
        has_root(plan.collective) ? fmt::format(", root {}", plan.root) : std::string();
    outcome.violations.push_back(fmt::format("{} ranks{}: {}", plan.ranks(), root, violation.text));
  }
}

bool is_too_large(Collective collective, Rank ranks) {
  return collective == Collective::all_to_all && ranks > most_ranks_all_to_all;
}

Outcome prove(const std::string& algorithm, const Request& request) {
  Outcome outcome;
  for (const Rank ranks : request.rank_counts) {
    const Placement placement = uniform_placement(ranks, request.per_node);
    if (is_too_large(request.collective, ranks) ||
        why_no_named_plan(request.collective, algorithm, placement)) {
      ++outcome.unsupported;
      continue;
    }
    const Rank first = request.root.value_or(0);
    const Rank last = !request.root && has_root(request.collective) ? ranks - 1 : first;
    for (Rank root = first; root <= last; ++root) {
      prove(named_plan(request.collective, algorithm, placement, request.channels, root),
            request.options, outcome);
    }
  }
  return outcome;
}

std::optional<Rank> read_root(const po::variables_map& values) {
  const auto& text = values["root"].as<std::string>();
  if (text == "all") return std::nullopt;
  const auto roots = parse_numbers("root", text, 0, most_ranks - 1);
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

/// The full names to prove; of a composed algorithm only those with their inner one, since the bare
/// name is one of these.
std::vector<std::string> chosen_algorithms(Collective collective, const std::string& name) {
  if (name != "all") {
    // Complains of an unknown name.
    static_cast<void>(why_no_named_plan(collective, name, uniform_placement(1)));
    return {name};
  }
  auto names = algorithm_names(collective);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.composed) std::erase(names, algorithm.name);
  }
  return names;
}

Request read_request(const po::variables_map& values) {
  Request request;
  request.collective = collective_option(values);
  request.rank_counts = parse_numbers("ranks", values["ranks"].as<std::string>(), 1, most_ranks);
  request.per_node = bounded_option(values, "ranks-per-node", 1, most_ranks);
  const auto channels =
      parse_numbers("channels", values["channels"].as<std::string>(), 1, most_channels);
  request.channels = *std::max_element(channels.begin(), channels.end());
  request.root = read_root(values);
  request.options.orders = bounded_option(values, "orders", 1, 1000);
  request.options.seed = bounded_option(values, "seed", 0, 0x7fffffff);
  return request;
}

}  // namespace

int run_check(std::span<const std::string> args, std::ostream& out, std::ostream& /*err*/) {
  po::options_description options("options");
  options.add_options()  //
      ("algorithm,a", po::value<std::string>()->default_value("all"),
       "see `collsim list`; also NCCL's nvls, nvls_tree, collnet_direct, collnet_chain, pat")  //
      ("collective", po::value<std::string>()->default_value("all_reduce"), "what to reach")   //
      ("ranks,n", po::value<std::string>()->default_value("1..17,32,64,100"), "rank counts")   //
      ("ranks-per-node", po::value<std::int64_t>()->default_value(1),
       "nodes are filled in order")                                                              //
      ("channels", po::value<std::string>()->default_value("1,4"), "channel counts")             //
      ("orders", po::value<std::int64_t>()->default_value(3), "random orders per credit depth")  //
      ("root", po::value<std::string>()->default_value("0"), "a rank, or all in turn")           //
      ("seed", po::value<std::int64_t>()->default_value(1), "of the orders");
  const auto values = parse_options(
      options, "collsim check [--algorithm A|all] [options]",
      "Runs every plan in random legal orders, under several credit depths, counting whose\n"
      "contribution is where how often. Exits with 1 if a plan is wrong.",
      "", args, out);
  if (!values) return exit_ok;
  const Request request = read_request(*values);
  std::uint64_t wrong = 0;
  std::uint32_t most_schedules = 0;
  std::set<std::uint32_t> credits;
  for (const auto& algorithm :
       chosen_algorithms(request.collective, (*values)["algorithm"].as<std::string>())) {
    const Outcome outcome = prove(algorithm, request);
    print_outcome(out, algorithm, outcome);
    wrong += outcome.violation_count;
    most_schedules = std::max(most_schedules, outcome.most_schedules);
    credits.insert(outcome.credits.begin(), outcome.credits.end());
  }
  fmt::print(out, "credits {}; {} orders each; {} loops", fmt::join(credits, ", "),
             request.options.orders, request.options.loops);
  if (request.channels > 1 && most_schedules == 1) {
    fmt::print(out, "; up to {} channels share one schedule, proved once", request.channels);
  }
  fmt::print(out, "\n");
  return wrong == 0 ? exit_ok : exit_answer_is_no;
}

}  // namespace collsim::command
