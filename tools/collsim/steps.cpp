#include "sim/plan/steps.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "tools/collsim/collective_option.h"
#include "tools/collsim/named_plan.h"
#include "tools/collsim/numbers.h"
#include "tools/collsim/options.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::size_t widest_cell = 9;
constexpr std::uint32_t chunks_per_table = 8;
constexpr std::size_t line_width = 96;

/// The numbers that give the time of a call on the textbook's machine.
struct Costs {
  Seconds alpha;
  BytesPerSecond bandwidth;
  Bytes size;
};

struct Request {
  Plan plan;
  std::uint32_t only_step = 0;  // 0: all
  std::optional<Costs> costs{};
};

/// The most that one participant sends or receives in a step, as a share of the buffer.
double busiest_port(const Step& step, const Schedule& schedule) {
  std::vector<std::uint32_t> sent(schedule.participants());
  std::vector<std::uint32_t> received(schedule.participants());
  for (const StepTransfer& each : step.transfers) {
    sent[each.from] += each.chunks.count;
    received[each.to] += each.chunks.count;
  }
  const std::uint32_t most = std::max(*std::max_element(sent.begin(), sent.end()),
                                      *std::max_element(received.begin(), received.end()));
  return static_cast<double>(most) / schedule.chunks();
}

/// ": 1 us + 5.24 us": alpha, and the time that the busiest port needs.
std::string step_time(const Step& step, const Request& request) {
  if (!request.costs) return "";
  const Costs& costs = *request.costs;
  const double share = busiest_port(step, request.plan.schedule(0));
  return fmt::format(": {} + {}", to_string(costs.alpha),
                     to_string(share * (costs.size / costs.bandwidth)));
}

/// The time of all steps, if each begins when the one before has ended on every rank.
void print_time(std::ostream& out, const std::vector<Step>& steps, const Request& request) {
  if (!request.costs) return;
  const Costs& costs = *request.costs;
  double buffers = 0;
  for (const Step& step : steps) buffers += busiest_port(step, request.plan.schedule(0));
  const Seconds alphas = static_cast<double>(steps.size()) * costs.alpha;
  const Seconds transfers = buffers * (costs.size / costs.bandwidth);
  fmt::print(out, "T = {} alpha + {:g} S/B = {} + {} = {}, step after step\n", steps.size(),
             buffers, to_string(alphas), to_string(transfers), to_string(alphas + transfers));
}

/// "a0+a1+a2"; with `runs`, three or more in a row as "a0..a2"; "+" and "a" as given.
std::string list_contributions(Contributions set, Rank ranks, std::string_view separator,
                               std::string_view prefix, bool runs) {
  std::string text;
  for (Rank first = 0; first < ranks; ++first) {
    if (!set.contains(first)) continue;
    Rank last = first;
    while (runs && last + 1 < ranks && set.contains(last + 1)) ++last;
    if (last < first + 2) last = first;
    text += fmt::format("{}{}{}", text.empty() ? "" : separator, prefix, first);
    if (last > first) text += fmt::format("..{}{}", prefix, last);
    first = last;
  }
  return text;
}

/// The most explicit way to write the set that is not too wide.
std::string cell(Contributions set, Rank ranks) {
  const int count = std::popcount(set.bits);
  if (count == 0) return "-";
  if (count == static_cast<int>(ranks)) return ranks == 1 ? "a0" : "sum";
  std::string text = list_contributions(set, ranks, "+", "a", false);
  if (text.size() > widest_cell) text = list_contributions(set, ranks, "+", "a", true);
  if (text.size() > widest_cell)
    text = fmt::format("a{}", list_contributions(set, ranks, ",", "", true));
  if (text.size() > widest_cell) text = fmt::format("{} of {}", count, ranks);
  return text;
}

std::string words(ChunkRange chunks) {
  return chunks.count == 1
             ? fmt::format("chunk {}", chunks.first)
             : fmt::format("chunks {}..{}", chunks.first, chunks.first + chunks.count - 1);
}

/// "3" for a rank, "sw" for the only switch that takes part, "s0" for the first of several.
std::string short_name(const Schedule& schedule, Rank participant) {
  if (!schedule.is_agent(participant)) return std::to_string(participant);
  return schedule.agents().size() == 1 ? "sw" : fmt::format("s{}", participant - schedule.ranks());
}

std::string row_name(const Schedule& schedule, Rank participant) {
  if (!schedule.is_agent(participant)) return fmt::format("rank {}", participant);
  return schedule.agents().size() == 1 ? "switch" : short_name(schedule, participant);
}

