#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "models/call/rank_gpus.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/base/parallel.h"
#include "sim/base/units.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/crossover/choice_export.h"
#include "tools/collsim/crossover/choice_map.h"
#include "tools/collsim/crossover/choice_map_report.h"
#include "tools/collsim/crossover/crossover_report.h"
#include "tools/collsim/crossover/kernel_crossover.h"
#include "tools/collsim/crossover/textbook_answer.h"
#include "tools/collsim/crossover/textbook_curves.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/page.h"
#include "tools/collsim/report/png.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

using nlohmann::ordered_json;

constexpr const char* map_by_nccl = "a map of NCCL's schedule";
constexpr const char* textbook_map = "a map of textbook schedules";

/// LL at 1 GiB takes a million messages, and no protocols cross over there.
constexpr Bytes largest_by_default{256 << 20};

/// So many GPUs are on the first `nodes` nodes, of those that the question allows.
std::uint32_t gpus_on(const CallRequest& request, std::uint32_t nodes) {
  std::vector<std::uint32_t> of_node(nodes);
  const std::uint32_t most = request.scenario.ranks_per_node.value_or(gpu_limit);
  for (const DeviceId gpu : request.topology.gpus()) {
    const auto node = static_cast<std::size_t>(request.topology.node_of(gpu));
    if (node < nodes) of_node[node] = std::min(most, of_node[node] + 1);
  }
  return std::accumulate(of_node.begin(), of_node.end(), 0U);
}

/// The GPUs of each comparison: those of the question, or one set per rank count of --over-ranks,
/// or per number of nodes of --over-nodes.
std::vector<std::vector<DeviceId>> gpus_of(const CallRequest& request,
                                           const po::variables_map& values) {
  if (!values.contains("over-ranks") && !values.contains("over-nodes")) return {request.gpus};
  const bool by_node = values.contains("over-nodes");
  const std::string option = by_node ? "over-nodes" : "over-ranks";
  const auto most = by_node ? request.topology.node_count()
                            : static_cast<std::uint32_t>(request.topology.gpus().size());
  const std::uint32_t least = by_node ? 1 : 2;
  std::vector<std::vector<DeviceId>> gpus;
  const auto numbers = parse_numbers(option, values[option].as<std::string>(), least, most);
  constexpr std::size_t max_counts = 1000;  // each is a search of NCCL's, and two dozen ways
  if (numbers.size() > max_counts) {
    throw InputError(fmt::format("--{}: {} counts", option, numbers.size()),
                     fmt::format("at most {}, such as 2,4,8,16", max_counts));
  }
  for (const std::uint32_t number : numbers) {
    const std::uint32_t ranks = by_node ? gpus_on(request, number) : number;
    gpus.push_back(first_gpus(request.topology, ranks, request.scenario.ranks_per_node));
  }
  return gpus;
}

CallCompiler compiler_of(const CallRequest& request, const RunSpec& run,
                         const std::vector<DeviceId>& gpus) {
  CallSpec spec = spec_of(request, run);
  spec.gpus = gpus;
  spec.faults = find_faults(request.scenario.faults, request.topology,
                            static_cast<Rank>(gpus.size()), request.scenario.seed);
  return CallCompiler(std::move(spec));
}

/// One run in which NCCL may choose among the algorithms of all these runs.
RunSpec joint_run(const std::vector<RunSpec>& runs) {
  RunSpec joint = runs.front();
  if (runs.size() == 1) return joint;
  std::string names;
  for (const RunSpec& run : runs) {
    const auto algorithm = find_nccl_run(run.algorithm);
    if (!algorithm) {
      throw InputError(fmt::format("crossover: '{}' together with other algorithms", run.algorithm),
                       "names of algorithms, or auto alone");
    }
    if (run.variables != joint.variables || run.nccl_version != joint.nccl_version) {
      throw InputError("crossover: runs that differ in more than their algorithm",
                       "runs that differ only in their algorithm, such as -a ring,tree");
    }
    names += fmt::format("{}{}", names.empty() ? "" : ",", nccl_name(*algorithm));
  }
  joint.algorithm = "auto";
  joint.variables["NCCL_ALGO"] = names;
  return joint;
}

