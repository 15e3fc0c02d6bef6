#include "models/crossover.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "models/parallel.h"
#include "sim/input_error.h"
#include "tools/collsim/numbers.h"
#include "tools/collsim/options.h"
#include "tools/collsim/question.h"
#include "tools/collsim/records.h"
#include "tools/collsim/report.h"
#include "tools/collsim/subcommand.h"
#include "tools/collsim/validation_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

using nlohmann::ordered_json;

constexpr std::string_view usage = "collsim crossover -t MACHINE [--over-ranks 2,4,8] [options]";
constexpr std::string_view epilogue =
    "At which sizes NCCL's algorithms (each with its best protocol) and protocols (each with its\n"
    "best algorithm) change places: by simulation, and by the estimates that NCCL chooses by.\n"
    "Sizes go up to 256 MiB unless -e says more. Below, what following NCCL's choice loses\n"
    "against the fastest simulated.\n"
    "\n"
    "  collsim crossover -t hgx-h200 --over-ranks 2,4,8\n"
    "  collsim crossover -t dgx-h100-x4 -c broadcast --format csv";

/// LL at a gibibyte is a million messages, and long decided.
constexpr Bytes largest_by_default{256 << 20};

std::vector<CrossoverReport> find_reports(const Question& question, const RunSpec& run,
                                          const std::vector<std::uint32_t>& ranks,
                                          std::ostream& err) {
  const std::vector<Bytes> sizes = expand(question.scenario.sizes, float_size);
  std::vector<CrossoverReport> reports(ranks.size());
  std::vector<Predictor> predictors;
  for (const std::uint32_t count : ranks) {
    predictors.emplace_back(question.topology, question.cost, question.scenario.collective, run,
                            count, question.scenario.root, question.scenario.ranks_per_node);
    warn(predictors.back(), err);
  }
  for_each_in_parallel(ranks.size(), std::max(1U, std::thread::hardware_concurrency()),
                       [&](std::size_t i) { reports[i] = find_crossovers(predictors[i], sizes); });
  return reports;
}

void print_table(const Question& question, const std::vector<CrossoverReport>& reports,
                 std::ostream& out) {
  fmt::print(out, "# {} on {}\n", to_string(question.scenario.collective),
             question.topology.name());
  fmt::print(out, "{:>5} {:<18} {:<36} {}\n", "ranks", "pair", "simulated", "NCCL");
  for (const CrossoverReport& report : reports) {
    for (const PairCrossover& pair : report.pairs) {
      fmt::print(out, "{:>5} {:<18} {:<36} {}\n", report.ranks,
                 fmt::format("{}, {}", pair.first, pair.second),
                 describe(pair.simulated, pair.first, pair.second),
                 describe(pair.nccl, pair.first, pair.second));
    }
  }
  fmt::print(out, "\nfollowing NCCL's choice\n");
  for (const CrossoverReport& report : reports) {
    const Following& following = report.following;
    fmt::print(out, "{:>5} ranks: fastest at {} of {} sizes; loses {:.1f} % on average",
               report.ranks, following.regret.best, following.regret.sizes,
               100 * following.regret.mean);
    if (following.regret.worst > 0) {
      fmt::print(out, ", {:.1f} % at {} ({} {:.1f} us, {} {:.1f} us)", 100 * following.regret.worst,
                 rounded_size(static_cast<double>(following.worst_size.count)), following.choice,
                 in_microseconds(following.choice_time), following.fastest,
                 in_microseconds(following.fastest_time));
    }
    fmt::print(out, "\n");
  }
}

Record size_or_null(const Crossover& crossover) {
  return crossover.size ? Record(std::round(*crossover.size)) : Record();
}

std::string_view name(bool first, const PairCrossover& pair) {
  return first ? pair.first : pair.second;
}