/// The participants' buffers, eight chunks side by side. Cells that differ from `before` get a
/// star.
void print_buffers(std::ostream& out, const std::vector<Contributions>& buffers,
                   const std::vector<Contributions>& before, const Schedule& schedule) {
  const Rank ranks = schedule.ranks();
  const std::uint32_t chunks = schedule.chunks();
  for (std::uint32_t begin = 0; begin < chunks; begin += chunks_per_table) {
    const std::uint32_t end = std::min(chunks, begin + chunks_per_table);
    std::string line(7, ' ');
    for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
      line += fmt::format(" {:<{}}", fmt::format("chunk {}", chunk), widest_cell + 1);
    }
    fmt::print(out, "\n{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
    for (Rank rank = 0; rank < schedule.participants(); ++rank) {
      line = fmt::format("{:<7}", row_name(schedule, rank));
      for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
        const std::size_t i = std::size_t{rank} * chunks + chunk;
        const std::string mark = buffers[i] == before[i] ? "" : "*";
        line += fmt::format(" {:<{}}", cell(buffers[i], ranks) + mark, widest_cell + 1);
      }
      fmt::print(out, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
    }
  }
}

/// One message a line; many of them in columns, read downwards.
void print_transfers(std::ostream& out, const std::vector<StepTransfer>& transfers,
                     const Schedule& schedule) {
  std::vector<std::string> items;
  std::size_t widest = 0;
  for (const StepTransfer& each : transfers) {
    items.push_back(fmt::format("  {:>2} -> {:<2}  {}  {}", short_name(schedule, each.from),
                                short_name(schedule, each.to), words(each.chunks),
                                each.reduce ? "reduce" : "copy"));
    widest = std::max(widest, items.back().size());
  }
  constexpr std::size_t single_column_rows = 8;
  const std::size_t max_columns = std::max<std::size_t>(1, line_width / (widest + 1));
  const std::size_t columns =
      items.size() <= single_column_rows
          ? 1
          : std::min(max_columns, (items.size() + single_column_rows - 1) / single_column_rows);
  const std::size_t rows = (items.size() + columns - 1) / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (std::size_t i = row; i < items.size(); i += rows) {
      line += fmt::format("{:<{}}", items[i], widest + 1);
    }
    fmt::print(out, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

/// "3/2 S", "S", "2 S".
std::string share_of_buffer(std::uint32_t chunks_sent, std::uint32_t chunks) {
  const std::uint32_t divisor = std::gcd(chunks_sent, chunks);
  const std::uint32_t above = chunks_sent / divisor;
  const std::uint32_t below = chunks / divisor;
  if (below != 1) return fmt::format("{}/{} S", above, below);
  return above == 1 ? "S" : fmt::format("{} S", above);
}

void print_summary(std::ostream& out, const std::vector<Step>& steps, const Plan& plan) {
  const Rank ranks = plan.ranks();
  std::size_t messages = 0;
  std::vector<std::uint32_t> sent(plan.schedule(0).participants());
  for (const Step& step : steps) {
    messages += step.transfers.size();
    for (const StepTransfer& each : step.transfers) sent[each.from] += each.chunks.count;
  }
  sent.resize(ranks);
  const auto [least, most] = std::minmax_element(sent.begin(), sent.end());
  fmt::print(out, "\n{} step{}, {} messages. ", steps.size(), steps.size() == 1 ? "" : "s",
             messages);
  const std::uint32_t sizes = sizes_held(plan.collective, ranks);
  if (sizes == 0) {
    fmt::print(out, "They are empty.\n");
    return;
  }
  // The chunks may add up to several times S, nccl-tests' size.
  const std::uint32_t chunks = plan.schedule(0).chunks() / sizes;
  if (*least == *most) {
    fmt::print(out, "Every rank sends {}", share_of_buffer(*most, chunks));
  } else {
    fmt::print(out, "Rank {} sends the most, {}; rank {} the least, {}", most - sent.begin(),
               share_of_buffer(*most, chunks), least - sent.begin(),
               share_of_buffer(*least, chunks));
  }
  fmt::print(out, " (S: the whole buffer).\n");
}

void print_steps(std::ostream& out, const Request& request) {
  const Rank ranks = request.plan.ranks();
  const Schedule& schedule = request.plan.schedule(0);
  const std::uint32_t chunks = schedule.chunks();
  const std::vector<Step> steps = replay_steps(request.plan);
  if (request.only_step > steps.size()) {
    throw InputError(fmt::format("--step: there is no step {}", request.only_step),
                     fmt::format("1 to {}", steps.size()));
  }
  fmt::print(out, "{} {}: {} rank{}, {} chunk{}\n", request.plan.algorithm,
             to_string(request.plan.collective), ranks, ranks == 1 ? "" : "s", chunks,
             chunks == 1 ? "" : "s");
  if (steps.empty()) {
    fmt::print(out, "Nothing to do: one rank has the result at the start.\n");
    return;
  }
  fmt::print(
      out,
      "a2 is the contribution of rank 2, sum is the sum of all; * marks what the step changed.\n");
  if (!schedule.agents().empty()) {
    fmt::print(out, "A switch shows the data that it has last reduced or copied.\n");
  }
  std::vector<Contributions> before = initial_buffers(request.plan);
  if (request.only_step == 0) {
    fmt::print(out, "\nstart\n");
    print_buffers(out, before, before, schedule);
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (request.only_step == 0 || request.only_step == s + 1) {
      fmt::print(out, "\nstep {} of {}: {}{}\n", s + 1, steps.size(), steps[s].phase,
                 step_time(steps[s], request));
      print_transfers(out, steps[s].transfers, schedule);
      print_buffers(out, steps[s].buffers, before, schedule);
    }
    before = steps[s].buffers;
  }
  if (request.only_step != 0) return;
  print_summary(out, steps, request.plan);
  print_time(out, steps, request);
}

Rank ranks_per_node(const po::variables_map& values, Rank ranks, Rank unless_said) {
  if (values.count("nodes") == 0) {
    return values.count("ranks-per-node") == 0
               ? unless_said
               : bounded_option(values, "ranks-per-node", 1, max_replayed_ranks);
  }
  if (values.count("ranks-per-node") != 0) {
    throw InputError("both --nodes and --ranks-per-node", "one of them");
  }
  const std::uint32_t nodes = bounded_option(values, "nodes", 1, max_replayed_ranks);
  if (ranks % nodes != 0) {
    throw InputError(fmt::format("--nodes: {} ranks do not fill {} nodes equally", ranks, nodes),
                     "a divisor of the ranks");
  }
  return ranks / nodes;
}

std::optional<Costs> read_costs(const po::variables_map& values) {
  const std::size_t given =
      values.count("alpha") + values.count("bandwidth") + values.count("minbytes");
  if (given == 0) return std::nullopt;
  if (given != 3) {
    throw InputError("the time of steps needs three numbers",
                     "--alpha, --bandwidth and -b, such as --alpha 1us --bandwidth 50GB/s -b 1M");
  }
  return Costs{quantity_option(values, "alpha", parse_time),
               quantity_option(values, "bandwidth", parse_rate),
               {parse_size("minbytes", values["minbytes"].as<std::string>())}};
}

}  // namespace

int run_steps(std::span<const std::string> args, std::ostream& out, std::ostream& /*err*/) {
  po::options_description options("options");
  options.add_options()  //
      ("algorithm,a", po::value<std::string>(),
       "one or several, comma-separated (default: the collective's first in `collsim list`); also "
       "NCCL's nvls, nvls_tree, collnet_direct, collnet_chain, pat")(
          "collective,c", po::value<std::string>()->default_value("all_reduce"),
          "see `collsim list`")  //
      ("root,r", po::value<std::int64_t>()->default_value(0),
       "root of a broadcast, reduce, gather or scatter")                   //
      ("ranks,n", po::value<std::int64_t>()->default_value(4), "1 to 64")  //
      ("nodes", po::value<std::int64_t>(),
       "number of nodes, with equally many ranks each (default: one per rank; nvls: 1)")  //
      ("ranks-per-node", po::value<std::int64_t>(), "instead of --nodes")                 //
      ("step", po::value<std::int64_t>(), "show only this step")                          //
      ("alpha", po::value<std::string>(),
       "time per message, such as 1us; with --bandwidth and -b, each step shows its time")  //
      ("bandwidth", po::value<std::string>(), "of every rank, each way, such as 50GB/s")    //
      ("minbytes,b", po::value<std::string>(), "size of the buffer, such as 1M");
  const auto values = parse_options(
      options, "collsim steps [--algorithm A] [--ranks N] [options]",
      "Shows what each rank sends in every step, and what it holds after the step.", "", args, out);
  if (!values) return exit_ok;
  const Rank ranks = bounded_option(*values, "ranks", 1, max_replayed_ranks);
  const Collective collective = collective_option(*values);
  const std::string algorithm = values->count("algorithm") != 0
                                    ? (*values)["algorithm"].as<std::string>()
                                    : algorithm_names(collective).front();
  const Rank root = bounded_option(*values, "root", 0, max_replayed_ranks - 1);
  std::vector<Request> requests;
  for (const std::string& name : split(algorithm, ',')) {
    // NVLS runs on the NVSwitch of a node.
    const Rank per_node = ranks_per_node(*values, ranks, name == "nvls" ? ranks : 1);
    requests.push_back({named_plan(collective, name, uniform_placement(ranks, per_node), 1, root)});
    Request& request = requests.back();
    request.costs = read_costs(*values);
    if (values->count("step") != 0) {
      request.only_step = bounded_option(*values, "step", 1, 1U << 16);
    }
  }
  for (const Request& request : requests) {
    if (&request != &requests.front()) fmt::print(out, "\n");
    print_steps(out, request);
  }
  return exit_ok;
}

}  // namespace collsim::command