/// Throws InputError if NCCL cannot run one of the named algorithms.
void require_all(const CallCompiler& compiler, const std::vector<RunSpec>& runs) {
  for (const RunSpec& run : runs) {
    if (const auto algorithm = find_nccl_run(run.algorithm)) require_runs(compiler, *algorithm);
  }
}

/// One per set of GPUs, under NCCL's rules.
std::vector<CallCompiler> compilers_of(const CallRequest& request,
                                       const std::vector<std::vector<DeviceId>>& gpus,
                                       std::ostream& err) {
  const std::vector<RunSpec>& runs = request.scenario.runs;
  const RunSpec run = joint_run(runs);
  std::vector<CallCompiler> compilers;
  for (const auto& each : gpus) {
    compilers.push_back(compiler_of(request, run, each));
    require_all(compilers.back(), runs);
    warn(compilers.back(), err);
  }
  return compilers;
}

/// What `answer` says of each planner and the sizes.
template <typename Answer>
auto answers_of(const CallRequest& request, const std::vector<CallCompiler>& compilers,
                Answer answer) {
  const std::vector<Bytes> sizes = sizes_of(request);
  std::vector<decltype(answer(compilers.front(), sizes))> answers(compilers.size());
  for_each_in_parallel(compilers.size(), processors(),
                       [&](std::size_t i) { answers[i] = answer(compilers[i], sizes); });
  return answers;
}

/// The map's rows, one per set of GPUs.
std::vector<ChoiceRow> choice_rows(const CallRequest& request,
                                   const std::vector<std::vector<DeviceId>>& gpus,
                                   std::ostream& err) {
  const std::vector<CallCompiler> compilers = compilers_of(request, gpus, err);
  const Waiting waiting(err, "mapping what is fastest");
  return answers_of(request, compilers,
                    [&](const CallCompiler& compiler, const std::vector<Bytes>& sizes) {
                      return choice_row(compiler, sizes, request.errors);
                    });
}

/// The runs of a textbook's schedule: the named ones, or all algorithms that are not composed and
/// ask for no switch that adds up.
std::vector<RunSpec> textbook_runs(const CallRequest& request, bool named) {
  const std::vector<RunSpec>& runs = request.scenario.runs;
  if (named) return runs;
  std::vector<RunSpec> all;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != request.scenario.collective || algorithm.composed) continue;
    if (needs_adding_switch(algorithm.collective, algorithm.name)) continue;
    RunSpec run = runs.front();
    run.algorithm = algorithm.name;
    all.push_back(run);
  }
  return all;
}

std::vector<CrossoverReport> find_textbook_reports(const CallRequest& request,
                                                   const std::vector<std::vector<DeviceId>>& gpus,
                                                   bool named) {
  const std::vector<RunSpec> runs = textbook_runs(request, named);
  std::vector<CrossoverReport> reports;
  for (const auto& each : gpus) {
    std::vector<CallCompiler> compilers;
    compilers.reserve(runs.size());
    for (const RunSpec& run : runs) compilers.push_back(compiler_of(request, run, each));
    reports.push_back(find_textbook_crossovers(compilers, sizes_of(request)));
  }
  return reports;
}

/// The curves of every set of GPUs.
std::vector<TextbookCurves> textbook_curves(const CallRequest& request,
                                            const std::vector<std::vector<DeviceId>>& gpus,
                                            bool named) {
  const std::vector<RunSpec> runs = textbook_runs(request, named);
  std::vector<TextbookCurves> rows;
  for (const auto& each : gpus) {
    std::vector<CallCompiler> compilers;
    compilers.reserve(runs.size());
    for (const RunSpec& run : runs) compilers.push_back(compiler_of(request, run, each));
    rows.push_back(curves_of(compilers, sizes_of(request),
                             std::string(to_string(request.scenario.collective))));
  }
  return rows;
}

