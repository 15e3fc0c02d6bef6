#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/planning/capacity_plan.h"
#include "models/planning/change.h"
#include "sim/base/data_directory.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/modes.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/plan/decode_plan_answer.h"
#include "tools/collsim/plan/exchange_plan_answer.h"
#include "tools/collsim/plan/plan_report.h"
#include "tools/collsim/plan/step_plan_answer.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage =
    "collsim plan MACHINE[,MACHINE] --bytes SIZE [options]\n"
    "       collsim plan MACHINE[,MACHINE] --step --model NAME --global-batch N [options]\n"
    "       collsim plan MACHINE[,MACHINE] --decode --model NAME [--tp 1,2,4,8] [options]\n"
    "       collsim plan MACHINE[,MACHINE] --exchange [--ep 8,16,32] [options]";
constexpr std::string_view epilogue =
    "Answers what-if questions: how long a step's communication takes on which machine, where\n"
    "scaling stops and why, what it costs, and what each change is worth. A machine is a node\n"
    "template or a cluster. Each --set makes an alternative beside the unchanged machine:\n"
    "nic=RATE, nics=N, oversubscription=K, latency=TIME, fabric=NAME, inside=pcie3|pcie4|pcie5,\n"
    "placement=packed|interleaved|random|list:NODES|file:FILE, beside=MACHINE:N (nodes of another\n"
    "kind on the same fabric); several joined by commas. docs/what-if.md has examples.\n"
    "\n"
    "  collsim plan dgx-h100 --nodes 64 --bytes 350GB --set nic=200Gb/s --set nics=4\n"
    "  collsim plan dgx-h100,dgx-a100 --nodes 1..64 --model gpt-3-175b --compute-time 20s,50s\n"
    "  collsim plan dgx-h100 --nodes 1..1024 --model bert-large --compute-time 50ms "
    "--target-share 10%\n"
    "  collsim plan dgx-h100,dgx-b200 --decode --model llama3-70b --tp 2,4,8 --batch 1,64\n"
    "  collsim plan dgx-h100 --exchange --ep 8,16,32 --tokens 128 --set nic=200Gb/s\n"
    "  collsim plan dgx-h100,dgx-a100 --nodes 8..64 --step --model llama3-70b --global-batch 512";

constexpr std::int64_t max_points = 100'000;