Record row_of(const Question& question, const RunSpec& run, const CrossoverReport& report,
              const PairCrossover& pair) {
  const Following& following = report.following;
  Record row{{"nranks", report.ranks},
             {"first", pair.first},
             {"second", pair.second},
             {"simulated_before", name(pair.simulated.first_before, pair)},
             {"simulated_size_bytes", size_or_null(pair.simulated)},
             {"simulated_after", name(pair.simulated.first_after, pair)},
             {"nccl_before", name(pair.nccl.first_before, pair)},
             {"nccl_size_bytes", size_or_null(pair.nccl)},
             {"nccl_after", name(pair.nccl.first_after, pair)},
             {"lost_mean", following.regret.mean},
             {"lost_worst", following.regret.worst},
             {"lost_worst_size_bytes", following.worst_size.count}};
  Record context = context_of(question, &run);
  context["nranks"] = report.ranks;
  row.update(context);
  return row;
}

void print_csv(const Question& question, const RunSpec& run,
               const std::vector<CrossoverReport>& reports, std::ostream& out) {
  RecordWriter writer(Format::csv, out);
  writer.begin(row_of(question, run, {}, {}));
  for (const CrossoverReport& report : reports) {
    for (const PairCrossover& pair : report.pairs) {
      writer.add(row_of(question, run, report, pair));
    }
  }
}

ordered_json to_json(const Crossover& crossover, const PairCrossover& pair) {
  ordered_json object{{"before", name(crossover.first_before, pair)},
                      {"size_bytes", nullptr},
                      {"after", name(crossover.first_after, pair)}};
  if (crossover.size) object["size_bytes"] = *crossover.size;
  return object;
}

ordered_json to_json(const Question& question, const RunSpec& run, const CrossoverReport& report) {
  ordered_json pairs = ordered_json::array();
  for (const PairCrossover& pair : report.pairs) {
    pairs.push_back({{"first", pair.first},
                     {"second", pair.second},
                     {"simulated", to_json(pair.simulated, pair)},
                     {"nccl", to_json(pair.nccl, pair)}});
  }
  const Following& following = report.following;
  ordered_json json = context_of(question, &run);
  json["nranks"] = report.ranks;
  json["pairs"] = pairs;
  json["following_nccl"] = {{"sizes", following.regret.sizes},
                            {"fastest", following.regret.best},
                            {"lost_mean", following.regret.mean},
                            {"lost_worst", following.regret.worst},
                            {"worst_size_bytes", following.worst_size.count},
                            {"choice", following.choice},
                            {"choice_us", in_microseconds(following.choice_time)},
                            {"best", following.fastest},
                            {"best_us", in_microseconds(following.fastest_time)}};
  return json;
}

}  // namespace

int run_crossover(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  po::options_description options = question_options();
  options.add_options()("over-ranks", po::value<std::string>(),
                        "rank counts, such as 2..8,16 (default: --ranks, or all GPUs)");
  const auto values = parse_options(options, usage, epilogue, "scenario", args, out);
  if (!values) return exit_ok;
  Question question = read_question(*values, err);
  if (!values->contains("maxbytes") && !values->contains("scenario")) {
    question.scenario.sizes.to = std::min(question.scenario.sizes.to, largest_by_default);
    question.scenario.sizes.to = std::max(question.scenario.sizes.to, question.scenario.sizes.from);
  }
  std::vector<std::uint32_t> ranks{question.ranks};
  if (values->contains("over-ranks")) {
    ranks = parse_numbers("over-ranks", (*values)["over-ranks"].as<std::string>(), 2,
                          static_cast<std::uint32_t>(question.topology.gpus().size()));
  }
  const RunSpec& run = question.scenario.runs.front();
  if (run.schedule != ScheduleKind::nccl) {
    throw InputError("crossover: a textbook schedule", "--schedule nccl, or a machine with it");
  }
  const std::vector<CrossoverReport> reports = find_reports(question, run, ranks, err);
  if (question.format == Format::table) {
    print_table(question, reports, out);
  } else if (question.format == Format::csv) {
    print_csv(question, run, reports, out);
  } else {
    ordered_json list = ordered_json::array();
    for (const CrossoverReport& report : reports) list.push_back(to_json(question, run, report));
    out << list.dump(2) << "\n";
  }
  return exit_ok;
}

}  // namespace collsim::command