/// Throws InputError if some runs use NCCL's schedule and others a textbook's.
ScheduleKind common_schedule(const std::vector<RunSpec>& runs) {
  for (const RunSpec& run : runs) {
    if (run.schedule == runs.front().schedule) continue;
    throw InputError(
        fmt::format("crossover: {} in a {} schedule and {} in a {} one", runs.front().algorithm,
                    to_string(*runs.front().schedule), run.algorithm, to_string(*run.schedule)),
        "--schedule textbook for all, or only algorithms of NCCL's");
  }
  return *runs.front().schedule;
}

std::string describe_textbook(const CallRequest& request) {
  return fmt::format("textbook schedules; calibration {}", request.cost.name);
}

/// How much time NCCL's choice loses.
std::string loss_text(const ChoiceRegret& following) {
  std::string text =
      fmt::format("fastest at {} of {} sizes; loses {:.1f} % on average", following.regret.best,
                  following.regret.sizes, 100 * following.regret.mean);
  if (following.regret.worst > 0) {
    text +=
        fmt::format(", {:.1f} % at {} ({} {:.1f} us, {} {:.1f} us)", 100 * following.regret.worst,
                    rounded_size(static_cast<double>(following.worst_size.count)), following.choice,
                    in_microseconds(following.choice_time), following.fastest,
                    in_microseconds(following.fastest_time));
  }
  return text;
}

Record size_or_null(const Crossover& crossover) {
  return crossover.size ? Record(std::round(*crossover.size)) : Record();
}

std::string_view name(bool first, const PairCrossover& pair) {
  return first ? pair.first : pair.second;
}

Record row_of(const CallRequest& request, const RunSpec& run, const CrossoverReport& report,
              const PairCrossover& pair) {
  const auto& following = report.following;
  Record row{{"nranks", report.ranks},
             {"first", pair.first},
             {"second", pair.second},
             {"simulated_before", name(pair.simulated.first_before, pair)},
             {"simulated_size_bytes", size_or_null(pair.simulated)},
             {"simulated_after", name(pair.simulated.first_after, pair)},
             {"schedule", to_string(*run.schedule)},
             {"estimate_before", name(pair.estimated.first_before, pair)},
             {"estimate_size_bytes", size_or_null(pair.estimated)},
             {"estimate_after", name(pair.estimated.first_after, pair)},
             {"lost_mean", following ? Record(following->regret.mean) : Record()},
             {"lost_worst", following ? Record(following->regret.worst) : Record()},
             {"lost_worst_size_bytes", following ? Record(following->worst_size.count) : Record()}};
  Record context = context_of(request, &run);
  context["nranks"] = report.ranks;
  row.update(context);
  return row;
}

ordered_json to_json(const Crossover& crossover, const PairCrossover& pair) {
  ordered_json object{{"before", name(crossover.first_before, pair)},
                      {"size_bytes", nullptr},
                      {"after", name(crossover.first_after, pair)}};
  if (crossover.size) object["size_bytes"] = *crossover.size;
  return object;
}