std::optional<std::string> given(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

std::vector<std::string> list_of(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return {};
  return values[name].as<std::vector<std::string>>();
}

/// Splits the lists of an option that may be repeated.
std::vector<std::string> items_of(const po::variables_map& values, const char* name) {
  std::vector<std::string> items;
  for (const std::string& list : list_of(values, name)) {
    for (std::string& item : split(list, ',')) items.push_back(std::move(item));
  }
  return items;
}

std::uint32_t parse_count(std::string_view option, std::string_view text) {
  const std::uint32_t count = parse_number<std::uint32_t>(text).value_or(0);
  if (count >= 1 && count <= gpu_limit) return count;
  throw InputError(fmt::format("--{}: '{}' is not a count", option, text),
                   fmt::format("numbers from 1 to {}, or a range such as 1..1024, which is taken "
                               "in powers of two",
                               gpu_limit));
}

/// "1..1024" in powers of two, "4,8,12"; rising, each once.
std::vector<std::uint32_t> parse_counts(std::string_view option, const std::string& text) {
  std::vector<std::uint32_t> counts;
  for (const std::string& item : split(text, ',')) {
    const std::size_t dots = item.find("..");
    const std::uint32_t first = parse_count(option, item.substr(0, dots));
    const std::uint32_t last =
        dots == std::string::npos ? first : parse_count(option, item.substr(dots + 2));
    if (last < first) {
      throw InputError(fmt::format("--{}: '{}' falls", option, item), "a range that rises");
    }
    for (std::uint64_t count = first; count < last; count *= 2) {
      counts.push_back(static_cast<std::uint32_t>(count));
    }
    counts.push_back(last);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// A value read by `parse`, above 0.
template <typename Quantity>
Quantity quantity_of(const char* option, const std::string& text,
                     Quantity (*parse)(std::string_view text)) {
  try {
    const Quantity quantity = parse(text);
    if (quantity.value > 0) return quantity;
  } catch (const QuantityError& error) {
    throw InputError(fmt::format("--{}: {}", option, error.wrong()), error.accepted());
  }
  throw InputError(fmt::format("--{}: {}", option, text), "more than 0");
}

double parse_percent(const char* option, std::string_view text) {
  std::string_view rest = text;
  double number = take_number<double>(rest).value_or(0);
  if (rest == "%") number /= 100;
  if ((rest.empty() || rest == "%") && number > 0 && number < 1) return number;
  throw InputError(fmt::format("--{}: '{}'", option, text), "a share such as 10% or 0.1");
}

double parse_parameters(const std::string& text) {
  std::string_view rest = text;
  const double number = take_number<double>(rest).value_or(0);
  constexpr std::string_view letters = "KMBT";
  double factor = 1;
  if (rest.size() == 1 && letters.find(rest) != std::string_view::npos) {
    for (std::size_t i = 0; i <= letters.find(rest); ++i) factor *= 1000;
  }
  if ((rest.empty() || factor > 1) && number * factor >= 1 && number * factor <= 1e14) {
    return number * factor;
  }
  throw InputError(fmt::format("--parameters: '{}'", text), "a number such as 175e9, 175B or 336M");
}

std::vector<Workload> read_workloads(const po::variables_map& values) {
  std::vector<Workload> workloads;
  for (const std::string& text : items_of(values, "bytes")) {
    const Bytes bytes{parse_size("bytes", text).count / 4 * 4};
    workloads.push_back({text, bytes, {}, {}});
  }
  const std::string precision = values["precision"].as<std::string>();
  for (const std::string& name : items_of(values, "model")) {
    const TrainedModel model = find_trained_model(name);
    const Bytes bytes = gradient_bytes(model.parameters, precision);
    workloads.push_back({fmt::format("{} in {}", name, precision),
                         bytes,
                         {},
                         fmt::format("{:g} parameters, {:.4g} GB ({})", model.parameters,
                                     static_cast<double>(bytes.count) / 1e9, model.source)});
  }
  if (const auto parameters = given(values, "parameters")) {
    workloads.push_back({fmt::format("{} parameters in {}", *parameters, precision),
                         gradient_bytes(parse_parameters(*parameters), precision),
                         {},
                         {}});
  }
  if (workloads.empty()) {
    throw InputError("plan: nothing to move", "--bytes 350GB, --model gpt-3-175b or --parameters");
  }
  for (Workload& workload : workloads) {
    if (values.contains("bucket")) {
      workload.bucket.count = values["bucket"].as<Bytes>().count / 4 * 4;
    }
    if (workload.bytes.count == 0) {
      throw InputError(fmt::format("plan: {} is no size to plan for", workload.name),
                       "4 bytes or more");
    }
  }
  return workloads;
}

/// The compute time of each machine.
std::vector<Seconds> read_compute(const po::variables_map& values, std::size_t machines) {
  std::vector<Seconds> times;
  for (const std::string& text : items_of(values, "compute-time")) {
    times.push_back(quantity_of("compute-time", text, parse_time));
  }
  if (times.empty()) times.emplace_back();
  if (times.size() == 1) times.resize(machines, times.front());
  if (times.size() != machines) {
    throw InputError(fmt::format("--compute-time: {} times of {} machines", times.size(), machines),
                     "one time, or one for each machine");
  }
  return times;
}

std::size_t gpus_of(const MachineParts& parts) {
  return static_cast<std::size_t>(
      std::count_if(parts.node.devices.begin(), parts.node.devices.end(),
                    [](const GraphDevice& device) { return device.kind == DeviceKind::gpu; }));
}

/// The counts that are asked about of a machine.
std::vector<std::uint32_t> counts_of(const po::variables_map& values, const MachineParts& parts) {
  if (const auto gpus = given(values, "gpus")) {
    if (values.count("nodes") != 0) throw InputError("both --nodes and --gpus", "one of them");
    std::vector<std::uint32_t> counts;
    const auto per_node = static_cast<std::uint32_t>(gpus_of(parts));
    for (const std::uint32_t count : parse_counts("gpus", *gpus)) {
      const std::uint32_t nodes = divide_up(count, per_node);
      if (counts.empty() || counts.back() != nodes) counts.push_back(nodes);
    }
    return counts;
  }
  if (const auto nodes = given(values, "nodes")) return parse_counts("nodes", *nodes);
  if (parts.placement == NodePlacement::listed) {
    return {static_cast<std::uint32_t>(parts.listed.size())};
  }
  if (parts.nodes > 1) return {parts.nodes};
  return parse_counts("nodes", parts.fabric.empty() ? "1" : "1..64");
}

/// Throws InputError where a list of nodes has fewer than a count that is asked about.
void require_listed(const Alternative& alternative) {
  for (const std::uint32_t nodes : alternative.nodes) nodes_around(alternative.parts, nodes);
}

/// Throws InputError for a list of nodes where none are placed.
void refuse_lists(std::span<const Alternative> alternatives, std::string_view question) {
  for (const Alternative& each : alternatives) {
    if (each.parts.placement != NodePlacement::listed) continue;
    throw InputError(fmt::format("plan --{}: a list of nodes", question),
                     "a plan with --step, or of what a step moves");
  }
}

std::vector<Alternative> read_alternatives(const po::variables_map& values) {
  const std::vector<std::string> names = split(given(values, "topology").value_or(""), ',');
  if (names.empty()) {
    throw InputError("plan: no machine", "a node template or a machine, such as dgx-h100");
  }
  const std::vector<Seconds> compute = read_compute(values, names.size());
  // As --set has it, so that a fabric brings its NICs and its transport either way.
  std::string given_changes = "placement=" + values["placement"].as<std::string>();
  if (const auto fabric = given(values, "fabric")) given_changes += ",fabric=" + *fabric;
  std::vector<Alternative> alternatives;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MachineParts parts = changed(load_parts(names[i]), given_changes);
    const std::size_t base = alternatives.size();
    alternatives.push_back({parts, {}, base, counts_of(values, parts), compute[i]});
    require_listed(alternatives.back());
    for (const std::string& change : list_of(values, "set")) {
      Alternative other = alternatives[base];
      other.parts = changed(parts, change);
      other.change = change;
      require_listed(other);
      alternatives.push_back(std::move(other));
    }
  }
  return alternatives;
}

PlannedCall read_call(const po::variables_map& values) {
  PlannedCall call;
  call.collective = parse_collective(values["collective"].as<std::string>());
  call.run.schedule = ScheduleKind::nccl;
  if (values.contains("nccl-version")) {
    call.run.nccl_version = values["nccl-version"].as<NcclVersion>();
  }
  call.run.variables = variables_option(values);
  return call;
}

PlanTarget read_target(const po::variables_map& values) {
  PlanTarget target;
  if (const auto time = given(values, "target-time")) {
    target.time = quantity_of("target-time", *time, parse_time);
  }
  if (const auto share = given(values, "target-share")) {
    if (values.count("compute-time") == 0) {
      throw InputError("--target-share without --compute-time", "--compute-time, such as 1s");
    }
    target.share = parse_percent("target-share", *share);
  }
  return target;
}

/// One of two words.
template <typename Value>
Value word_of(const po::variables_map& values, const char* option,
              std::pair<std::string_view, Value> one, std::pair<std::string_view, Value> other) {
  const auto& text = values[option].as<std::string>();
  if (text == one.first) return one.second;
  if (text == other.first) return other.second;
  throw InputError(fmt::format("--{}: '{}'", option, text),
                   fmt::format("{} or {}", one.first, other.first));
}

/// The shipped prices, after those of a file, after those of the command line.
PriceSheet read_prices(const po::variables_map& values, CostBasis basis) {
  const auto file = given(values, "prices");
  PriceSheet sheet = file ? load_prices(find_data_file(*file, "models/data")) : load_prices();
  std::vector<GpuPrice>& prices = basis == CostBasis::rent ? sheet.rent : sheet.buy;
  std::vector<GpuPrice> stated;
  for (const std::string& text : items_of(values, "price")) stated.push_back(parse_price(text));
  prices.insert(prices.begin(), stated.begin(), stated.end());
  return sheet;
}

CapacityRequest read_plan(const po::variables_map& values) {
  using namespace std::string_view_literals;
  const bool by_parameters = values.contains("model") || values.contains("parameters");
  require_heeded(values, {{"precision", by_parameters, "--model or --parameters"}});
  CapacityRequest request;
  request.workloads = read_workloads(values);
  request.alternatives = read_alternatives(values);
  request.call = read_call(values);
  request.scaling = word_of(values, "scaling", std::pair{"weak"sv, Scaling::weak},
                            std::pair{"strong"sv, Scaling::strong});
  request.target = read_target(values);
  request.basis = word_of(values, "cost", std::pair{"rent"sv, CostBasis::rent},
                          std::pair{"buy"sv, CostBasis::buy});
  request.prices = read_prices(values, request.basis);
  request.vendor = given(values, "vendor").value_or("");
  if (values["estimate"].as<bool>()) request.messages = 0;
  std::int64_t points = 0;
  for (const Alternative& each : request.alternatives) {
    points += static_cast<std::int64_t>(each.nodes.size() * request.workloads.size());
  }
  if (points > max_points) {
    throw InputError(fmt::format("plan: {} points", points), fmt::format("at most {}", max_points));
  }
  return request;
}

po::options_description plan_options() {
  po::options_description options("options");
  using Texts = std::vector<std::string>;
  const auto texts = [] { return po::value<Texts>()->composing(); };
  const auto text = [] { return po::value<std::string>(); };
  const auto word = [](const char* fallback) {
    return po::value<std::string>()->default_value(fallback);
  };
  options.add_options()  //
      ("topology,t", text(),
       "machines: node templates (`collsim topo list`), clusters, files; several joined by commas; "
       "-t may be omitted")  //
      ("nodes", text(),
       "counts of nodes: 1..1024 (powers of two), 4,8,12 (default: the cluster's, or 1..64)")  //
      ("gpus", text(), "the same in GPUs, rounded up to whole nodes")                          //
      ("fabric", text(),
       "network between the nodes (default: that of the smallest cluster of "
       "this node in `collsim list`)")  //
      ("placement", word("packed"),
       "nodes on leaves: packed, interleaved or random; or those of the "
       "cluster that the job has: "
       "list:node[0,4,8-11] or file:FILE")  //
      ("set", texts(),
       "a change, which makes an alternative: nic=200Gb/s, nics=1, oversubscription=2, "
       "latency=1us, fabric=hdr-fat-tree, inside=pcie4, beside=dgx-a100:4; joined by commas; may "
       "be "
       "repeated")                                                                           //
      ("bytes,b", texts(), "what a step moves: 350GB, or a list")                            //
      ("model", texts(), "or the gradients of a model of models/data/workloads.yaml")        //
      ("parameters", text(), "or of so many parameters, such as 175e9")                      //
      ("precision", word("fp16"), "of gradients: fp16, bf16 or fp32")                        //
      ("bucket", po::value<Bytes>(), "largest call; a step is then several calls in a row")  //
      ("collective,c", word("all_reduce"), "see `collsim list`")                             //
      ("nccl-version", po::value<NcclVersion>(), "2.18 to 2.30 (default 2.30)")              //
      ("env", texts(), "NCCL variable K=V; may be repeated")                                 //
      ("compute-time", texts(),
       "of a step at the fewest GPUs, not overlapped; one, or one for each machine")          //
      ("scaling", word("weak"), "weak: each GPU keeps its work; strong: it is divided")       //
      ("target-time", text(), "a step may take so long")                                      //
      ("target-share", text(), "communication may be such a share of a step")                 //
      ("prices", text(), "a price file, which comes before models/data/prices.yaml")          //
      ("price", texts(), "of a GPU and hour, or of a GPU with --cost buy: H100=2.10,B200=4")  //
      ("vendor", text(), "whose prices (default: the first of each GPU)")                     //
      ("cost", word("rent"), "rent or buy")                                                   //
      ("estimate", po::bool_switch(), "simulate nothing")                                     //
      ("wide", po::bool_switch(), "show all columns");
  add_step_options(options);
  add_decode_options(options);
  add_exchange_options(options);
  add_format_option(options, formats_with_page());
  return options;
}

/// What is planned for: "step", "decode", "exchange", or "" for what a step moves.
std::string question_of(const po::variables_map& values) {
  for (const char* const each : {"step", "decode", "exchange"}) {
    if (values[each].as<bool>()) return each;
  }
  return {};
}

CapacityPlan answer_of(CapacityRequest& request, std::ostream& err) {
  Waiting waiting(err, "composing machines");
  request.progress = [&](std::size_t done, std::size_t all) {
    waiting.say(fmt::format("predicting {} of {} rows", done, all));
  };
  CapacityPlan plan = plan_capacity(request);
  request.progress = nullptr;
  return plan;
}

int plan_for_steps(const po::variables_map& values, std::span<const std::string> args,
                   std::ostream& out, std::ostream& err) {
  using namespace std::string_view_literals;
  const bool counted = !values.contains("hourly-budget");
  require_heeded(values, {{"nodes", counted, "--hourly-budget, which says how many"},
                          {"gpus", counted, "--hourly-budget, which says how many"}});
  StepPlanRequest request = read_step_plan(values);
  request.alternatives = read_alternatives(values);
  add_faulty_machines(request.alternatives, values);
  request.run = read_call(values).run;
  request.basis = word_of(values, "cost", std::pair{"rent"sv, CostBasis::rent},
                          std::pair{"buy"sv, CostBasis::buy});
  request.prices = read_prices(values, request.basis);
  request.vendor = given(values, "vendor").value_or("");
  return answer_step_plan(request, values, command_text("plan", args), out, err);
}

}  // namespace

int run_plan(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(plan_options(), usage, epilogue, "topology", args, out);
  if (!values) return exit_ok;
  const std::string question = question_of(*values);
  heed_only(*values, "plan", {question.empty() ? "what a step moves" : "--" + question});
  if (question == "step") return plan_for_steps(*values, args, out, err);
  if (!question.empty()) {
    std::vector<Alternative> alternatives = read_alternatives(*values);
    refuse_lists(alternatives, question);
    const std::string command = command_text("plan", args);
    if (question == "exchange") {
      return answer_exchange_plan(std::move(alternatives), *values, command, out, err);
    }
    return answer_decode_plan(std::move(alternatives), read_call(*values).run, *values, command,
                              out, err);
  }
  CapacityRequest request = read_plan(*values);
  const CapacityPlan plan = answer_of(request, err);
  print_warnings(plan.warnings, err);
  const bool wide = (*values)["wide"].as<bool>();
  write_answer(format_option(*values), plan_answer(request, plan, wide, command_text("plan", args)),
               out);
  const bool met =
      std::any_of(plan.rows.begin(), plan.rows.end(), [](const PlanRow& row) { return row.meets; });
  return met ? exit_ok : exit_answer_is_no;
}

}  // namespace collsim::command