ordered_json to_json(const CallRequest& request, const RunSpec& run,
                     const CrossoverReport& report) {
  ordered_json pairs = ordered_json::array();
  for (const PairCrossover& pair : report.pairs) {
    pairs.push_back({{"first", pair.first},
                     {"second", pair.second},
                     {"simulated", to_json(pair.simulated, pair)},
                     {"estimate", to_json(pair.estimated, pair)}});
  }
  ordered_json json = context_of(request, &run);
  json["nranks"] = report.ranks;
  json["schedule"] = to_string(*run.schedule);
  json["pairs"] = pairs;
  json["following_nccl"] = nullptr;
  if (!report.following) return json;
  const ChoiceRegret& following = *report.following;
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

Answer answer_of(const CallRequest& request, const std::vector<CrossoverReport>& reports) {
  const RunSpec& run = request.scenario.runs.front();
  const bool by_nccl = run.schedule == ScheduleKind::nccl;
  std::vector<std::string> head{
      fmt::format("{} on {}", to_string(request.scenario.collective), request.topology.name())};
  if (!by_nccl) head.push_back(describe_textbook(request));
  Answer answer;
  answer.no_row = row_of(request, run, {}, {});
  answer.rows.emplace();
  answer.document = Record::array();
  Table table;
  AnswerSection following{"following NCCL's choice"};
  for (const CrossoverReport& report : reports) {
    answer.document.push_back(to_json(request, run, report));
    for (const PairCrossover& pair : report.pairs) {
      answer.rows->push_back(row_of(request, run, report, pair));
      NewRow add(table);
      add({"ranks", "ranks"}, report.ranks);
      add({"pair", "pair"}, fmt::format("{}, {}", pair.first, pair.second));
      add({"simulated", "simulated"}, to_string(pair.simulated, pair.first, pair.second));
      add({"estimated", by_nccl ? "NCCL" : "estimate"},
          to_string(pair.estimated, pair.first, pair.second));
    }
    if (!report.following) continue;
    following.notes.emplace_back(loss_text(*report.following),
                                 fmt::format("{:>5} ranks: ", report.ranks), "             ");
  }
  answer.sections = {{"", {}, comments(head), {std::move(table)}}, std::move(following)};
  return answer;
}

constexpr std::array map_files{"svg", "png", "html", "export-tuner", "export-env"};

bool asks_for_map(const po::variables_map& values) {
  return values["map"].as<bool>() || is_report(format_option(values)) ||
         std::any_of(map_files.begin(), map_files.end(),
                     [&](const char* option) { return values.contains(option); });
}

std::string text_of(const ChoiceMap& map, std::string_view option, const std::string& command) {
  if (option == "export-tuner") return tuner_file_of(map);
  if (option == "export-env") return environment_of(map);
  std::ostringstream text;
  if (option == "html") {
    write_page(answer_of(map, command), text);
  } else {
    print_choice_svg(map, text);
  }
  return option == "png" ? png_of(text.str()) : text.str();
}

/// Files first: what they say may be refused.
void print_map(const CallRequest& request, const po::variables_map& values,
               const std::vector<ChoiceRow>& rows, const std::string& command, std::ostream& out) {
  const ChoiceMap map{&request, rows};
  bool is_printed = false;
  for (const char* option : map_files) {
    if (!values.contains(option)) continue;
    replace_file(values[option].as<OutputFile>().name, text_of(map, option, command));
    is_printed = is_printed || is_standard_output(values[option].as<OutputFile>().name);
  }
  if (is_printed) return;  // the map would be in the same stream
  Answer answer = answer_of(map, command);
  answer.draw([&](std::ostream& to) { print_choice_map(map, to); });
  write_answer(request.format, answer, out);
}

std::vector<Mode> crossover_modes() {
  const std::string sizes = size_options();
  std::vector<Mode> modes = call_modes(sizes + "over-ranks over-nodes", "", "op");
  const std::string drawn = sizes + "over-ranks over-nodes svg png html map ";
  std::vector<Mode> maps = call_modes(drawn, "export-tuner export-env", "op");
  maps.front().name = map_by_nccl;
  maps.back().name = textbook_map;
  modes.insert(modes.end(), maps.begin(), maps.end());
  modes.push_back(kernel_mode(drawn + "export-thresholds"));
  return modes;
}

/// Decode steps have no larger ones.
constexpr Bytes largest_of_kernels{16 << 20};

int compare_kernels(const po::variables_map& values, const std::string& command, std::ostream& out,
                    std::ostream& err) {
  heed_only(values, crossover_subcommand, {"--kernels"});
  CallRequest request = read_kernel_request(values, err);
  if (!values.contains("maxbytes") && !values.contains("scenario")) {
    request.scenario.sizes.to = std::max(largest_of_kernels, request.scenario.sizes.from);
  }
  answer_kernel_crossover(request, kernels_to_compare(values), gpus_of(request, values), values,
                          command, out);
  return exit_ok;
}

int run_crossover(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(crossover_subcommand, args, out);
  if (!values) return exit_ok;
  if (asks_for_kernels(*values)) {
    return compare_kernels(*values, command_text("crossover", args), out, err);
  }
  CallRequest request = read_request(*values, err);
  const bool maps = asks_for_map(*values);
  heed_schedules(crossover_subcommand, *values, request, maps ? map_by_nccl : "NCCL's schedule",
                 maps ? textbook_map : "a textbook schedule");
  if (!values->contains("maxbytes") && !values->contains("scenario")) {
    request.scenario.sizes.to = std::min(request.scenario.sizes.to, largest_by_default);
    request.scenario.sizes.to = std::max(request.scenario.sizes.to, request.scenario.sizes.from);
  }
  const auto gpus = gpus_of(request, *values);
  const bool by_nccl = common_schedule(request.scenario.runs) == ScheduleKind::nccl;
  if (maps) {
    if (!by_nccl) {
      const bool named = values->contains("algorithm") || values->contains("scenario");
      answer_textbook_map(request, *values, textbook_curves(request, gpus, named),
                          command_text("crossover", args), out);
      return exit_ok;
    }
    const std::vector<ChoiceRow> rows = choice_rows(request, gpus, err);
    print_map(request, *values, rows, command_text("crossover", args), out);
    return exit_ok;
  }
  const bool named = values->contains("algorithm") || values->contains("scenario");
  const std::vector<CallCompiler> compilers =
      by_nccl ? compilers_of(request, gpus, err) : std::vector<CallCompiler>();
  const std::vector<CrossoverReport> reports = [&] {
    const Waiting waiting(err, "looking for crossovers");
    return by_nccl ? answers_of(request, compilers, find_crossovers)
                   : find_textbook_reports(request, gpus, named);
  }();
  if (std::all_of(reports.begin(), reports.end(),
                  [](const CrossoverReport& report) { return report.pairs.empty(); })) {
    throw InputError("crossover: nothing to compare", "at least two algorithms or protocols");
  }
  write_answer(request.format, answer_of(request, reports), out);
  return exit_ok;
}

}  // namespace

const Subcommand crossover_subcommand{
    .name = "crossover",
    .summary = "sizes at which algorithms and protocols cross over",
    .usages = {"[MACHINE|SCENARIO] [--over-ranks 2,4,8] [--map] [options]"},
    .answers =
        "Says at which sizes NCCL's algorithms (each with its best protocol) and protocols (each "
        "with its best algorithm) cross over: by simulation, and by NCCL's own estimates. Also how "
        "much time NCCL's choice loses against the fastest simulated one.",
    .manual =
        "Sizes go up to 256 MiB unless -e is given. For textbook schedules it prints where their "
        "algorithms cross over: by simulation, and by the analytic model.\n--map shows what is "
        "fastest for each size and rank count, with NCCL's choice and what that loses; also as a "
        "drawing or a page. It simulates up to 16 ranks where formulas leave it open, and takes "
        "formulas above. What is fastest can be given to NCCL: for each size by a tuner "
        "plug-in, or as the NCCL_ALGO and NCCL_PROTO that lose least.\nOf textbook schedules --svg "
        "and --png draw the time over the size, and --html writes a page of it. collsim in a "
        "browser moves alpha, bandwidth and ranks by sliders (docs/playground.md).\n" +
        std::string(call_manual),
    .examples = {"crossover hgx-h200 --over-ranks 2,4,8",
                 "crossover hgx-h200 --map --html map.html",
                 "crossover hgx-h200 --export-tuner nccl_tuner.conf",
                 "crossover dgx-h100-x4 -c broadcast --format csv",
                 "crossover dgx-h100 -a one_shot,two_shot,multimem,nccl --over-ranks 2..8 --graph",
                 "crossover --alpha 1us --bandwidth 50GB/s -n 64 -a ring,double_binary_tree",
                 "crossover --alpha 1us --bandwidth 50GB/s -n 8 --html times.html --svg times.svg",
                 "crossover --alpha 1us --bandwidth 50GB/s -n 64 --over-ranks 4,8,16,32,64 --map"},
    .argument = "scenario",
    .first =
        "topology collective algorithm maxbytes over-ranks env kernels map export-tuner format",
    .modes = crossover_modes(),
    .formats = formats_with_page(),
    .run = run_crossover,
};

}  // namespace collsim::command
